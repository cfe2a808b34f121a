package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/door/doortest"
	"magpie/internal/door/terminal"
)

// apiDoor is the door of programs, by the plain API: each is one person.
func apiDoor(t *testing.T) doortest.Door {
	door := terminalDoor(t)
	door.New = func(t *testing.T, o doortest.Options) doortest.Service {
		return &apiHouse{terminalHouse: newTerminalHouse(t, o)}
	}
	return door
}

func TestTheAPIIsADoor(t *testing.T) {
	t.Parallel()
	doortest.Run(t, apiDoor(t))
}

// apiHouse is a service with programs.
type apiHouse struct {
	terminalHouse
	secret string
	token  string // its ID
}

func (h *apiHouse) Start(failpoint string) {
	h.terminalHouse.Start(failpoint)
	if h.secret != "" {
		return
	}
	admin, err := terminal.Dial(h.Context(), h.folder, terminal.Main)
	must(h.service, err)
	var got serviceAnswer[tokenAnswer]
	must(h.service, admin.Call(h.Context(), http.MethodPost, "commands/tokens", serviceCall[programs.Token]{In: programs.Token{Name: "suite"}}, &got))
	h.secret = got.Out.Secret
	must(h.service, admin.Call(h.Context(), http.MethodPost, "commands/tokens/list", serviceCall[programs.Token]{}, &got))
	h.token = got.Out.Tokens[0].ID
}

// call sends a request until the service has answered it, also the next one after a crash.
func (h *apiHouse) call(ctx context.Context, method, path string, header http.Header, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	for {
		if all := listensAt.FindAllStringSubmatch(h.Log(), -1); len(all) > 0 {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+all[len(all)-1][1]+path, bytes.NewReader(data))
			if err != nil {
				return nil, err
			}
			r.Header = header.Clone()
			r.Header.Set("Authorization", "Bearer "+h.secret)
			resp, err := http.DefaultClient.Do(r)
			if err == nil && resp.StatusCode < http.StatusInternalServerError {
				return resp, nil
			} else if err == nil {
				_ = resp.Body.Close()
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// gets is the answer to a request.
func (h *apiHouse) gets(path string, header http.Header, body any) (gjson.Result, error) {
	resp, err := h.call(h.Context(), http.MethodPost, path, header, body)
	if err != nil {
		return gjson.Result{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %s", resp.Status, data)
	}
	return gjson.ParseBytes(data), err
}

func (h *apiHouse) Open(int) doortest.Room {
	got, err := h.gets("/api/chats", http.Header{}, map[string]string{})
	must(h.service, err)
	r := &apiRoom{shownThere: shownThere{news: h.news}, house: h, path: "/api/chats/" + got.Get("chat").String(), said: map[string]string{}, keys: map[string]string{}}
	here := make(chan struct{})
	go r.listen(here)
	<-here
	return r
}

// apiRoom is what one program is told of its chat.
type apiRoom struct {
	shownThere
	house      *apiHouse
	path       string
	said, keys map[string]string // texts and idempotency keys by ID
}

// listen reads the events, after a cut from where it was, until the test ends.
func (r *apiRoom) listen(here chan struct{}) {
	header := http.Header{}
	for first := true; ; first = false {
		resp, err := r.house.call(r.house.Context(), http.MethodGet, r.path+"/events", header, nil)
		if err != nil {
			return
		}
		if first {
			close(here)
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				header.Set("Last-Event-ID", id)
			} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				r.take(data)
			}
		}
		_ = resp.Body.Close()
	}
}

// take takes in an event.
func (r *apiRoom) take(event string) {
	var e api.Event
	must(r.house.service, json.Unmarshal([]byte(event), &e))
	var file []byte
	if e.Kind == api.KindFile {
		resp, err := r.house.call(r.house.Context(), http.MethodGet, e.File.URL, http.Header{}, nil)
		must(r.house.service, err)
		file, err = io.ReadAll(resp.Body)
		must(r.house.service, errors.Join(err, resp.Body.Close()))
	}
	r.show(e, file)
}

// Say says something. A service that dies meanwhile gets it once more when it runs again; its ID is known by then.
func (r *apiRoom) Say(_ doortest.Person, text string) string {
	key := uuid.NewString()
	stored, died := make(chan string, 1), r.house.done
	go func() {
		got, _ := r.house.gets(r.path+"/messages", http.Header{"Idempotency-Key": {key}}, map[string]string{"text": text})
		stored <- got.Get("id").String() // until the test ends
	}()
	id := api.MessageID(chat.HTTP, r.house.token+"\x00"+key, "")
	select {
	case got := <-stored:
		if got != id {
			r.house.Errorf("the ID of a message is %q", got)
		}
	case <-died: // the next service gets it
	}
	r.said[id], r.keys[id] = text, key
	return id
}

func (r *apiRoom) Again(id string) {
	_, err := r.house.gets(r.path+"/messages", http.Header{"Idempotency-Key": {r.keys[id]}}, map[string]string{"text": r.said[id]})
	must(r.house.service, err)
}

func (r *apiRoom) Press(_ doortest.Person, on doortest.Shown, a chat.Action) (string, error) {
	got, err := r.house.gets(r.path+"/presses", http.Header{}, map[string]any{"card": on.ID, "action": a})
	return got.Get("says").String(), err
}
