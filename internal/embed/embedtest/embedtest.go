// Package embedtest is a loopback double of an embeddings endpoint, for tests. It checks its input strictly, and can be
// made to misbehave.
//
// Tests define what a search must find.
package embedtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"magpie/internal/embed"
)

// The model and key that the double accepts.
const (
	Model = "double-1"
	Key   = "emb-canary-key"
)

const path = "/v1/embeddings"

// Limits that clients must keep.
const (
	maxTexts = 64
	maxRunes = 2000
)

// Dims is the length of the vectors.
const Dims = 128

// Endpoint is the double.
type Endpoint struct {
	// Alike are words with the same meaning; the double knows no other meanings.
	Alike [][]string

	tb    testing.TB
	mu    sync.Mutex
	calls [][]string
	fault http.HandlerFunc
	model string
}

// New makes a double. A violation of its rules fails the test.
func New(tb testing.TB, alike ...[]string) *Endpoint {
	return &Endpoint{tb: tb, Alike: alike, model: Model}
}

// Start serves a double on the loopback interface, and returns its URL.
func Start(tb testing.TB, alike ...[]string) (*Endpoint, string) {
	e := New(tb, alike...)
	srv := httptest.NewServer(e)
	tb.Cleanup(srv.Close)
	return e, srv.URL + path
}

// Config connects to a double without a network: calls are function calls, so that time can be faked.
func (e *Endpoint) Config() embed.Config {
	return embed.Config{URL: "http://127.0.0.1:1" + path, Model: Model, Key: Key, Transport: e}
}

// RoundTrip implements http.RoundTripper.
func (e *Endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Fail makes f answer all calls from now on; nil = normal answers again.
func (e *Endpoint) Fail(f http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = f
}

// Rename gives the double another model.
func (e *Endpoint) Rename(model string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model = model
}

// Calls returns the texts of all calls so far.
func (e *Endpoint) Calls() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([][]string(nil), e.calls...)
}

// Texts returns all texts sent so far, one per line.
func (e *Endpoint) Texts() string {
	var b strings.Builder
	for _, call := range e.Calls() {
		for _, t := range call {
			b.WriteString(t + "\n")
		}
	}
	return b.String()
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	texts, err := e.read(r)
	if err != nil {
		e.tb.Errorf("embeddings: %v", err)
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	e.mu.Lock()
	e.calls = append(e.calls, texts)
	fault := e.fault
	e.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	e.answer(w, texts, Dims)
}

func (e *Endpoint) read(r *http.Request) ([]string, error) {
	e.mu.Lock()
	model := e.model
	e.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return nil, err
	}
	switch {
	case r.Method != http.MethodPost || r.URL.Path != path:
		return nil, fmt.Errorf("%s %s", r.Method, r.URL.Path)
	case r.Header.Get("Authorization") != "Bearer "+Key:
		return nil, fmt.Errorf("authorization %q", r.Header.Get("Authorization"))
	case r.Header.Get("Content-Type") != "application/json":
		return nil, fmt.Errorf("content type %q", r.Header.Get("Content-Type"))
	case q.Model != model || q.Format != "float":
		return nil, fmt.Errorf("model %q, format %q", q.Model, q.Format)
	case len(q.Input) == 0 || len(q.Input) > maxTexts:
		return nil, fmt.Errorf("%d texts", len(q.Input))
	}
	for _, t := range q.Input {
		if strings.TrimSpace(t) == "" || utf8.RuneCountInString(t) > maxRunes {
			return nil, fmt.Errorf("a text of %d runes", utf8.RuneCountInString(t))
		}
	}
	return q.Input, nil
}

// Dimensions answers with vectors of that length.
func (e *Endpoint) Dimensions(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		calls := e.Calls()
		e.answer(w, calls[len(calls)-1], n)
	}
}

func (e *Endpoint) answer(w http.ResponseWriter, texts []string, dims int) {
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	items := make([]item, len(texts))
	for i, t := range texts { // backwards: only the index counts, not the order
		items[len(texts)-1-i] = item{"embedding", i, e.vector(t, dims)}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": Model, "data": items}); err != nil {
		e.tb.Logf("embeddings: %v", err) // the caller is gone
	}
}

// vector is the sum of the directions of its words, which are random, and of the known meanings, which have more
// weight.
func (e *Endpoint) vector(text string, dims int) []float64 {
	v := make([]float64, dims)
	// The same word has the same direction in every run, since it seeds the generator.
	add := func(word string, weight float64) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word))
		r := rand.New(rand.NewPCG(h.Sum64(), 0))
		for i := range v {
			v[i] += weight * r.NormFloat64()
		}
	}
	for i, words := range e.Alike {
		for _, w := range words {
			if strings.Contains(text, w) {
				add(fmt.Sprintf("meaning %d", i), 3)
			}
		}
	}
	for _, w := range strings.Fields(text) {
		add(w, 1)
	}
	return v
}
