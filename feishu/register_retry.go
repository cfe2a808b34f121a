package feishu

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"magpie/feishu/openapi"
	"magpie/internal/i18n"
)

// The SDK polls with http.DefaultClient and ends a registration at the first error, although the app may exist by then
// (scene/registration/registration.go, doRegistrationRequest). Our own scheme, which the default transport passes to
// us, is the only way to intercept the polls without affecting other users of that client.
const pollScheme = "magpie-registration+"

var registerPollScheme = sync.OnceFunc(func() {
	for _, scheme := range []string{"http", "https"} {
		http.DefaultTransport.(*http.Transport).RegisterProtocol(pollScheme+scheme, pollRetrier{http.DefaultTransport})
	}
})

// Limits of a poll: its attempts take about two minutes. A code is valid for ten.
const (
	pollTries    = 15
	pollBackoff  = time.Second      // before the second attempt; doubles up to
	longestPoll  = 10 * time.Second // between two attempts
	maxPollBytes = 1 << 20          // of a reply
)

// lostPolls is the context key of a counter of polls without a reply.
type lostPolls struct{}

// pollRetrier repeats polls until there is a reply.
type pollRetrier struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p pollRetrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it was only read
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("action") != "poll" {
		return p.tryOnce(r, body) // the call that creates a code, which nobody has seen yet
	}
	lost, _ := r.Context().Value(lostPolls{}).(*atomic.Int32)
	wait := backoff.ExponentialBackOff{InitialInterval: pollBackoff, MaxInterval: longestPoll, Multiplier: 2}
	for try := 1; ; try++ {
		resp, err := p.tryOnce(r, body)
		if err == nil || r.Context().Err() != nil {
			return resp, err
		}
		if lost != nil {
			lost.Add(1)
		}
		if try >= pollTries || openapi.Sleep(r.Context(), wait.NextBackOff()) != nil {
			return resp, err
		}
	}
}

var errGateway = i18n.Mistakef("飞书没有响应", "Feishu is not responding")

// tryOnce makes a call and reads the reply. A gateway's error counts as no reply.
func (p pollRetrier) tryOnce(r *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), openapi.CallTimeout)
	defer cancel()
	out := r.Clone(ctx)
	out.URL.Scheme = strings.TrimPrefix(r.URL.Scheme, pollScheme)
	out.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := p.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxPollBytes))
	if err == nil && resp.StatusCode >= http.StatusInternalServerError {
		err = errGateway
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, nil
}
