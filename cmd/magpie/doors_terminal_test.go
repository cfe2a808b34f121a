package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/door/doortest"
	"magpie/internal/door/terminal"
	"magpie/internal/operator/config"
)

// terminalDoor is the door of whoever may run commands as the service's user, who is one person.
func terminalDoor(t *testing.T) doortest.Door {
	return doortest.Door{
		New: func(t *testing.T, o doortest.Options) doortest.Service { return newTerminalHouse(t, o) },
		Steps: slices.DeleteFunc(ordinarySteps(t), func(step string) bool {
			return step == "card: made" // in Feishu, before it is sent
		}),
		Files: true,
	}
}

func TestTheTerminalIsADoor(t *testing.T) {
	t.Parallel()
	doortest.Run(t, terminalDoor(t))
}

// terminalHouse is a service with terminals.
type terminalHouse struct {
	house
	folder string // of the socket
	*news
}

// news is whether something has been shown.
type news struct {
	mu   sync.Mutex // also of all that is shown
	more chan struct{}
}

func newTerminalHouse(t *testing.T, o doortest.Options) terminalHouse {
	t.Helper()
	dir, err := os.MkdirTemp("", "door") // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "magpie.db")
	must(t, dbtest.Write(path))
	h := newHouse(t, o, func(c *config.Config) { inDatabase(c, path) })
	return terminalHouse{h, filepath.Join(dir, terminalFolder), &news{more: make(chan struct{})}}
}

func (h terminalHouse) Start(failpoint string) {
	h.house.Start(failpoint)
	h.until("the socket", func() bool {
		_, err := terminal.Dial(h.Context(), h.folder, terminal.Main)
		return err == nil
	})
}

func (h terminalHouse) Await(ctx context.Context, cond func() bool) error {
	for {
		h.mu.Lock()
		more := h.more
		h.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (h terminalHouse) Open(int) doortest.Room {
	ctx := h.Context()
	client, err := terminal.Dial(ctx, h.folder, chat.Key{Channel: terminal.Main.Channel, Kind: "chat", ID: uuid.NewString()})
	must(h.service, err)
	r := &terminalRoom{Client: client, shownThere: shownThere{news: h.news}, house: h, said: map[string]string{}, keys: map[string]string{}}
	here, once := make(chan struct{}), sync.Once{}
	go func() {
		_ = client.Events(ctx, r.take, func(bool) { once.Do(func() { close(here) }) }) // until the test ends
	}()
	<-here
	return r
}

// shownThere is what has been shown in a room.
type shownThere struct {
	*news
	list []shownItem
}

// shownItem is something that answers a message.
type shownItem struct {
	doortest.Shown
	to string
}

// show takes in an event, with the content of its file.
func (r *shownThere) show(e api.Event, data []byte) {
	if e.Kind == api.KindMessage {
		return
	}
	s := doortest.Shown{ID: e.ID, Live: e.Live, Data: data, Text: strings.TrimSpace(e.Status + "\n" + e.Text)}
	look := []string{e.Title, s.Text, e.Footer}
	for _, p := range e.Panels {
		look = append(look, p.Title, p.Text)
	}
	for _, b := range e.Buttons {
		s.Buttons = append(s.Buttons, chat.Button{Label: b.Label, Action: b.Action})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(old shownItem) bool { return old.ID == s.ID })
	if i < 0 {
		i = len(r.list)
		r.list = append(r.list, shownItem{to: e.To})
	}
	s.Looks = append(slices.Clone(r.list[i].Looks), strings.Join(look, "\n"))
	r.list[i].Shown = s
	close(r.more)
	r.more = make(chan struct{})
}

func (r *shownThere) Answers(id string) (list []doortest.Shown) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		if s.to == id {
			list = append(list, s.Shown)
		}
	}
	return list
}

// terminalRoom is what one terminal shows.
type terminalRoom struct {
	*terminal.Client
	shownThere
	house      terminalHouse
	said, keys map[string]string // texts and idempotency keys by ID
}

// take takes in an event.
func (r *terminalRoom) take(e api.Event) {
	var file []byte
	if e.Kind == api.KindFile {
		var err error
		if file, err = r.Fetch(r.house.Context(), *e.File); err != nil {
			r.house.Errorf("the file: %v", err)
		}
	}
	r.show(e, file)
}

func (r *terminalRoom) Say(_ doortest.Person, text string) string {
	key := uuid.NewString()
	id := r.ID(key)
	r.said[id], r.keys[id] = text, key
	stored, died := make(chan struct{}), r.house.done
	go func() {
		defer close(stored)
		_ = r.Client.Say(r.house.Context(), key, text) // until the test ends
	}()
	select {
	case <-stored:
	case <-died: // the next service gets it
	}
	return id
}

func (r *terminalRoom) Again(id string) {
	must(r.house.service, r.Client.Say(r.house.Context(), r.keys[id], r.said[id]))
}

func (r *terminalRoom) Press(_ doortest.Person, on doortest.Shown, a chat.Action) (string, error) {
	return r.Client.Press(r.house.Context(), on.ID, a, nil)
}
