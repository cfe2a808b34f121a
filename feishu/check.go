package feishu

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
)

// Checkup is what one look at the platform finds. It changes nothing there.
type Checkup struct {
	Credentials error    // nil = the platform takes the app's id and secret; what follows is known only then
	Bot         error    // nil = the app has a bot
	Chats       error    // nil = the app may see its chats
	Missing     []string // permissions of which the platform says that one is needed
	Told        error    // nil = the platform tells what the app was given; else only its permissions are known
	App         App      // as far as it is told
	// Ahead is how much this machine's clock is ahead of the platform's, to the second. Dated is whether the platform
	// told.
	Ahead time.Duration
	Dated bool
}

// Check looks at the platform as an app with that configuration sees it.
func Check(ctx context.Context, cfg Config) Checkup {
	a := openapi.New(cfg.api(), zerolog.Nop())
	defer a.HTTP.CloseIdleConnections()
	clock := &dates{next: a.HTTP.Transport}
	a.HTTP.Transport = clock
	var found Checkup
	if found.Credentials = a.CheckCredentials(ctx); found.Credentials == nil {
		found.Bot = (&Client{api: a}).whoAmI(ctx)
		_, found.Chats = a.Call(ctx, openapi.Request{Op: "list the bot's chats", Method: http.MethodGet, Path: "/open-apis/im/v1/chats",
			Query: larkcore.QueryParams{"page_size": []string{"1"}}})
		found.Missing = append(scopesOf(found.Bot), scopesOf(found.Chats)...)
		if found.App, found.Told = application(ctx, a, cfg.AppID); found.Told != nil {
			found.App.scopes, _ = granted(ctx, a) // what it does not tell is not known
		}
	}
	found.Ahead, found.Dated = clock.seen()
	return found
}

// Refused reports that the platform does not know the app, or not with that secret.
func (c Checkup) Refused() bool {
	var e *openapi.Error
	return errors.As(c.Credentials, &e) && e.Code != 0
}

var scopeList = regexp.MustCompile(`\[([a-z_]+:[^\]]+)\]`)

// scopesOf gives the permissions that a refusal names (code 99991672: "... scopes is required: [im:chat,
// im:chat:readonly]").
func scopesOf(err error) []string {
	var e *openapi.Error
	if !errors.As(err, &e) || e.Code != 99991672 && e.Code != 230027 {
		return nil
	}
	list := scopeList.FindStringSubmatch(e.Msg)
	if list == nil {
		return nil
	}
	return strings.FieldsFunc(list[1], func(r rune) bool { return r == ',' || r == ' ' })
}

// dates compares the clock of this machine with the Date headers of answers.
type dates struct {
	next http.RoundTripper

	mu    sync.Mutex
	ahead time.Duration
	known bool
}

// RoundTrip implements http.RoundTripper.
func (d *dates) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if there, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		ahead := time.Since(there).Truncate(time.Second) // and the time that the answer took
		if !d.known || ahead < d.ahead {
			d.ahead, d.known = ahead, true
		}
	}
	return resp, nil
}

func (d *dates) seen() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ahead, d.known
}
