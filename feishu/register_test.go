package feishu

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/i18n"
)

func newSim(t *testing.T) *feishusim.Server {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // the SDK uses this client
	return sim
}

func TestRegisterMakesACompleteApp(t *testing.T) {
	for brand, name := range map[string]string{"feishu": "鹊桥", "lark": "Magpie"} {
		sim := newSim(t)
		sim.SetBrand(brand)
		sim.TakeScopes(slices.Concat(requiredScopes...)...)
		sim.Unsubscribe(slices.Concat(requiredEvents, requiredCallbacks)...)
		u := sim.AddUser("小明")
		address := ""
		got, err := Register(t.Context(), Config{BaseURL: sim.URL()}, name, func(a string, good time.Duration) {
			address = a
			if good != 10*time.Minute {
				t.Errorf("good for %v", good)
			}
			if err := sim.Scan(u, a); err != nil {
				t.Error(err)
			}
		})
		want := Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}
		if err != nil || got.Config != want || got.User != u.OpenID {
			t.Fatalf("%+v, %v", got, err)
		}
		if link, err := url.Parse(address); err != nil || link.Query().Get("name") != name {
			t.Errorf("the app is not to be called %s: %s, %v", name, address, err)
		}
		if len(address) > 458 { // version 14 of QR codes at the lowest level of correction: 73 modules and the margin
			t.Errorf("an address of %d bytes makes a code that no terminal of 80 columns shows", len(address))
		}
		found := Check(t.Context(), got.Config)
		if missing := found.App.Missing(); found.AppInfo != nil || !isEmpty(missing) || found.App.Owner != u.OpenID {
			t.Errorf("the new app: %+v, misses %+v", found, missing)
		}
		for _, v := range sim.Violations() {
			t.Errorf("rule of the platform broken: %s: %s", v.Rule, v.Detail)
		}
	}
}

func TestRegisterEnds(t *testing.T) {
	sim := newSim(t)
	cfg := Config{BaseURL: sim.URL()}
	_, err := Register(t.Context(), cfg, "Magpie", func(a string, _ time.Duration) { _ = sim.Decline(a) })
	if !errors.Is(err, ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	_, err = Register(t.Context(), cfg, "Magpie", func(string, time.Duration) { sim.Expire() })
	if !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Register(ctx, cfg, "Magpie", func(string, time.Duration) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	_, err = Register(t.Context(), Config{BaseURL: "http://127.0.0.1:1"}, "Magpie", nil)
	if err == nil || errors.Is(err, ErrExpired) {
		t.Errorf("no platform: %v", err)
	}
}

// If the app could not be created, the error says why, and what to check.
func TestWhyNoAppIsCreated(t *testing.T) {
	noise := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>please log in</html>"))
	}))
	defer noise.Close()
	for address, want := range map[string]string{
		"http://127.0.0.1:1": "127.0.0.1:1：连接被拒绝；请检查网络，需要代理时设置环境变量 HTTPS_PROXY",
		noise.URL:            "收到的不是飞书的响应：网络里可能有代理，或者需要先在网页上登录",
	} {
		_, err := Register(t.Context(), Config{BaseURL: address}, "Magpie", nil)
		if got := i18n.ErrorText(i18n.Chinese, err); got != want {
			t.Errorf("%v is %q", err, got)
		}
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
}

// Errors while polling do not end a registration. Only the loss of the response with the credentials cannot be
// repaired, and that is reported.
func TestRegisterGoesOnAfterNetworkErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fault feishusim.Fault
		want  error
	}{
		"cut":                  {feishusim.Fault{Reset: true, Times: 2}, nil},
		"a gateway":            {feishusim.Fault{Status: 502, Body: "<html>bad gateway</html>", Times: 2}, nil},
		"credentials are lost": {feishusim.Fault{Reset: true, Apply: true, Times: 1}, ErrUncertain},
		"declined":             {feishusim.Fault{Reset: true, Times: 1}, ErrDeclined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			u := sim.AddUser("小明")
			got, err := Register(t.Context(), Config{BaseURL: sim.URL()}, "Magpie", func(a string, _ time.Duration) {
				tc.fault.Path = "/oauth/v1/app/registration"
				sim.Inject(tc.fault)
				if errors.Is(tc.want, ErrDeclined) {
					_ = sim.Decline(a)
				} else if err := sim.Scan(u, a); err != nil {
					t.Error(err)
				}
			})
			if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || (err == nil) != (got.User == u.OpenID) {
				t.Errorf("%+v, %v", got, err)
			}
			if errors.Is(err, ErrUncertain) != errors.Is(tc.want, ErrUncertain) {
				t.Errorf("uncertain: %v", err)
			}
		})
	}
}

// Without a QR code there is no app, and no silent retry.
func TestNoAppWithoutAQRCode(t *testing.T) {
	sim := newSim(t)
	sim.Inject(feishusim.Fault{Path: "/oauth/v1/app/registration", Reset: true, Times: 1})
	_, err := Register(t.Context(), Config{BaseURL: sim.URL()}, "Magpie", func(string, time.Duration) { t.Error("a code is shown") })
	if err == nil || errors.Is(err, ErrUncertain) || len(sim.Calls()) != 1 {
		t.Errorf("%v after %d calls", err, len(sim.Calls()))
	}
}

func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		app  App
		want MissingSettings
	}{
		"nothing is reported": {App{}, MissingSettings{}},
		"a wider permission is as good": {App{scopes: []string{"im:message", "im:message.p2p_msg",
			"im:message.group_msg", "im:message.reactions:write_only", "im:message.reactions:read", "im:resource",
			"im:chat", "cardkit:card:write", greetingScope}}, MissingSettings{
			Scopes: []string{"application:application:self_manage"},
		}},
		"what is missing is named once": {App{scopes: []string{"im:message:send_as_bot",
			"im:message.p2p_msg", "im:message.group_msg", "im:message.reactions:write_only", "im:resource",
			"im:chat:readonly", "cardkit:card:write", "application:application:self_manage"}}, MissingSettings{
			Scopes: []string{"im:message:readonly"}, OptionalScopes: []string{greetingScope},
		}},
		"some events": {App{events: []string{eventMessage, "im.chat.disbanded_v1"},
			callbacks: []string{"url.preview.get"}}, MissingSettings{
			Events: []string{
				"im.message.recalled_v1", "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1",
			},
			OptionalEvents: optionalEvents,
			Callbacks:      []string{"card.action.trigger"}}},
		"no messages": {App{
			events: []string{
				"im.chat.disbanded_v1", "im.message.recalled_v1", "im.chat.member.bot.added_v1",
				"im.chat.member.bot.deleted_v1", optionalEvents[0],
			},
		},
			MissingSettings{Events: []string{eventMessage}, OptionalEvents: optionalEvents[1:]}},
	} {
		got := tc.app.Missing()
		if !slices.Equal(got.Scopes, tc.want.Scopes) || !slices.Equal(got.OptionalScopes, tc.want.OptionalScopes) ||
			!slices.Equal(got.Events, tc.want.Events) ||
			!slices.Equal(got.OptionalEvents, tc.want.OptionalEvents) ||
			!slices.Equal(got.Callbacks, tc.want.Callbacks) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
		if got.LacksMessageEvent() != (name == "no messages") {
			t.Errorf("%s: deaf %v", name, got.LacksMessageEvent())
		}
	}
}

// Departments, and reading all messages of groups, need further permissions.
func TestMissingOfTheConfiguration(t *testing.T) {
	app := App{scopes: []string{"im:message", "im:message.p2p_msg", "im:message.group_msg",
		"im:message.reactions:write_only", "im:message.reactions:read", "im:resource",
		"im:chat", "cardkit:card:write", "application:application:self_manage",
		"contact:contact.base:readonly", "contact:user.department:readonly"}}
	missing := app.Missing(slices.Concat(ForDepartments, ForAllOfGroups)...).Scopes
	if !slices.Equal(missing, []string{"contact:department.base:readonly"}) {
		t.Errorf("%q", missing)
	}
	if got := (App{}).Missing(ForDepartments...); !isEmpty(got) {
		t.Errorf("for an unknown app: %+v", got)
	}
}

func TestConsole(t *testing.T) {
	for base, want := range map[string]string{
		"":                      "https://open.feishu.cn/app/cli_1/auth?op_from=openapi&q=im%3Aresource%2Cim%3Achat&token_type=tenant",
		"lark":                  "https://open.larksuite.com/app/cli_1/auth?op_from=openapi&q=im%3Aresource%2Cim%3Achat&token_type=tenant",
		"http://127.0.0.1:1234": "http://127.0.0.1:1234/app/cli_1/auth?op_from=openapi&q=im%3Aresource%2Cim%3Achat&token_type=tenant",
	} {
		if got := (Config{AppID: "cli_1", BaseURL: base}).Console().Scopes([]string{"im:resource",
			"im:chat"}); got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
	local := Config{BaseURL: "http://127.0.0.1:1234/"}
	if got := local.Apps(); !slices.Equal(got, []string{"http://127.0.0.1:1234/app"}) {
		t.Errorf("apps: %q", got)
	}
	if got := (Config{}).Apps(); !slices.Equal(got, []string{hostFeishu + "/app", hostLark + "/app"}) {
		t.Errorf("apps: %q", got)
	}
	for base, want := range map[string]string{
		"": accountsFeishu, "lark": accountsLark, "http://127.0.0.1:1234/": "http://127.0.0.1:1234",
	} {
		if got := (Config{BaseURL: base}).accountsURL(); got != want {
			t.Errorf("accounts of %q: %s, want %s", base, got, want)
		}
	}
}

// The event of an edit also comes for each change of a bot's card, at an unknown rate, so nobody is asked to subscribe to
// it.
func TestNobodyIsAskedToSubscribeToEdits(t *testing.T) {
	const edits = "im.message.updated_v1"
	missing := App{events: []string{}}.Missing()
	if slices.Contains(slices.Concat(missing.Events, missing.OptionalEvents, requestedAddons().Events.Items.Tenant), edits) {
		t.Errorf("asked for: %+v", missing)
	}
}

func isEmpty(m MissingSettings) bool { return len(m.Scopes)+len(m.Events)+len(m.Callbacks) == 0 }
