package feishusim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/scene/registration"
)

// register lets the official SDK create an app; scan is what happens when it shows the code.
func register(t *testing.T, s *Server, o registration.Options,
	scan func(address string)) (*registration.RegisterAppResult, error) {
	t.Helper()
	o.Domain, o.LarkDomain = s.URL(), s.URL()
	o.OnQRCode = func(info *registration.QRCodeInfo) { scan(info.URL) }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer http.DefaultClient.CloseIdleConnections() // of which the SDK makes use
	return registration.RegisterApp(ctx, &o)
}

func TestRegistrationGivesTheAppToWhoScans(t *testing.T) {
	for _, brand := range []string{"feishu", "lark"} {
		t.Run(brand, func(t *testing.T) {
			s := start(t, Config{})
			s.SetBrand(brand)
			s.TakeScopes("im:resource")
			u := s.AddUser("小明")
			addons := &registration.AppAddons{Scopes: registration.AppAddonsScopes{Tenant: []string{"im:resource"}}}
			got, err := register(t, s, registration.Options{Addons: addons}, func(address string) {
				if err := s.Scan(u, address); err != nil {
					t.Error(err)
				}
				if err := s.Scan(u, address); err == nil {
					t.Error("one code is confirmed twice")
				}
			})
			if err != nil || got.ClientID != s.AppID() || got.ClientSecret != s.AppSecret() ||
				got.UserInfo.OpenID != u.OpenID || got.UserInfo.TenantBrand != brand {
				t.Errorf("%+v, %v", got, err)
			}
			if !slices.Contains(s.console.scopes, "im:resource") || s.console.owner != u.OpenID {
				t.Errorf("the app has not what was asked for: %v, owner %q", s.console.scopes, s.console.owner)
			}
			refuteViolations(t, s)
		})
	}
}

func TestRegistrationEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *Server, address string) error
		want any
	}{
		"declined": {func(s *Server, address string) error { return s.Decline(address) },
			new(*registration.AccessDeniedError)},
		"expired": {func(s *Server, _ string) error { s.Expire(); return nil }, new(*registration.ExpiredError)},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{})
			_, err := register(t, s, registration.Options{}, func(address string) {
				if err := tc.end(s, address); err != nil {
					t.Error(err)
				}
			})
			if !errors.As(err, tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRegistrationIsStrict(t *testing.T) {
	s := start(t, Config{})
	defer http.DefaultClient.CloseIdleConnections()
	post := func(form url.Values) (body map[string]any) {
		t.Helper()
		resp, err := http.PostForm(s.URL()+"/oauth/v1/app/registration", form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // a test
		data, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	if got := post(url.Values{"action": {"begin"}}); got["error"] != "invalid_request" {
		t.Errorf("begin without an archetype: %v", got)
	}
	begun := post(url.Values{"action": {"begin"}, "archetype": {"PersonalAgent"}, "auth_method": {"client_secret"}})
	poll := url.Values{"action": {"poll"}, "device_code": {begun["device_code"].(string)}}
	if got := post(poll); got["error"] != "authorization_pending" {
		t.Errorf("first poll: %v", got)
	}
	s.registrations.mu.Lock()
	for _, g := range s.registrations.byCode {
		g.asked = time.Now().Add(time.Hour) // the next poll comes too early, even on a slow machine
	}
	s.registrations.mu.Unlock()
	if got := post(poll); got["error"] != "slow_down" {
		t.Errorf("second poll at once: %v", got)
	}
	if got := post(url.Values{"action": {"poll"}, "device_code": {"guessed"}}); got["error"] != "expired_token" ||
		got["client_secret"] != nil {
		t.Errorf("a guessed code: %v", got)
	}
	if err := s.Scan(s.AddUser("a"), begun["verification_uri_complete"].(string)); err == nil {
		t.Error("an address that no SDK has made is taken")
	}
	sensitive := &registration.AppAddons{Scopes: registration.AppAddonsScopes{Tenant: []string{"im:message.group_msg"}}}
	_, err := register(t, s, registration.Options{Addons: sensitive}, func(address string) {
		if err := s.Scan(s.AddUser("b"), address); err == nil || !strings.Contains(err.Error(), "sensitive") {
			t.Errorf("a sensitive permission: %v", err)
		}
		s.Expire()
	})
	if err == nil {
		t.Error("an app without anybody's consent")
	}
}

func TestApplicationNeedsAPermission(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	u := s.AddUser("小明")
	s.SetOwner(u)
	path := "/open-apis/application/v6/applications/" + s.AppID()
	app, _ := c.want(0, "GET", path+"?lang=zh_cn", nil).Data["app"].(map[string]any)
	if owner, _ := app["owner"].(map[string]any); owner["owner_id"] != u.OpenID || app["creator_id"] != u.OpenID {
		t.Errorf("application: %v", app)
	}
	s.TakeScopes("application:application:self_manage")
	if got := c.want(codeScope, "GET", path+"?lang=zh_cn", nil); !strings.Contains(got.Msg,
		"[application:application:self_manage, admin:app.info:readonly]") {
		t.Errorf("without the permission: %s", got.Msg)
	}
	scopes, _ := c.want(0, "GET", "/open-apis/application/v6/scopes", nil).Data["scopes"].([]any)
	waiting := 0
	for _, each := range scopes {
		if scope, _ := each.(map[string]any); scope["grant_status"] != float64(1) {
			waiting++
		}
	}
	if waiting != 1 || len(scopes) != len(allScopes) {
		t.Errorf("%d permissions, of which %d are not granted", len(scopes), waiting)
	}
	s.GiveScopes("application:application:self_manage")
	c.want(codeField, "GET", path, nil)
	c.want(codeAppForeign, "GET", "/open-apis/application/v6/applications/cli_other?lang=zh_cn", nil)
}

// Each call is refused without its permission, and one of several is enough.
func TestCallsNeedPermissions(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	s.TakeScopes(allScopes...)
	id, rest := regexp.MustCompile(`\{\w+\}`), map[string]string{
		"PUT /open-apis/im/v1/messages": "/x", "PATCH /open-apis/im/v1/messages": "/x",
		"PUT /open-apis/cardkit/v1/cards": "/x", "PATCH /open-apis/cardkit/v1/cards": "/x/settings",
		"DELETE /open-apis/cardkit/v1/cards":                      "/x/elements/x",
		"DELETE /open-apis/im/v1/messages/{message_id}/reactions": "/x",
		"GET /open-apis/contact/v3/users":                         "/x", "GET /open-apis/contact/v3/departments": "/parent",
		"GET /open-apis/application/v6/applications":  "/x",
		"POST /open-apis/application/v6/applications": "/x/visibility/check_white_black_list",
	}
	for route, scopes := range scopesOf {
		method, path, _ := strings.Cut(id.ReplaceAllString(route+rest[route], "x"), " ")
		c.want(codeScope, method, path, nil)
		for _, scope := range scopes {
			s.GiveScopes(scope)
			if a := c.do(method, path, nil); a.Code == codeScope {
				t.Errorf("%s is refused with %s", route, scope)
			}
			s.TakeScopes(scope)
		}
	}
}
