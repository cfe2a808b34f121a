package openapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/sync/singleflight"
)

// tokens caches the tenant access token. The SDK's own cache keeps a revoked token until it expires
// (core/httptransport.go, doRequest), and fetches one token for each of several concurrent callers.
type tokens struct {
	fetch  func(context.Context) (gjson.Result, error)
	flight singleflight.Group

	mu    sync.Mutex
	value string
	until time.Time
}

// get returns a valid token other than bad, which the platform has rejected.
func (t *tokens) get(ctx context.Context, rejected string) (string, error) {
	if v, ok := t.current(rejected); ok {
		return v, nil
	}
	done := t.flight.DoChan("", func() (any, error) {
		if v, ok := t.current(rejected); ok {
			return v, nil
		}
		// other callers may be waiting for it, too; the HTTP client's timeout limits it
		return t.renew(context.WithoutCancel(ctx))
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return "", r.Err
		}
		return r.Val.(string), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// current returns the cached token, and whether it can be used.
func (t *tokens) current(rejected string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value, t.value != "" && t.value != rejected && time.Now().Before(t.until)
}

// renew fetches a token. It is replaced early, so that none expires in transit.
func (t *tokens) renew(ctx context.Context) (string, error) {
	answer, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	life := time.Duration(answer.Get("expire").Int()) * time.Second
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value = answer.Get("tenant_access_token").String()
	t.until = time.Now().Add(life - min(life/10, 3*time.Minute))
	return t.value, nil
}

// tokenRequest is described on the page "tenant_access_token of a self-built app"
// (authentication-management/access-token/tenant_access_token_internal).
func tokenRequest(cfg Config) Request {
	return Request{
		Op: "get an access token", Method: http.MethodPost, Path: "/open-apis/auth/v3/tenant_access_token/internal",
		Body: map[string]string{"app_id": cfg.AppID, "app_secret": cfg.AppSecret}, noToken: true,
	}
}
