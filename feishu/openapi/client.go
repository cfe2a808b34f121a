// Package openapi is the client of Feishu's HTTP API, the Open API: calls with an access token, at the rates that the
// platform allows, behind a circuit breaker; what its errors mean and when a call is made again; its clock; files; and
// lists, page by page.
//
// What the calls are about does not belong here: chats, messages, cards and the long connection are in feishu.
package openapi

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

// CallTimeout bounds one try of a call; the SDK has no limit of its own (client.go, WithReqTimeout).
const CallTimeout = 15 * time.Second

// uploadTimeout bounds one try of a call that carries files.
const uploadTimeout = 2 * time.Minute

// Client makes the calls of one app. It goes through the SDK's core and not through its typed services: one place then
// sees each answer's code, log id and headers, also of answers that are no JSON.
type Client struct {
	// HTTP makes all calls but those that carry files. The long connection begins with a call, too.
	HTTP *http.Client

	config  *larkcore.Config
	upload  *larkcore.Config // of calls that carry files
	tokens  tokens
	limits  limits
	breaker *breaker
	clock   clock
	tally   tally
}

// Request is one call.
type Request struct {
	Op     string // what is tried, for errors
	Method string // of HTTP
	Path   string // from /open-apis/ on, as [Path] writes it
	Query  larkcore.QueryParams
	Body   any                       // sent as JSON
	Form   func() *larkcore.Formdata // instead of Body: each try takes a fresh one
	Later  bool                      // lets all other calls go first

	// Tries is how often the request is made at most until its outcome is known; 0 is once. What is made more than once
	// carries an idempotency key or sets a value, so that doing it twice does no harm.
	Tries int
	// Before waits for what limits this request alone. It runs before each try, and its error ends them.
	Before func(ctx context.Context) error
	// Repair puts right what the platform has refused, so that the request, which it may change, is made again with as
	// many tries. It returns the error that it cannot put right.
	Repair func(ctx context.Context, err error) error

	noToken bool // needs no access token
}

// Config is what a Client must know of the platform and of the app.
type Config struct {
	BaseURL   string // the platform's address, without a slash at its end
	AppID     string
	AppSecret string
	Pace      float64       // how many times the public platform's rates the app keeps to; 1 is once
	Rest      time.Duration // how long a platform that does not answer is left alone; 0 is half a minute
}

// New makes a client. It calls nobody before it is told to.
func New(cfg Config, log zerolog.Logger) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	// All calls share one HTTP/2 connection; without pings a dead one is used until TCP gives up on it, a quarter of an
	// hour.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	c := &Client{
		HTTP:   &http.Client{Timeout: CallTimeout, Transport: transport},
		limits: newLimits(cfg.Pace), breaker: newBreaker(log, cfg.Rest),
	}
	c.config = &larkcore.Config{
		BaseUrl: cfg.BaseURL, AppId: cfg.AppID, AppSecret: cfg.AppSecret, HttpClient: c.HTTP,
		Logger: SDKLogger(log), Serializable: plainJSON{},
	}
	files := *c.config
	files.HttpClient = &http.Client{Timeout: uploadTimeout, Transport: transport}
	c.upload = &files
	c.tokens.fetch = func(ctx context.Context) (answer gjson.Result, err error) {
		r := tokenRequest(cfg)
		err = c.send(r.Op, func() (err error) {
			answer, err = c.exchange(ctx, r, "")
			return err
		})
		return answer, err
	}
	return c
}

// Call makes one request, when the limits of the app allow, and gives the answer's whole JSON. Its errors are those of
// ctx and [Error].
func (c *Client) Call(ctx context.Context, r Request) (answer gjson.Result, err error) {
	err = c.retry(ctx, r, func(token string) (err error) {
		answer, err = c.exchange(ctx, r, token)
		return err
	})
	return answer, err
}

func (c *Client) exchange(ctx context.Context, r Request, token string) (gjson.Result, error) {
	req := &larkcore.ApiReq{HttpMethod: r.Method, ApiPath: r.Path, QueryParams: r.Query, Body: r.Body}
	var options []larkcore.RequestOptionFunc
	if !r.noToken {
		req.SupportedAccessTokenTypes = []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}
		options = append(options, larkcore.WithTenantAccessToken(token))
	}
	config := c.config
	if r.Form != nil {
		req.Body, config = r.Form(), c.upload
	}
	sent := time.Now()
	resp, err := larkcore.Request(ctx, req, config, options...)
	if err != nil {
		if ctx.Err() != nil {
			return gjson.Result{}, ctx.Err()
		}
		return gjson.Result{}, &Error{Op: r.Op, Err: Cause(err)}
	}
	c.clock.learn(resp.Header.Get("Date"), sent, time.Now())
	return judge(r.Op, resp)
}

// Calls counts what became of the calls so far.
func (c *Client) Calls() Calls { return c.tally.now() }

// CircuitOpen reports whether calls fail at once with [ErrCircuitOpen].
func (c *Client) CircuitOpen() bool { return c.breaker.away() }

// CloseCircuit lets calls through again, since there is other evidence that the platform is back.
func (c *Client) CloseCircuit() { c.breaker.reset() }

// Ready waits until a call would be made at once: until it is time for a try, while the platform is away, and until the
// limits of the app have room. Its only error is ctx's.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.breaker.wait(ctx); err != nil {
		return err
	}
	return c.limits.ready(ctx)
}

// WaitForChat waits until one more message may go to a chat. Its only error is ctx's.
func (c *Client) WaitForChat(ctx context.Context, id string) error { return c.limits.chat(ctx, id) }

// SurelyAfter reports whether at, by the platform's clock, is certainly not before t by ours. Before the platform has
// told its time nothing is certain.
func (c *Client) SurelyAfter(at, t time.Time) bool { return c.clock.surelyAfter(at, t) }

// CheckCredentials asks for an access token, unless there is one that is valid. An error is why the app has none.
func (c *Client) CheckCredentials(ctx context.Context) error {
	_, err := c.tokens.get(ctx, "")
	return err
}

// String is a text of an answer or an event that can be kept: what gjson gives is a part of the whole, which would stay
// in memory with it.
func String(r gjson.Result) string { return strings.Clone(r.String()) }

// Cause is an error of the HTTP client without the address that was called: it names ids.
func Cause(err error) error {
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

// Path joins the parts of a path. Every second part is an id, and escaped.
func Path(parts ...string) string {
	for i, p := range parts {
		if i%2 == 1 {
			parts[i] = url.PathEscape(p)
		}
	}
	return strings.Join(parts, "")
}
