package feishusim

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// How long a registration waits for a scan, and how often a client may poll.
const (
	registrationTTL  = 10 * time.Minute
	registrationPoll = time.Second
)

// registrations creates apps for people who scan a code, as the accounts server does (oapi-sdk-go scene/registration;
// the states are those of RFC 8628). This platform has one app, so whoever confirms becomes its owner.
type registrations struct {
	app  *auth
	page *console

	mu     sync.Mutex
	brand  string // of the scanning user's tenant: "feishu" or "lark"
	byCode map[string]*newcomer
}

// newcomer is one registration: an app that does not exist yet.
type newcomer struct {
	device, code string
	ends         time.Time
	asked        time.Time // last poll
	by           User      // who confirmed
	confirmed    bool
	declined     bool
	isLark       bool // it is a Lark tenant: the client knows it, and asks Lark's server for the credentials
}

// addons is what a scanned address requests beyond the defaults (oapi-sdk-go scene/registration/types.go, AppAddons).
type addons struct {
	Preset *bool
	Scopes struct{ Tenant, User []string }
	Events struct {
		Items struct{ Tenant, User []string }
	}
	Callbacks struct{ Items []string }
}

func newRegistrations(a *auth, c *console) *registrations {
	return &registrations{app: a, page: c, brand: "feishu", byCode: make(map[string]*newcomer)}
}

// SetBrand makes the users who scan members of a tenant of "feishu" or of "lark".
func (r *registrations) SetBrand(brand string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.brand = brand
}

// Scan makes a user scan the address and confirm the request. The app gets its permissions before the client is
// notified.
func (r *registrations) Scan(u User, address string) error {
	g, wants, err := r.open(address)
	if err != nil {
		return err
	}
	r.page.grant(u.OpenID, wants)
	r.mu.Lock()
	defer r.mu.Unlock()
	g.by, g.confirmed = u, true
	return nil
}

// Decline makes a user scan the address and decline the request.
func (r *registrations) Decline(address string) error {
	g, _, err := r.open(address)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g.declined = true
	return nil
}

// Expire expires all open registrations.
func (r *registrations) Expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.byCode {
		g.ends = time.Time{}
	}
}

// open is the page behind an address. It rejects what the real page would reject.
func (r *registrations) open(address string) (*newcomer, addons, error) {
	var wants addons
	u, err := url.Parse(address)
	if err != nil {
		return nil, wants, err
	}
	q := u.Query()
	if q.Get("from") != "sdk" || q.Get("tp") != "sdk" || !strings.HasPrefix(q.Get("source"), "go-sdk") {
		return nil, wants, errors.New("the address does not say that an SDK made it")
	}
	if s := q.Get("addons"); s != "" {
		if wants, err = readAddons(s); err != nil {
			return nil, wants, fmt.Errorf("addons: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.byCode[q.Get("user_code")]
	switch {
	case g == nil:
		return nil, wants, errors.New("no such code")
	case time.Now().After(g.ends), g.confirmed, g.declined:
		return nil, wants, errors.New("the code was used or has expired")
	}
	return g, wants, nil
}

func readAddons(s string) (a addons, err error) {
	packed, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return a, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return a, err
	}
	// Unknown fields are rejected, because the page would ignore them silently and the app would lack a permission.
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, err
	}
	for _, scope := range a.Scopes.Tenant {
		if scope == "im:message.group_msg" {
			return a, fmt.Errorf("%s is a sensitive permission, which only the console gives", scope)
		}
	}
	return a, nil
}

func (r *registrations) routes() []route {
	return []route{{pattern: "POST /oauth/v1/app/registration", open: true, secret: true, serve: r.serve}}
}

// serve handles both actions of the endpoint. Bodies are forms, not JSON, as in OAuth.
func (r *registrations) serve(_ http.ResponseWriter, q *request) reply {
	if q.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return r.fail(q, "invalid_request", "the body must be a form")
	}
	form, err := url.ParseQuery(string(q.body))
	if err != nil {
		return r.fail(q, "invalid_request", "%v", err)
	}
	switch form.Get("action") {
	case "begin":
		return r.begin(q, form)
	case "poll":
		return r.poll(q, form.Get("device_code"))
	}
	return r.fail(q, "invalid_request", "action %q", form.Get("action"))
}

// begin creates a device code for the program and a user code for the page (RFC 8628, 3.2). The archetype and the
// method are those that the SDK sends.
func (r *registrations) begin(q *request, form url.Values) reply {
	if form.Get("archetype") != "PersonalAgent" || form.Get("auth_method") != "client_secret" {
		return r.fail(q, "invalid_request", "archetype %q, auth_method %q", form.Get("archetype"),
			form.Get("auth_method"))
	}
	now := time.Now()
	g := &newcomer{device: randomHex(20), code: strings.ToUpper(randomHex(4)), ends: now.Add(registrationTTL)}
	r.mu.Lock()
	r.byCode[g.code] = g
	r.mu.Unlock()
	page := "http://" + q.Host + "/page/cli"
	return oauth("", map[string]any{
		"device_code": g.device, "user_code": g.code, "verification_uri": page, "verification_uri_complete": page +
			"?user_code=" + g.code,
		"interval": int(registrationPoll.Seconds()), "expire_in": int(registrationTTL.Seconds()),
	})
}

// poll returns the state of an attempt. A client that polls too often gets an error and must slow down (RFC 8628, 3.5).
func (r *registrations) poll(q *request, device string) reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	var g *newcomer
	for _, each := range r.byCode {
		if each.device == device {
			g = each
		}
	}
	now := time.Now()
	if g == nil || now.After(g.ends) {
		return oauth("expired_token", map[string]any{"error_description": "the code has expired"})
	}
	// A tenth of tolerance: timers of the client may fire a little early.
	early := now.Sub(g.asked) < registrationPoll*9/10
	g.asked = now
	person := map[string]any{"open_id": g.by.OpenID, "tenant_brand": r.brand}
	switch {
	case g.declined:
		return oauth("access_denied", map[string]any{"error_description": "the user has declined"})
	case g.confirmed && r.brand == "lark" && !g.isLark:
		g.isLark = true
		return oauth("", map[string]any{"user_info": person})
	case g.confirmed:
		g.ends = time.Time{} // credentials are given once
		return oauth("", map[string]any{
			"client_id": r.app.AppID(), "client_secret": r.app.AppSecret(), "user_info": person,
		})
	case early:
		q.violate(RuleRate, "the registration was asked about again after less than %v", registrationPoll)
		return oauth("slow_down", map[string]any{"error_description": "asked too often"})
	}
	return oauth("authorization_pending", map[string]any{"error_description": "nobody has confirmed yet"})
}

func (r *registrations) fail(q *request, failure, format string, args ...any) reply {
	what := fmt.Sprintf(format, args...)
	q.violate(RuleField, "registration: %s", what)
	return oauth(failure, map[string]any{"error_description": what})
}

// oauth is an answer of the accounts server, which has no envelope.
func oauth(failure string, body map[string]any) reply {
	if failure != "" {
		body["error"] = failure
	}
	return reply{
		status: statusOfOAuth(failure), raw: mustJSON(body), header: http.Header{
			"Content-Type": {"application/json; charset=utf-8"},
		},
	}
}
