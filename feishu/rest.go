package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// callTimeout bounds one HTTP call; the SDK has none of its own (client.go, WithReqTimeout).
const callTimeout = 15 * time.Second

// api is the platform's HTTP side. It goes through the SDK's core and not through its typed services: one place then
// sees each answer's code, log id and headers, also of answers that are no JSON.
type api struct {
	config *larkcore.Config
	http   *http.Client
	tokens tokens
	limits limits
}

// request is one call.
type request struct {
	op     string // for errors: what is tried
	method string
	path   string
	query  larkcore.QueryParams
	body   any
	open   bool // needs no token
}

func newAPI(cfg Config, log zerolog.Logger) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	a := &api{http: &http.Client{Timeout: callTimeout, Transport: transport}, limits: newLimits()}
	a.config = &larkcore.Config{
		BaseUrl: cfg.baseURL(), AppId: cfg.AppID, AppSecret: cfg.AppSecret, HttpClient: a.http,
		Logger: sdkLogger{log}, Serializable: plainJSON{},
	}
	a.tokens.fetch = func(ctx context.Context) (gjson.Result, error) { return a.send(ctx, tokenRequest(cfg), "") }
	return a
}

// call makes one request, when the limits of the app allow, and gives the answer's whole JSON.
func (a *api) call(ctx context.Context, r request) (gjson.Result, error) {
	if err := a.limits.app(ctx); err != nil {
		return gjson.Result{}, err
	}
	token, err := a.tokens.get(ctx, "")
	if err != nil {
		return gjson.Result{}, err
	}
	answer, err := a.send(ctx, r, token)
	if err == nil || verdictOf(err) != badToken {
		return answer, err
	}
	if token, err = a.tokens.get(ctx, token); err != nil {
		return gjson.Result{}, err
	}
	return a.send(ctx, r, token)
}

func (a *api) send(ctx context.Context, r request, token string) (gjson.Result, error) {
	req := &larkcore.ApiReq{HttpMethod: r.method, ApiPath: r.path, QueryParams: r.query, Body: r.body}
	var options []larkcore.RequestOptionFunc
	if !r.open {
		req.SupportedAccessTokenTypes = []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}
		options = append(options, larkcore.WithTenantAccessToken(token))
	}
	resp, err := larkcore.Request(ctx, req, a.config, options...)
	if err != nil {
		if ctx.Err() != nil {
			return gjson.Result{}, ctx.Err()
		}
		return gjson.Result{}, &Error{Op: r.op, cause: plainCause(err)}
	}
	return judge(r.op, resp)
}

// plainCause drops the address from an error of the HTTP client: it names ids.
func plainCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// judge makes an error of every answer but a confirmation.
func judge(op string, resp *larkcore.ApiResp) (gjson.Result, error) {
	e := &Error{Op: op, LogID: resp.RequestId(), status: resp.StatusCode}
	if !gjson.ValidBytes(resp.RawBody) {
		e.Msg = "the answer is not JSON"
		return gjson.Result{}, e
	}
	answer := gjson.ParseBytes(resp.RawBody)
	code := answer.Get("code")
	if code.Exists() && code.Int() == 0 && resp.StatusCode < http.StatusBadRequest {
		return answer, nil
	}
	e.Code, e.Msg = int(code.Int()), answer.Get("msg").String()
	if e.LogID == "" {
		e.LogID = answer.Get("error.log_id").String()
	}
	if s, err := strconv.ParseFloat(resp.Header.Get("X-Ogw-Ratelimit-Reset"), 64); err == nil && s > 0 {
		e.wait = min(time.Duration(s*float64(time.Second)), time.Minute)
	}
	return gjson.Result{}, e
}

// plainJSON leaves <, > and & as they are: the SDK's own way makes six bytes of each.
type plainJSON struct{}

func (plainJSON) Serialize(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (plainJSON) Deserialize(data []byte, v any) error { return json.Unmarshal(data, v) }

// path joins the parts of a path, ids among them.
func path(parts ...string) string {
	for i, p := range parts {
		if i%2 == 1 {
			parts[i] = url.PathEscape(p)
		}
	}
	return strings.Join(parts, "")
}
