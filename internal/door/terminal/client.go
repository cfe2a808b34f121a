package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/door/api"
)

// Client is a terminal. Its methods wait for a service that is being restarted.
type Client struct {
	chat chat.Key
	http *http.Client

	mu   sync.Mutex
	said map[string]string // Idempotency-Keys by the IDs of what was said
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
	return &Client{chat: key, http: c, said: map[string]string{}}, probe.Close()
}

// NextID is the ID of a new message.
func (c *Client) NextID() string {
	key := uuid.NewString()
	id := api.MessageID(channel, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[id] = key
	return id
}

// isShown reports whether something is for this terminal: it is about what was said here, or about nothing that was said at
// a terminal.
func (c *Client) isShown(e api.Event) bool {
	about := e.To
	if e.Kind == api.Message {
		about = e.ID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, here := c.said[about]
	return here || c.chat.Channel == channel && (about == "" || chat.ChannelOf(about) != channel)
}

// Say says something, until the service has stored it. The same ID is the same message. An error that matches
// [chat.ErrNoChat], [chat.ErrDenied], [chat.ErrElsewhere] or [ErrRefused] is final.
func (c *Client) Say(ctx context.Context, id, text string) error {
	c.mu.Lock()
	key := c.said[id]
	c.mu.Unlock()
	return c.send(ctx, "messages", key, map[string]string{"text": text}, &struct{}{})
}

// Press presses a button of a card.
func (c *Client) Press(ctx context.Context, card string, a chat.Action, values map[string][]string) (toast string, err error) {
	var got api.Pressed
	err = c.send(ctx, "presses", uuid.NewString(), api.Press{Card: card, Action: a, Values: values}, &got)
	return got.Says, err
}

// send sends something until it is answered.
func (c *Client) send(ctx context.Context, path, idem string, in, out any) error {
	_, err := backoff.Retry(ctx, func() (bool, error) {
		return true, c.call(ctx, http.MethodPost, c.path(path), http.Header{"Idempotency-Key": {idem}}, in, out)
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
	return err
}

// path is an address of the chat.
func (c *Client) path(of string) string {
	return "/api/chats/" + url.PathEscape(c.chat.String()) + "/" + of
}

// waits are the waits for a service.
func waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 2*time.Second
	return b
}

// The statuses of errors after which a terminal does not try again.
var refusals = map[int]error{
	http.StatusNotFound: chat.ErrNoChat, http.StatusForbidden: chat.ErrDenied, http.StatusConflict: chat.ErrElsewhere,
}

// do sends one request. An error that is not permanent can be retried.
func (c *Client) do(ctx context.Context, method, path string, header http.Header, in any) (io.ReadCloser, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://magpie"+path, bytes.NewReader(data))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	r.Header = header
	got, err := c.http.Do(r)
	if err != nil {
		return nil, err
	} else if got.StatusCode < http.StatusMultipleChoices {
		return got.Body, nil
	}
	defer got.Body.Close() //nolint:errcheck // read only
	text, _ := io.ReadAll(io.LimitReader(got.Body, 1<<20))
	var problem struct{ Detail string }
	_ = json.Unmarshal(text, &problem) // or else it is a text
	err = cmp.Or(refusals[got.StatusCode], fmt.Errorf("%w: %s", ErrRefused, cmp.Or(problem.Detail, strings.TrimSpace(string(text)))))
	if got.StatusCode < http.StatusInternalServerError {
		return nil, backoff.Permanent(err)
	}
	return nil, err
}

// call sends one request, in as JSON, and reads the answer into out.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, in, out any) error {
	body, err := c.do(ctx, method, path, header, in)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	return json.NewDecoder(body).Decode(out)
}

// Call sends a request to [Door.Also] once, in as JSON, and reads the answer into out.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	return c.call(ctx, method, "/v1/"+path, nil, in, out)
}

// longestEvent is the size of the longest event, in bytes.
const longestEvent = 64 << 20

// Events passes on what is to be shown until ctx is done, or the service refuses. When the service is there, and when it
// is not there any more, status is called.
func (c *Client) Events(ctx context.Context, show func(api.Event), status func(connected bool)) error {
	path, header := c.path("events?from=now"), http.Header{}
	wait, there := waits(), true
	_, err := backoff.Retry(ctx, func() (bool, error) {
		body, err := c.do(ctx, http.MethodGet, path, header, nil)
		if err != nil {
			return false, err
		}
		defer body.Close() //nolint:errcheck // read only
		wait.Reset()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, longestEvent)
		for here := false; lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				header.Set("Last-Event-ID", id)
			}
			if !here { // the first line says from where on
				here, there = true, true
				status(true)
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e api.Event
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					return false, backoff.Permanent(err)
				}
				if c.isShown(e) {
					show(e)
				}
			}
		}
		return false, cmp.Or(lines.Err(), io.EOF)
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(error, time.Duration) {
		if there {
			there = false
			status(false)
		}
	}))
	return err
}

// Fetch writes a file that was shown to w.
func (c *Client) Fetch(ctx context.Context, file api.File, w io.Writer) error {
	body, err := c.do(ctx, http.MethodGet, file.URL, nil, nil)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	_, err = io.Copy(w, body)
	return err
}
