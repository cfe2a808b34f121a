package openapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// retrying is a client that gets a new token each time, without a server.
func retrying() *Client {
	c, n := New(Config{Pace: 1}, zerolog.Nop()), 0
	c.tokens.fetch = func(context.Context) (gjson.Result, error) {
		n++
		return gjson.Parse(fmt.Sprintf(`{"tenant_access_token":"t-%d","expire":7200}`, n)), nil
	}
	return c
}

func TestRequestsAreRepeatedUntilTheirOutcomeIsKnown(t *testing.T) {
	tests := []struct {
		err   error
		calls int
	}{
		{&Error{Code: 230001, Status: 400}, 1},
		{&Error{Code: 230002, Status: 400}, 1},
		{&Error{Status: 502}, 4},
		{&Error{Code: 99991400, Status: 429}, 4},
		{&Error{Code: 200810, Status: 400}, 4},
		{context.Canceled, 1},
		{nil, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := retrying().retry(t.Context(), Request{Tries: 4}, func(string) error { calls++; return tt.err })
			if calls != tt.calls || !errors.Is(err, tt.err) {
				t.Errorf("%v: %d calls, want %d; %v", tt.err, calls, tt.calls, err)
			}
		})
	}
}

// After too many calls the client waits as long as the platform says, also if a gateway answers without a code.
func TestTheResetOfARateLimitIsAwaited(t *testing.T) {
	for _, body := range []string{`{"code":99991400,"msg":"request trigger frequency limit"}`, "<html>", "{}"} {
		for reset, want := range map[string]time.Duration{
			"7": 7 * time.Second, "0.5": time.Second, "": time.Second, "soon": time.Second, "86400": time.Minute,
		} {
			answer := &larkcore.ApiResp{StatusCode: http.StatusTooManyRequests, RawBody: []byte(body), Header: http.Header{}}
			answer.Header.Set("X-Ogw-Ratelimit-Reset", reset)
			_, err := parseAnswer("send", answer)
			if wait, again := pauseFor(err, &backoff.ExponentialBackOff{}); !again || wait != want {
				t.Errorf("%s, reset %q: wait %v, %v", body, reset, wait, again)
			}
		}
	}
}

func TestARefusedTokenIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens []string
		before := 0
		r := Request{Tries: 4, Before: func(context.Context) error { before++; return nil }}
		err := retrying().retry(t.Context(), r, func(token string) error {
			tokens = append(tokens, token)
			if len(tokens) == 2 {
				return &Error{Status: 502}
			}
			return &Error{Code: 99991663, Status: 400}
		})
		if ClassOf(err) != BadToken || !slices.Equal(tokens, []string{"t-1", "t-2", "t-2", "t-3", "t-4"}) ||
			before != 2 {
			t.Errorf("%v, tokens %v, %d tries", err, tokens, before)
		}
	})
}

func TestARepairedRequestHasAsManyTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		refused, calls := &Error{Code: 300317, Status: 400}, 0
		r := Request{Tries: 3, Repair: func(_ context.Context, err error) error {
			if said = append(said, "repair"); ClassOf(err) != SequenceUsed || len(said) > 5 {
				return err
			}
			return nil
		}}
		err := retrying().retry(t.Context(), r, func(string) error {
			calls++
			said = append(said, "call")
			if calls == 2 || calls == 3 {
				return &Error{Status: 502}
			}
			return refused
		})
		if want := []string{"call", "repair", "call", "call", "call", "repair"}; !errors.Is(err, refused) ||
			!slices.Equal(said, want) {
			t.Errorf("%v after %v", err, said)
		}
	})
}

// A call whose outcome is unknown after all retries is not repaired.
func TestAnUnknownOutcomeIsNotRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Request{Tries: 2, Repair: func(context.Context, error) error { t.Error("repaired"); return nil }}
		if err := retrying().retry(t.Context(), r,
			func(string) error { return &Error{Status: 502} }); ClassOf(err) != Unknown {
			t.Error(err)
		}
		stop := errors.New("stop")
		r = Request{Tries: 2, Before: func(context.Context) error { return stop }}
		if err := retrying().retry(t.Context(), r,
			func(string) error { t.Error("called"); return nil }); !errors.Is(err, stop) {
			t.Error(err)
		}
	})
}
