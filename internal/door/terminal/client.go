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
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/i18n"
)

// Client is a terminal. Its methods wait for a service that is being restarted.
type Client struct {
	// Alone leaves out what is about nothing that was said here.
	Alone bool

	id   string
	chat chat.Key
	http *http.Client
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
	return &Client{id: uuid.NewString(), chat: key, http: c}, probe.Close()
}

// ID is the ID of a message with that Idempotency-Key.
func (c *Client) ID(key string) string { return api.MessageID(channel, key, c.id) }

// isShown reports whether something is for this terminal: it is about what was said or shown here, or in a chat of terminals
// about nothing of a terminal.
func (c *Client) isShown(e api.Event) bool {
	about := e.To
	if e.Kind == api.KindMessage {
		about = e.ID
	}
	at := api.TerminalOf(about)
	return at == c.id || at == "" && !c.Alone && c.chat.Channel == channel
}

// Say says something, until the service has stored it. The same key is the same message. An error that matches
// [chat.ErrNoChat], [chat.ErrDenied], [chat.ErrElsewhere] or [ErrRefused] is final.
func (c *Client) Say(ctx context.Context, key, text string) error {
	return c.send(ctx, "messages?terminal="+c.id, key, map[string]string{"text": text}, &struct{}{})
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
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://magpie"+path, body)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	maps.Copy(r.Header, header)
	got, err := c.http.Do(r)
	if err != nil {
		return nil, err
	} else if got.StatusCode < http.StatusMultipleChoices {
		return got.Body, nil
	}
	defer got.Body.Close() //nolint:errcheck // read only
	text, _ := io.ReadAll(io.LimitReader(got.Body, 1<<20))
	var problem struct{ Detail string }
	switch isProblem := json.Unmarshal(text, &problem) == nil; { // or else it is a text
	case isProblem:
		err = cmp.Or(refusals[got.StatusCode], fmt.Errorf("%w: %s", ErrRefused, problem.Detail))
	case got.StatusCode == http.StatusNotFound:
		err = i18n.Mistakef("正在运行的服务和这个命令版本不同：请重启服务", "the service that runs is another version than this command: restart it")
	default:
		err = fmt.Errorf("%w: %s", ErrRefused, strings.TrimSpace(string(text)))
	}
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
	path, header := c.path("events?from=now&terminal="+c.id), http.Header{}
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

// Fetch returns the content of a file that was shown.
func (c *Client) Fetch(ctx context.Context, file api.File) ([]byte, error) {
	return backoff.Retry(ctx, func() ([]byte, error) {
		body, err := c.do(ctx, http.MethodGet, file.URL, nil, nil)
		if err != nil {
			return nil, err
		}
		defer body.Close() //nolint:errcheck // read only
		return io.ReadAll(body)
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
}
