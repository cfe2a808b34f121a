package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"magpie/internal/embed"
	"magpie/internal/embed/embedtest"
)

func client(t *testing.T, alike ...[]string) (*embed.Client, *embedtest.Endpoint) {
	t.Helper()
	e, url := embedtest.Start(t, alike...)
	c := embed.New(embed.Config{URL: url, Model: embedtest.Model, Key: embedtest.Key, Limit: time.Minute})
	t.Cleanup(c.Close)
	return c, e
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Incorrect API key provided: "+embedtest.Key, code)
	}
}

func TestVectorsComeInTheOrderOfTheTexts(t *testing.T) {
	c, _ := client(t, []string{"cat", "猫"}, []string{"dog"})
	list, err := c.Embed(t.Context(), []string{"my cat", "the dog", "一只 猫"})
	if err != nil || len(list) != 3 || c.Dim() != len(list[0]) {
		t.Fatalf("%d vectors of length %d, %v", len(list), c.Dim(), err)
	}
	if same, other := embed.Cosine(list[0], list[2]), embed.Cosine(list[0], list[1]); same < 0.7 || other > 0.3 {
		t.Errorf("synonyms: %.2f, other words: %.2f", same, other)
	}
}

func TestCosine(t *testing.T) {
	for _, tc := range []struct {
		a, b embed.Vector
		want float64
	}{
		{embed.Vector{127, 0}, embed.Vector{50, 0}, 1},
		{embed.Vector{127, 0}, embed.Vector{0, 1}, 0},
		{embed.Vector{127, 0}, embed.Vector{0x81, 0}, -1}, // -127
		{embed.Vector{1, 1}, embed.Vector{1, 0}, math.Sqrt(0.5)},
		{embed.Vector{0, 0}, embed.Vector{1, 0}, 0},
	} {
		if got := embed.Cosine(tc.a, tc.b); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("Cosine(%v, %v) = %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

// Each invalid response is an error, and no error contains the key.
func TestBadAnswers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused": {status(400), "refused"},
		"bad key": {status(401), "status 401"},
		"broken":  {status(500), "status 500"},
		"no JSON": {text("<html>"), "malformed answer"},
		"nothing": {text("{}"), "0 vectors for 2 texts"},
		"too few": {text(`{"data":[{"index":0,"embedding":[1,0]}]}`), "1 vectors for 2 texts"},
		"one twice": {text(`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`),
			"index 0 of 2"},
		"index too big": {text(`{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`),
			"index 2 of 2"},
		"two lengths": {text(`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1]}]}`),
			"a vector of length 1"},
		"no direction": {text(`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}`),
			"without a direction"},
		"empty vector": {text(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`),
			"without a direction"},
		"text": {text(`{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":"AAAA"}]}`),
			"malformed answer"},
		"huge number": {text(`{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`),
			"malformed answer"},
		"huge vector": {text(`{"data":[{"index":0,"embedding":[` + strings.Repeat("1,", 5000) +
			`1]},{"index":1,"embedding":[1]}]}`), "a vector of length 5001"},
		"huge body": {text(strings.Repeat(" ", 1<<20)), "more than"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			fmt.Fprint(w, "{")
		}, "read the answer"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "status 307"},
	} {
		t.Run(name, func(t *testing.T) {
			c, e := client(t)
			e.Fail(tc.answer)
			_, err := c.Embed(t.Context(), []string{"a", "b"})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), embedtest.Key) {
				t.Errorf("the error contains the key: %v", err)
			}
			e.Fail(nil)
			if _, err := c.Embed(t.Context(), []string{"a", "b"}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// An endpoint whose vectors change their length is broken or a different one: they cannot be compared.
func TestTheLengthOfVectorsStays(t *testing.T) {
	c, e := client(t)
	if _, err := c.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	e.Fail(e.Dimensions(32))
	if _, err := c.Embed(t.Context(), []string{"a"}); err == nil ||
		!strings.Contains(err.Error(), "length 32 among those of length 128") {
		t.Errorf("err = %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	srv := httptest.NewServer(nil)
	url := srv.URL
	srv.Close()
	c := embed.New(embed.Config{URL: url + "/secret-path", Model: "m"})
	if _, err := c.Embed(t.Context(), []string{"a"}); err == nil || strings.Contains(err.Error(), "secret-path") {
		t.Errorf("err = %v", err)
	}
}

// hang answers when the caller has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// After five failures in a row calls fail at once for half a minute; then one call may try.
func TestTheBreakerOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := embedtest.New(t)
		c := embed.New(e.Config())
		call := func() error {
			_, err := c.Embed(t.Context(), []string{"a"})
			return err
		}
		e.Fail(hang)
		for range 5 {
			began := time.Now()
			if err := call(); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("err = %v", err)
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("a call took %v", took)
			}
		}
		closed := func(when string) {
			t.Helper()
			began, n := time.Now(), len(e.Calls())
			if err := call(); !errors.Is(err, gobreaker.ErrOpenState) || len(e.Calls()) != n || time.Since(began) > 0 {
				t.Errorf("%s: %v, %d calls, after %v", when, err, len(e.Calls())-n, time.Since(began))
			}
		}
		closed("after five failures")
		time.Sleep(29 * time.Second)
		closed("29 s later")
		time.Sleep(2 * time.Second)
		if err := call(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the try: %v", err)
		}
		closed("after a failed try")
		e.Fail(nil)
		time.Sleep(31 * time.Second)
		for range 2 {
			if err := call(); err != nil {
				t.Errorf("after the outage: %v", err)
			}
		}
	})
}

// Refused calls and calls that the caller cancelled do not count as an outage.
func TestTheBreakerStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := embedtest.New(t)
		c := embed.New(e.Config())
		e.Fail(status(400))
		for range 10 {
			if _, err := c.Embed(t.Context(), []string{"a"}); !errors.Is(err, embed.ErrRefused) {
				t.Errorf("refused: %v", err)
			}
		}
		e.Fail(hang)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if _, err := c.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		}
		e.Fail(nil)
		if _, err := c.Embed(t.Context(), []string{"a"}); err != nil {
			t.Error(err)
		}
	})
}

func TestAddresses(t *testing.T) {
	for url, good := range map[string]bool{
		"https://api.example.com/v1/embeddings": true, "http://127.0.0.1:11434/v1/embeddings": true,
		"": false, "api.example.com": false, "ftp://h/x": false, "file:///etc/passwd": false, "https://": false,
		"https://u:canary@h/x": false, "http://canary\x7f": false,
	} {
		err := embed.Config{URL: url}.Validate()
		if (err == nil) != good {
			t.Errorf("%q: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("the error contains the address: %v", err)
		}
	}
}
