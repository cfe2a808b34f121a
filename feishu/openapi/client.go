// Package openapi is the client of Feishu's HTTP API, the Open API: access tokens, rate limits, the circuit breaker,
// error classes, retries, the platform's clock, file downloads and paged lists.
//
// It knows nothing about chats, messages, cards and the long connection, which are in feishu.
package openapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/internal/i18n"
)

// CallTimeout limits one attempt of a call; the SDK has no limit of its own (client.go, WithReqTimeout).
const CallTimeout = 15 * time.Second

// uploadTimeout limits one attempt of a call that carries files.
const uploadTimeout = 2 * time.Minute

// Client makes the calls of one app. It uses the SDK's core instead of its typed services, so that one place sees the
// code, log ID and headers of every reply, even of one that is not JSON.
type Client struct {
	// HTTP makes all calls except uploads. The long connection uses it for its first call, too.
	HTTP *http.Client

	config  *larkcore.Config
	upload  *larkcore.Config // for uploads, which take longer
	tokens  tokens
	limits  limits
	breaker *breaker
	clock   clock
	counts  callCounts
	shut    func() bool // see [Client.ShutWhile]; nil = never
}

// Request is one call.
type Request struct {
	Op          string // names the call in errors
	Method      string // HTTP method
	Path        string // from /open-apis/ on; see [Path]
	Query       larkcore.QueryParams
	Body        any                       // sent as JSON
	Form        func() *larkcore.Formdata // instead of Body; called for each attempt, which consumes the form
	LowPriority bool                      // all other calls to the same API go first
	Live        bool                      // soon obsolete: it fails rather than wait long for a rate limit
	Chat        string                    // the chat to which it sends a message, for the rate limit per chat
	Pace        *Pace                     // of the card that it changes; nil = it changes none

	// Tries is the maximum number of attempts until the outcome is known; 0 means one. A request with several attempts
	// must be idempotent: it carries an idempotency key or sets a value.
	Tries int
	// Before runs before each attempt, after the wait for the card's pace; its error ends the call.
	Before func(ctx context.Context) error
	// Repair fixes the cause of a refusal. It may change the request, which is then made again with as many tries as
	// before. If it cannot fix the error, it returns it.
	Repair func(ctx context.Context, err error) error

	// Refusals are codes that mean a permanent refusal of this request, even if they mean no answer for others.
	Refusals []int

	noToken bool // needs no access token
}

// Config is what a Client must know about the platform and the app.
type Config struct {
	BaseURL        string // URL of the platform, without a trailing slash
	AppID          string
	AppSecret      string
	Pace           float64       // factor of the public platform's rate limits, which the client keeps
	CircuitTimeout time.Duration // how long the circuit stays open; 0 is half a minute
}

// New returns a client. It makes no call yet.
func New(cfg Config, log zerolog.Logger) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	// All calls share one HTTP/2 connection; without pings a dead one would be used until TCP gives up on it, after a
	// quarter of an hour.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	c := &Client{
		HTTP:   &http.Client{Timeout: CallTimeout, Transport: transport},
		limits: newLimits(cfg.Pace), breaker: newBreaker(log, cfg.CircuitTimeout),
	}
	c.config = &larkcore.Config{
		BaseUrl: cfg.BaseURL, AppId: cfg.AppID, AppSecret: cfg.AppSecret, HttpClient: causeKeeper{c.HTTP},
		Logger: SDKLogger(log), Serializable: plainJSON{},
	}
	files := *c.config
	files.HttpClient = causeKeeper{&http.Client{Timeout: uploadTimeout, Transport: transport}}
	c.upload = &files
	c.tokens.fetch = func(ctx context.Context) (answer gjson.Result, err error) {
		r := tokenRequest(cfg)
		err = c.send(r.Op, func() (err error) {
			answer, err = c.roundTrip(ctx, r, "")
			return err
		})
		return answer, err
	}
	return c
}

// SetShare limits this program to a part of the app's rates, because other programs make calls of the same app. The limits
// of each chat and card stay: one program at a time writes there.
func (c *Client) SetShare(share float64) { c.limits.setShare(share) }

// ShutWhile has calls fail at once while shut reports true, because another program may make them. It is called before the
// first call.
func (c *Client) ShutWhile(shut func() bool) { c.shut = shut }

// Call makes a request when the app's limits allow, and returns the whole JSON of the answer. Its errors are those of
// ctx and [Error].
func (c *Client) Call(ctx context.Context, r Request) (answer gjson.Result, err error) {
	err = c.retry(ctx, r, func(token string) (err error) {
		answer, err = c.roundTrip(ctx, r, token)
		return err
	})
	return answer, err
}

// roundTrip sends a request once and evaluates its answer.
func (c *Client) roundTrip(ctx context.Context, r Request, token string) (gjson.Result, error) {
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
	var cause error
	resp, err := larkcore.Request(context.WithValue(ctx, causeKey{}, &cause), req, config, options...)
	if err != nil {
		err = cmp.Or(cause, err)
		// An error of ctx comes from the caller and says nothing about the platform, so the breaker must not count it.
		if ctx.Err() != nil {
			return gjson.Result{}, ctx.Err()
		}
		return gjson.Result{}, &Error{Op: r.Op, Err: WithoutURL(err)}
	}
	c.clock.observe(resp.Header.Get("Date"), sent, time.Now())
	answer, err := parseAnswer(r.Op, resp)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.refused = slices.Contains(r.Refusals, e.Code)
	}
	return answer, err
}

// Calls returns the outcomes of the calls so far.
func (c *Client) Calls() Calls { return c.counts.snapshot() }

// CircuitOpen reports whether calls fail at once with [ErrCircuitOpen].
func (c *Client) CircuitOpen() bool { return c.breaker.isTripped() }

// CloseCircuit closes the circuit, since there is other evidence that the platform is back.
func (c *Client) CloseCircuit() { c.breaker.reset() }

// Ready waits until a call to an API could be made at once: until the circuit allows a try and the app's limits have
// room. Its only error is ctx's.
func (c *Client) Ready(ctx context.Context, method, path string) error {
	if err := c.breaker.wait(ctx); err != nil {
		return err
	}
	return c.limits.limiterFor(method, path).waitUntilReady(ctx)
}

// SurelyAfter reports whether the platform's time at is certainly not before our time t. It reports false until the
// platform has sent its time.
func (c *Client) SurelyAfter(at, t time.Time) bool { return c.clock.surelyAfter(at, t) }

// Age is how long ago, at least, the platform's time at was. Until the platform has sent its time, our clock decides.
func (c *Client) Age(at time.Time) time.Duration { return c.clock.age(at) }

// CheckCredentials fetches an access token, unless there is a valid one. An error says why the app gets none.
func (c *Client) CheckCredentials(ctx context.Context) error {
	_, err := c.tokens.get(ctx, "")
	return err
}

// String copies a text out of a reply or an event. A gjson result is a slice of the whole JSON and would keep it in
// memory.
func String(r gjson.Result) string { return strings.Clone(r.String()) }

// causeKeeper stores the error of a call in the variable that the context has under [causeKey]. The SDK passes on only
// the text of some errors (core/httptransport.go, doSend), which cannot be said in other words.
type causeKeeper struct{ next *http.Client }

type causeKey struct{}

// Do implements [larkcore.HttpClient].
func (k causeKeeper) Do(r *http.Request) (*http.Response, error) {
	resp, err := k.next.Do(r)
	if cause, ok := r.Context().Value(causeKey{}).(*error); ok {
		*cause = err
	}
	return resp, err
}

// WithoutURL returns an error of the HTTP client without the URL, which contains ids. It says in words what is wrong
// with a proxy.
func WithoutURL(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	text := u.Err.Error()
	if strings.HasPrefix(text, "invalid proxy address") { // it may hold a password
		return i18n.Mistakef("环境变量 HTTPS_PROXY 里的代理地址无效",
			"the address of the proxy in the variable HTTPS_PROXY is not valid")
	}
	// net/http reports the status of a proxy that does not connect, and only that, as an error.
	for status := http.StatusBadRequest; status <= http.StatusNetworkAuthenticationRequired; status++ {
		if text == http.StatusText(status) {
			return i18n.Mistakef(
				"代理拒绝了连接（HTTP 状态 %d）", "the proxy refuses the connection (HTTP status %d)", status)
		}
	}
	return u.Err
}

// parseAnswer turns every answer that is not a success into an [Error].
func parseAnswer(op string, resp *larkcore.ApiResp) (gjson.Result, error) {
	e := &Error{Op: op, LogID: resp.RequestId(), Status: resp.StatusCode}
	if s, err := strconv.ParseFloat(resp.Header.Get("X-Ogw-Ratelimit-Reset"), 64); err == nil && s > 0 {
		// capped: an absurd value must not stop the client for long
		e.wait = min(time.Duration(s*float64(time.Second)), time.Minute)
	}
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
	return gjson.Result{}, e
}

// plainJSON does not escape <, > and &: the SDK's serializer makes six bytes of each, and cards have a size limit.
type plainJSON struct{}

func (plainJSON) Serialize(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (plainJSON) Deserialize(data []byte, v any) error { return json.Unmarshal(data, v) }

// Path joins the parts of a path and escapes every second one, which is an ID.
func Path(parts ...string) string {
	for i, p := range parts {
		if i%2 == 1 {
			parts[i] = url.PathEscape(p)
		}
	}
	return strings.Join(parts, "")
}
