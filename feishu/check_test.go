package feishu

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/feishusim"
)

func TestCheck(t *testing.T) {
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close() //nolint:errcheck // closing is not part of this test
	target, err := url.Parse(sim.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}

	got := Check(context.Background(), cfg)
	if got.Credentials != nil || got.Bot != nil || got.Chats != nil || !got.ClockKnown ||
		got.ClockAhead.Abs() > 2*time.Second {
		t.Errorf("a good app: %+v", got)
	}

	wrong := cfg
	wrong.AppSecret = "wrong"
	if got := Check(context.Background(), wrong); got.Credentials == nil ||
		!strings.Contains(got.Credentials.Error(), "app_secret") || !got.ClockKnown {
		t.Errorf("a wrong secret: %+v", got)
	}

	remove := sim.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats", Code: 99991672,
		Msg: "Access denied. One of the following scopes is required: [im:chat, im:chat:readonly]."})
	if got := Check(context.Background(), cfg); got.Bot != nil ||
		!slices.Equal(got.Missing, []string{"im:chat", "im:chat:readonly"}) {
		t.Errorf("a missing permission: %+v", got)
	}
	remove()
	sim.Group("team", sim.AddUser("Ann"))
	sim.TakeScopes("im:chat.members:read")
	if got := Check(context.Background(), cfg); got.Chats != nil || got.Members == nil ||
		!slices.Contains(got.Missing, "im:chat.members:read") {
		t.Errorf("members may not be listed: %+v", got)
	}
	sim.GiveScopes("im:chat.members:read")
	if got := Check(context.Background(), cfg); got.Members != nil {
		t.Errorf("members may be listed: %+v", got)
	}
	remove = sim.Inject(feishusim.Fault{
		Path: "/open-apis/bot/v3/info", Code: 230006, Msg: "bot ability is not activated",
	})
	if got := Check(context.Background(), cfg); got.Credentials != nil || got.Bot == nil || got.Chats != nil {
		t.Errorf("no bot: %+v", got)
	}
	remove()

	late := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(resp *http.Response) error {
			resp.Header.Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			return nil
		},
	})
	defer late.Close()
	cfg.BaseURL = late.URL
	if got := Check(context.Background(), cfg); !got.ClockKnown || got.ClockAhead < time.Hour ||
		got.ClockAhead > time.Hour+time.Minute {
		t.Errorf("a platform whose clock is an hour behind: %+v", got)
	}
	for _, v := range sim.Violations() {
		if v.Rule == feishusim.RuleToken { // the wrong secret
			continue
		}
		t.Errorf("rule of the platform broken: %s: %s", v.Rule, v.Detail)
	}
}

// slowTransport answers slowly. The Date header holds the time of the request.
type slowTransport time.Duration

func (s slowTransport) RoundTrip(*http.Request) (*http.Response, error) {
	resp := &http.Response{Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	time.Sleep(time.Duration(s))
	return resp, nil
}

// A slow answer must not look like a platform whose clock is behind.
func TestSlowAnswersDoNotCountAsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &clockProbe{}
		for _, d.next = range []http.RoundTripper{
			slowTransport(7 * time.Second), slowTransport(0), slowTransport(20 * time.Second),
		} {
			if _, err := d.RoundTrip(nil); err != nil {
				t.Fatal(err)
			}
		}
		if ahead, known := d.skew(); ahead != 0 || !known {
			t.Errorf("ahead by %v, known %v", ahead, known)
		}
	})
}
