package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"magpie/internal/chat"
)

// Client is a terminal. Its methods wait for a service that is being restarted.
type Client struct {
	id   string
	chat chat.Key
	http *http.Client
	said atomic.Uint64 // messages and presses so far
}

// ErrRefused means that the service does not take a request, however often it is repeated.
var ErrRefused = errors.New("refused")

// Dial makes a terminal that talks in a chat, at the service whose socket is in this folder. The service must run.
func Dial(ctx context.Context, folder string, key chat.Key) (*Client, error) {
	path := SocketPath(folder)
	if err := checkPath(path); err != nil {
		return nil, err
	}
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	probe, err := connect(ctx, "", "")
	if err != nil {
		return nil, err
	}
	return &Client{
		id: uuid.NewString(), chat: key, http: &http.Client{Transport: &http.Transport{DialContext: connect}},
	}, probe.Close()
}

// NextID is the ID of a new message or press.
func (c *Client) NextID() string {
	return fmt.Sprintf("%s:%s.%d", channel, c.id, c.said.Add(1))
}

// Say says something, until the service has stored it. The same ID is the same message.
func (c *Client) Say(ctx context.Context, id, text string) error {
	_, err := c.post(ctx, "messages", Message{ID: id, Chat: c.chat.String(), Text: text})
	return err
}

// Press presses a button of a card.
func (c *Client) Press(ctx context.Context, card string, a chat.Action, values map[string][]string) (string, error) {
	return c.post(ctx, "presses", Press{
		ID: c.NextID(), Chat: c.chat.String(), Card: card, Action: a, Values: values,
	})
}

// post sends a request until it is answered.
func (c *Client) post(ctx context.Context, what string, v any) (toast string, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return backoff.Retry(ctx, func() (string, error) {
		r, err := c.do(ctx, http.MethodPost, what, data)
		if err != nil {
			return "", err
		}
		defer r.Body.Close() //nolint:errcheck // read only
		var a answer
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			return "", err
		}
		return a.Toast, nil
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
}

// waits are the waits for a service.
func waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 2*time.Second
	return b
}

// do sends one request. An error that is not permanent can be retried.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://magpie/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	got, err := c.http.Do(r)
	if err != nil || got.StatusCode == http.StatusOK {
		return got, err
	}
	defer got.Body.Close() //nolint:errcheck // read only
	text, _ := io.ReadAll(io.LimitReader(got.Body, maxBytes))
	var a answer
	if json.Unmarshal(text, &a) != nil {
		a.Error = string(bytes.TrimSpace(text))
	}
	if method == http.MethodPost && got.StatusCode == http.StatusNotFound {
		return nil, backoff.Permanent(chat.ErrNoChat)
	}
	err = fmt.Errorf("%w (%s): %s", ErrRefused, strconv.Itoa(got.StatusCode), a.Error)
	if got.StatusCode < http.StatusInternalServerError {
		return nil, backoff.Permanent(err)
	}
	return nil, err
}

// Events passes on what is to be shown until ctx is done, or the service refuses. When the service is there, and when it
// is not there any more, status is called.
func (c *Client) Events(ctx context.Context, show func(Event), status func(connected bool)) error {
	query := url.Values{"terminal": {c.id}, "chat": {c.chat.String()}}.Encode()
	wait, there := waits(), true
	for {
		err := c.stream(ctx, "events?"+query, show, func() { wait.Reset(); there = true; status(true) })
		var permanent *backoff.PermanentError
		if ctx.Err() != nil || errors.As(err, &permanent) {
			return errors.Join(ctx.Err(), err)
		}
		if there {
			there = false
			status(false)
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
		}
	}
}

// stream passes on the events of one connection.
func (c *Client) stream(ctx context.Context, path string, show func(Event), connected func()) error {
	r, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close() //nolint:errcheck // read only
	events := json.NewDecoder(r.Body)
	for first := true; ; first = false {
		var e Event
		if err := events.Decode(&e); err != nil {
			return err
		}
		if first {
			connected()
			continue
		}
		show(e)
	}
}

// Fetch writes a file to w, and lets the service delete it.
func (c *Client) Fetch(ctx context.Context, key string, w io.Writer) error {
	path := "files/" + url.PathEscape(key)
	r, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close() //nolint:errcheck // read only
	if _, err := io.Copy(w, r.Body); err != nil {
		return err
	}
	if r, err := c.do(ctx, http.MethodDelete, path, nil); err == nil {
		return r.Body.Close()
	}
	return nil // it goes when there is no room for it
}
