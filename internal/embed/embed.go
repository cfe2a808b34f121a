// Package embed is a client for an OpenAI-compatible embeddings endpoint. It returns a vector for each text; texts with
// a similar meaning have vectors of a similar direction.
//
// It does not decide which texts get a vector, nor store vectors.
package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"magpie/internal/i18n"
)

// Batch is how many texts one call may carry.
const Batch = 64

// Limits of one call.
const (
	callLimit = 2 * time.Second // default timeout
	maxDims   = 4096
	maxHead   = 64 << 10     // bytes of a response besides the vectors
	maxVector = maxDims * 32 // bytes of a vector as JSON
)

// After this many consecutive failures the circuit opens for a while; then one call may try.
const (
	maxFailures = 5
	openTimeout = 30 * time.Second
)

// ErrRefused matches the error of a call whose texts the endpoint rejects. Other texts may be accepted.
var ErrRefused = errors.New("refused")

// Config describes the endpoint.
type Config struct {
	URL   string // the complete URL, such as https://host/v1/embeddings
	Model string
	Key   string // sent as a bearer token; empty = none

	// Limit is the timeout of a call; 0 is two seconds. Tests on a busy machine use more.
	Limit time.Duration
	// Transport makes the calls; nil = the network.
	Transport http.RoundTripper
}

// Validate reports a mistake in the URL without quoting it: it may contain a secret.
func (c Config) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return i18n.Mistakef("应为地址，例如 https://host/v1/embeddings",
			"must be an address such as https://host/v1/embeddings")
	case u.User != nil:
		return i18n.Mistakef("地址里不能有用户名或密码", "must not hold a user or a password")
	}
	return nil
}

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	cfg     Config
	http    *http.Client
	breaker *gobreaker.CircuitBreaker[[]Vector]
	dim     atomic.Int64 // of all vectors; 0 = unknown yet
}

// New returns a client. It makes no call yet.
func New(c Config) *Client {
	if c.Transport == nil {
		c.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &Client{
		cfg: c,
		http: &http.Client{
			Transport: c.Transport, Timeout: cmp.Or(c.Limit, callLimit),
			// No redirects: texts and key are for the configured host only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		breaker: gobreaker.NewCircuitBreaker[[]Vector](gobreaker.Settings{
			Timeout:      openTimeout,
			ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
			IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, ErrRefused) },
			IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) }, // the caller canceled it
		}),
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Model is the name of the vectors' model.
func (c *Client) Model() string { return c.cfg.Model }

// Dim is the length of the endpoint's vectors; 0 = unknown yet.
func (c *Client) Dim() int { return int(c.dim.Load()) }

// Embed returns the vectors of texts, at most [Batch], in their order. It takes at most [Config.Limit], and fails at
// once while the circuit is open. Its errors contain neither texts nor the key, and only the host of the URL.
func (c *Client) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	list, err := c.breaker.Execute(func() ([]Vector, error) { return c.call(ctx, texts) })
	if err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	return list, nil
}

// request has the format of OpenAI's embeddings API, which other servers imitate.
type request struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

type response struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// call omits URL and body from its errors: both may contain a key, and errors are logged.
func (c *Client) call(ctx context.Context, texts []string) ([]Vector, error) {
	body, err := json.Marshal(request{Model: c.cfg.Model, Input: texts, Format: "float"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("bad address")
	}
	req.Header.Set("Content-Type", "application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the URL
		}
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	most := maxHead + maxVector*len(texts)
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity},
		resp.StatusCode):
		return nil, fmt.Errorf("%w: status %d", ErrRefused, resp.StatusCode)
	case resp.StatusCode != http.StatusOK: // the body is omitted: it may repeat the key
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case len(data) > most:
		return nil, fmt.Errorf("the answer has more than %d bytes", most)
	}
	var answer response
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, errors.New("malformed answer")
	}
	return c.vectors(answer, len(texts))
}

// vectors sorts the vectors of n texts by index. All vectors of an endpoint must have one length.
func (c *Client) vectors(answer response, n int) ([]Vector, error) {
	if len(answer.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(answer.Data), n)
	}
	list, dim := make([]Vector, n), c.Dim()
	// By index, because the API does not promise the order.
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= n || list[d.Index] != nil {
			return nil, fmt.Errorf("no or two vectors for a text, index %d of %d", d.Index, n)
		}
		v, err := vectorOf(d.Embedding)
		if err != nil {
			return nil, err
		}
		// A different model behind the same name would make stored vectors useless, so a change of the length is an
		// error.
		if dim = cmp.Or(dim, len(v)); len(v) != dim {
			return nil, fmt.Errorf("a vector of length %d among those of length %d", len(v), dim)
		}
		list[d.Index] = v
	}
	c.dim.Store(int64(dim))
	return list, nil
}
