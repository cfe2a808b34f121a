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
	"os"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"magpie/internal/chat"
)

// Client is a terminal. Its methods wait for a service that is being restarted.
type Client struct {
	id, folder string
	chat       chat.Key
	http       *http.Client
	said       atomic.Uint64 // messages and presses so far
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
	c := &http.Client{Transport: &http.Transport{DialContext: connect}}
	return &Client{id: uuid.NewString(), folder: folder, chat: key, http: c}, probe.Close()
}

// NextID is the ID of a new message or press.
func (c *Client) NextID() string {
	return fmt.Sprintf("%s:%s.%d", channel, c.id, c.said.Add(1))
}

// Say says something, until the service has stored it. The same ID is the same message. An error that matches
// [chat.ErrNoChat], [chat.ErrDenied], [chat.ErrElsewhere] or [ErrRefused] is final.
func (c *Client) Say(ctx context.Context, id, text string) error {
	_, err := c.send(ctx, said{ID: id, Chat: c.chat.String(), Text: text})
	return err
}

// Press presses a button of a card.
func (c *Client) Press(ctx context.Context, card string, a chat.Action, values map[string][]string) (string, error) {
	return c.send(ctx, said{ID: c.NextID(), Chat: c.chat.String(), Card: card, Action: a, Values: values})
}

// send sends something until it is answered.
func (c *Client) send(ctx context.Context, s said) (toast string, err error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return backoff.Retry(ctx, func() (string, error) {
		body, err := c.do(ctx, http.MethodPost, "said", data)
		if err != nil {
			return "", err
		}
		defer body.Close() //nolint:errcheck // read only
		toast, err := io.ReadAll(body)
		return string(toast), err
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
}

// waits are the waits for a service.
func waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 2*time.Second
	return b
}

// do sends one request. An error that is not permanent can be retried.
func (c *Client) do(ctx context.Context, method, path string, data []byte) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://magpie/v1/"+path, bytes.NewReader(data))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	got, err := c.http.Do(r)
	if err != nil {
		return nil, err
	} else if got.StatusCode == http.StatusOK {
		return got.Body, nil
	}
	defer got.Body.Close() //nolint:errcheck // read only
	text, _ := io.ReadAll(io.LimitReader(got.Body, maxBytes))
	err = fmt.Errorf("%w: %s", ErrRefused, bytes.TrimSpace(text))
	for refusal, status := range refusals {
		if status == got.StatusCode {
			err = refusal
		}
	}
	if got.StatusCode < http.StatusInternalServerError {
		return nil, backoff.Permanent(err)
	}
	return nil, err
}

// Call sends a request to [Door.Also] once, in as JSON, and reads the answer into out.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	body, err := c.do(ctx, method, path, data)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	return json.NewDecoder(body).Decode(out)
}

// Events passes on what is to be shown until ctx is done, or the service refuses. When the service is there, and when it
// is not there any more, status is called.
func (c *Client) Events(ctx context.Context, show func(Event), status func(connected bool)) error {
	query := url.Values{"terminal": {c.id}, "chat": {c.chat.String()}}.Encode()
	wait, there := waits(), true
	_, err := backoff.Retry(ctx, func() (bool, error) {
		body, err := c.do(ctx, http.MethodGet, "events?"+query, nil)
		if err != nil {
			return false, err
		}
		defer body.Close() //nolint:errcheck // read only
		events := json.NewDecoder(body)
		for first := true; ; first = false {
			var e Event
			if err := events.Decode(&e); err != nil {
				return false, err
			}
			if !first {
				show(e)
				continue
			}
			wait.Reset()
			there = true
			status(true)
		}
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(error, time.Duration) {
		if there {
			there = false
			status(false)
		}
	}))
	return err
}

// Fetch writes a file to w. It is in the service's folder, which whoever may open the socket may read.
func (c *Client) Fetch(_ context.Context, key string, w io.Writer) error {
	f, err := os.OpenInRoot(filesIn(c.folder), key)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	_, err = io.Copy(w, f)
	return err
}
