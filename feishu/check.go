package feishu

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
)

// Checkup is the result of [Check].
type Checkup struct {
	Credentials error    // nil = the platform accepts the app's ID and secret; otherwise the rest is unknown
	Bot         error    // nil = the app has a bot
	Chats       error    // nil = the app may see its chats
	Members     error    // nil = the app may list the members of a chat, or it is in none
	Missing     []string // permissions that the platform says are missing; one of them is enough
	AppInfo     error    // nil = App is complete; otherwise only the app's permissions are known
	App         App      // as far as the platform reports it
	// ClockAhead is how far this machine's clock is ahead of the platform's, to the second. ClockKnown says whether the
	// platform sent its time.
	ClockAhead time.Duration
	ClockKnown bool
}

// Check checks the platform from the view of an app with this configuration. It changes nothing there.
func Check(ctx context.Context, cfg Config) Checkup {
	a := openapi.New(cfg.apiConfig(), zerolog.Nop())
	defer a.HTTP.CloseIdleConnections()
	clock := &clockProbe{next: a.HTTP.Transport}
	a.HTTP.Transport = clock
	var found Checkup
	if found.Credentials = a.CheckCredentials(ctx); found.Credentials == nil {
		_, _, found.Bot = fetchBot(ctx, a)
		found.Chats, found.Members = checkChats(ctx, a)
		found.Missing = slices.Concat(scopesOf(found.Bot), scopesOf(found.Chats), scopesOf(found.Members))
		if found.App, found.AppInfo = fetchApp(ctx, a, cfg.AppID); found.AppInfo != nil {
			found.App.scopes, _ = grantedScopes(ctx, a) // an error leaves the permissions unknown
		}
	}
	found.ClockAhead, found.ClockKnown = clock.skew()
	return found
}

// checkChats lists one of the bot's groups, and one member of it.
func checkChats(ctx context.Context, a *openapi.Client) (chats, members error) {
	answer, err := a.Call(ctx, openapi.Request{
		Op: "list the bot's chats", Method: http.MethodGet, Path: "/open-apis/im/v1/chats",
		Query: larkcore.QueryParams{"page_size": {"1"}},
	})
	group := answer.Get("data.items.0.chat_id").String()
	if err != nil || group == "" {
		return err, nil
	}
	_, err = a.Call(ctx, openapi.Request{
		Op: "list the members of a chat", Method: http.MethodGet,
		Path:  openapi.Path("/open-apis/im/v1/chats/", group, "/members"),
		Query: larkcore.QueryParams{"page_size": {"1"}, "member_id_type": {"open_id"}},
	})
	return nil, err
}

// IsRefused reports whether the platform does not know the app, or rejects its secret.
func (c Checkup) IsRefused() bool {
	var e *openapi.Error
	return errors.As(c.Credentials, &e) && e.Code != 0
}

var scopeList = regexp.MustCompile(`\[([a-z_]+:[^\]]+)\]`)

// scopesOf returns the permissions that a refusal names (code 99991672: "... scopes is required: [im:chat:read,
// im:chat:readonly]"). One of them is enough.
func scopesOf(err error) []string {
	var e *openapi.Error
	if !openapi.MissingPermission(err) || !errors.As(err, &e) {
		return nil
	}
	list := scopeList.FindStringSubmatch(e.Msg)
	if list == nil {
		return nil
	}
	return strings.FieldsFunc(list[1], func(r rune) bool { return r == ',' || r == ' ' })
}

// clockProbe compares this machine's clock with the Date headers of replies. Each difference contains the duration of
// the reply, so the smallest one counts.
type clockProbe struct {
	next http.RoundTripper

	mu    sync.Mutex
	ahead time.Duration
	known bool
}

// RoundTrip implements http.RoundTripper.
func (d *clockProbe) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// Date has whole seconds, so the difference has, too.
	if there, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		ahead := time.Since(there).Truncate(time.Second) // includes the duration of the answer
		if !d.known || ahead < d.ahead {
			d.ahead, d.known = ahead, true
		}
	}
	return resp, nil
}

func (d *clockProbe) skew() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ahead, d.known
}
