package feishusim

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ticketTTL is how long the single-use URL of a long connection is valid. The platform does not document it.
const ticketTTL = time.Minute

// renewBefore: a token with at least this much life left is returned again; with less there is a new one and both are
// valid (doc: authentication-management/access-token/tenant_access_token_internal).
const renewBefore = 30 * time.Minute

// auth knows the app's credentials, the tokens in use and the tickets for long connections.
type auth struct {
	appID    string
	tokenTTL time.Duration

	mu      sync.Mutex
	secret  string
	current string
	tokens  map[string]token
	tickets map[string]time.Time // ticket → its end
	refusal *refusal             // answer of the endpoint, if it refuses everyone
}

type token struct {
	ends    time.Time
	revoked bool
}

func newAuth(cfg Config) *auth {
	return &auth{appID: cfg.AppID, secret: cfg.AppSecret, tokenTTL: cfg.TokenTTL,
		tokens: make(map[string]token), tickets: make(map[string]time.Time)}
}

// AppID returns the app's id.
func (a *auth) AppID() string { return a.appID }

// AppSecret returns the app's current secret.
func (a *auth) AppSecret() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret
}

// SetSecret changes the app's secret, as an administrator does in the console: all tokens are revoked.
func (a *auth) SetSecret(secret string) {
	a.mu.Lock()
	a.secret = secret
	a.mu.Unlock()
	a.ExpireTokens()
}

// ExpireTokens revokes all tokens early.
func (a *auth) ExpireTokens() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, t := range a.tokens {
		t.revoked = true
		a.tokens[k] = t
	}
	a.current = ""
}

// RefuseEndpoint makes the endpoint of the long connection answer everyone with code (1 and 1000040343 are the
// temporary ones) until it is called with code 0. Open connections are not affected.
func (a *auth) RefuseEndpoint(code int, msg string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = nil
	if code != 0 {
		a.refusal = refuse("", code, "%s", msg)
	}
}

// credentials checks an app id and its secret.
func (a *auth) credentials(appID, secret string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return appID == a.appID && subtle.ConstantTimeCompare([]byte(secret), []byte(a.secret)) == 1
}

// issue returns a valid token and its remaining life. As on the platform, clients that ask often get the same token, so
// a client must not take a new answer for a new token.
func (a *auth) issue(now time.Time) (string, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.tokens[a.current]; ok && t.ends.Sub(now) >= renewBefore {
		return a.current, t.ends.Sub(now)
	}
	a.current = "t-g1" + randomHex(19)
	a.tokens[a.current] = token{ends: now.Add(a.tokenTTL)}
	return a.current, a.tokenTTL
}

// check checks an Authorization header.
func (a *auth) check(header string, now time.Time) *refusal {
	tok, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || tok == "" {
		return refuse(RuleToken, codeTokenMissing,
			"Missing access token for authorization. Please make a request with token attached.")
	}
	if strings.HasPrefix(tok, "u-") {
		return refuse(RuleToken, codeTokenUser,
			"Invalid access token for authorization. Please make a request with a tenant token.")
	}
	const msg = "Invalid access token for authorization. Please make a request with token attached."
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.tokens[tok]
	switch {
	case !known:
		return refuse(RuleToken, codeTokenInvalid, msg)
	case t.revoked: // which the client cannot know
		return refuse("", codeTokenInvalid, msg)
	case now.After(t.ends):
		return refuse(RuleToken, codeTokenInvalid, msg)
	}
	return nil
}

// ticket issues a ticket for one connection.
func (a *auth) ticket(now time.Time) string {
	t := randomHex(16)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tickets[t] = now.Add(ticketTTL)
	return t
}

// redeem uses up a ticket and reports whether it was valid.
func (a *auth) redeem(ticket string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends, ok := a.tickets[ticket]
	delete(a.tickets, ticket)
	return ok && now.Before(ends)
}

func (a *auth) routes() []route {
	token := route{
		pattern: "POST /open-apis/auth/v3/tenant_access_token/internal", open: true, secret: true, serve: a.serveToken,
	}
	both := token
	both.pattern = "POST /open-apis/auth/v3/app_access_token/internal"
	return []route{token, both}
}

// serveToken answers with HTTP 200 even if it refuses.
func (a *auth) serveToken(_ http.ResponseWriter, q *request) reply {
	var in struct {
		AppID     string `json:"app_id"`
		AppSecret string `json:"app_secret"`
	}
	if bad := q.decode(&in); bad != nil {
		return refused(bad)
	}
	switch {
	case in.AppID == "" || in.AppSecret == "" || in.AppID != a.appID:
		return refused(refuse(RuleToken, codeAppParam, "invalid param"))
	case !a.credentials(in.AppID, in.AppSecret):
		return refused(refuse(RuleToken, codeAppSecret, "app secret invalid"))
	}
	tok, life := a.issue(time.Now())
	rep := reply{
		status: http.StatusOK, msg: "ok", fields: map[string]any{
			"tenant_access_token": tok, "expire": int(life / time.Second),
		},
	}
	if strings.Contains(q.URL.Path, "app_access_token") {
		rep.fields["app_access_token"] = tok
	}
	return rep
}

// endpointRefusal checks a request for the URL of a long connection (codes: oapi-sdk-go ws/const.go and
// ws/client_transport.go).
func (a *auth) endpointRefusal(appID, secret string) *refusal {
	a.mu.Lock()
	bad := a.refusal
	a.mu.Unlock()
	switch {
	case bad != nil:
		return bad
	case appID == "" || secret == "":
		return refuse(RuleToken, codeEndpointNone, "no credential")
	case !a.credentials(appID, secret):
		return refuse(RuleToken, codeEndpointSecret, "app_id or app_secret is invalid")
	}
	return nil
}

// connectionURL builds the single-use URL. Neither id may come first in the query: the Node SDK parses the whole URL
// as a query string.
func connectionURL(host, deviceID, serviceID, ticket string) string {
	q := "fpid=493&aid=552564&device_id=" + url.QueryEscape(deviceID) + "&access_key=" + randomHex(16) +
		"&service_id=" + url.QueryEscape(serviceID) + "&ticket=" + url.QueryEscape(ticket)
	return (&url.URL{Scheme: "ws", Host: host, Path: pathConnection, RawQuery: q}).String()
}
