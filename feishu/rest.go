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

// The time of one try; the SDK has no limit of its own (client.go, WithReqTimeout).
const (
	callTimeout   = 15 * time.Second
	uploadTimeout = 2 * time.Minute // of a call that carries files
)

// api is the platform's HTTP side. It goes through the SDK's core and not through its typed services: one place then
// sees each answer's code, log id and headers, also of answers that are no JSON.
type api struct {
	config  *larkcore.Config
	upload  *larkcore.Config // of calls that carry files
	http    *http.Client
	tokens  tokens
	limits  limits
	breaker *breaker
	clock   clock
	tally   tally
}

// request is one call.
type request struct {
	op     string // for errors: what is tried
	method string
	path   string
	query  larkcore.QueryParams
	body   any
	form   func() *larkcore.Formdata // instead of the body; each try takes a fresh one
	open   bool                      // needs no token
	later  bool                      // lets all others go first
}

// apiConfig is what a client must know of the platform and of the app.
type apiConfig struct {
	BaseURL   string // the platform's address, without a slash at its end
	AppID     string
	AppSecret string
	Pace      float64       // how many times the public platform's rates the app keeps to; 1 is once
	Rest      time.Duration // how long a platform that does not answer is left alone; 0 is half a minute
}

// newAPI makes a client. It calls nobody before it is told to.
func newAPI(cfg apiConfig, log zerolog.Logger) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	// All calls share one HTTP/2 connection; without pings a dead one is used until TCP gives up on it, a quarter of an
	// hour.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	a := &api{http: &http.Client{Timeout: callTimeout, Transport: transport}, limits: newLimits(cfg.Pace), breaker: newBreaker(log, cfg.Rest)}
	a.config = &larkcore.Config{
		BaseUrl: cfg.BaseURL, AppId: cfg.AppID, AppSecret: cfg.AppSecret, HttpClient: a.http,
		Logger: sdkLog(log), Serializable: plainJSON{},
	}
	files := *a.config
	files.HttpClient = &http.Client{Timeout: uploadTimeout, Transport: transport}
	a.upload = &files
	a.tokens.fetch = func(ctx context.Context) (gjson.Result, error) { return a.send(ctx, tokenRequest(cfg), "") }
	return a
}

// tokenTries is how many tokens one call tries: each may be revoked before the call arrives.
const tokenTries = 3

// call makes one request, when the limits of the app allow, and gives the answer's whole JSON.
func (a *api) call(ctx context.Context, r request) (gjson.Result, error) {
	token := ""
	for try := 1; ; try++ {
		answer, err := a.once(ctx, r, &token)
		if verdictOf(err) != badToken || try == tokenTries {
			return answer, err
		}
	}
}

// once makes one request with another token than the one that was not taken.
func (a *api) once(ctx context.Context, r request, token *string) (gjson.Result, error) {
	if a.breaker.isOpen() {
		return gjson.Result{}, &Error{Op: r.op, Err: errAway}
	}
	if r.later {
		if err := a.limits.spare(ctx); err != nil {
			return gjson.Result{}, err
		}
	}
	if err := a.limits.app(ctx); err != nil {
		return gjson.Result{}, err
	}
	var err error
	if *token, err = a.tokens.get(ctx, *token); err != nil {
		return gjson.Result{}, err
	}
	return a.send(ctx, r, *token)
}

// send makes one request, unless the platform is away.
func (a *api) send(ctx context.Context, r request, token string) (gjson.Result, error) {
	return a.breaker.do(r.op, func() (gjson.Result, error) {
		answer, err := a.exchange(ctx, r, token)
		a.tally.count(err)
		return answer, err
	})
}

func (a *api) exchange(ctx context.Context, r request, token string) (gjson.Result, error) {
	req := &larkcore.ApiReq{HttpMethod: r.method, ApiPath: r.path, QueryParams: r.query, Body: r.body}
	var options []larkcore.RequestOptionFunc
	if !r.open {
		req.SupportedAccessTokenTypes = []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}
		options = append(options, larkcore.WithTenantAccessToken(token))
	}
	config := a.config
	if r.form != nil {
		req.Body, config = r.form(), a.upload
	}
	sent := time.Now()
	resp, err := larkcore.Request(ctx, req, config, options...)
	if err != nil {
		if ctx.Err() != nil {
			return gjson.Result{}, ctx.Err()
		}
		return gjson.Result{}, &Error{Op: r.op, Err: plainCause(err)}
	}
	a.clock.learn(resp.Header.Get("Date"), sent, time.Now())
	return judge(r.op, resp)
}

// calls counts what became of the calls so far.
func (a *api) calls() Calls { return a.tally.now() }

// isAway reports whether calls fail at once with [errAway].
func (a *api) isAway() bool { return a.breaker.away() }

// isBack lets calls through again, since there is other evidence that the platform is back.
func (a *api) isBack() { a.breaker.open() }

// ready waits until a call would be made at once: until it is time for a try, while the platform is away, and until the
// limits of the app have room. Its only error is ctx's.
func (a *api) ready(ctx context.Context) error {
	if err := a.breaker.wait(ctx); err != nil {
		return err
	}
	return a.limits.ready(ctx)
}

// waitForChat waits until one more message may go to a chat. Its only error is ctx's.
func (a *api) waitForChat(ctx context.Context, id string) error { return a.limits.chat(ctx, id) }

// surelyAfter reports whether at, by the platform's clock, is certainly not before t by ours.
func (a *api) surelyAfter(at, t time.Time) bool { return a.clock.surelyAfter(at, t) }

// checkCredentials gets an access token, if there is none that is valid.
func (a *api) checkCredentials(ctx context.Context) error {
	_, err := a.tokens.get(ctx, "")
	return err
}

// clone is a text of an answer or an event that can be kept: what gjson gives is a part of the whole, which would stay
// in memory with it.
func clone(r gjson.Result) string { return strings.Clone(r.String()) }

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
	e := &Error{Op: op, LogID: resp.RequestId(), Status: resp.StatusCode}
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
