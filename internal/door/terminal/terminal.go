// Package terminal is the door for whoever may run commands as the service's user: people at a terminal of the same
// machine, or programs that pipe a question in. Its [Door] is the service's side, a private unix socket; [Client] is the
// side of the terminal.
//
// It neither draws nor reads what people type.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// channel is that of the door.
const channel = chat.Terminal

// Main is the chat in which a terminal talks if it names no other.
var Main = chat.Key{Channel: channel, Kind: "chat", ID: "main"}

// Event is something that a terminal is to show; one of Text, Card, Reaction, File is set. An ID that was shown before
// means the same object again.
type Event struct {
	To       string         `json:"to,omitempty"` // the message that it answers, or the card that is redrawn
	ID       string         `json:"id,omitempty"` // of the text, card or file
	Text     string         `json:"text,omitempty"`
	Card     *chat.Card     `json:"card,omitempty"`
	Asks     bool           `json:"asks,omitempty"`     // people decide by the card what an agent may do
	Closed   bool           `json:"closed,omitempty"`   // this is the card's final state
	Reaction *chat.Reaction `json:"reaction,omitempty"` // to the message To
	File     string         `json:"file,omitempty"`     // the key with which it is fetched
	Name     string         `json:"name,omitempty"`     // of the file
}

// Door is the service's side. A terminal chooses an ID, with which those of all its messages begin, and those of what
// answers them: after a restart it follows from an ID alone which terminal is meant.
type Door struct {
	// Also serves other requests of whoever may use the socket, below /v1/; nil = nothing.
	Also http.Handler

	folder string
	began  time.Time
	health atomic.Pointer[door.Health]

	mu        sync.Mutex
	terminals map[string]*view // by their IDs
}

// New makes the door whose socket is in this folder, which is its own. The agents must not reach it.
func New(folder string) (*Door, error) {
	if err := checkPath(SocketPath(folder)); err != nil {
		return nil, err
	}
	d := &Door{folder: folder, began: time.Now(), terminals: map[string]*view{}}
	d.health.Store(&door.Health{})
	return d, nil
}

// OwnerIDs are the IDs of those who may use the socket: the user that runs the service, and root.
func OwnerIDs() []string { return slices.Compact([]string{actorID(os.Geteuid()), actorID(0)}) }

func actorID(uid int) string { return channel + ":" + strconv.Itoa(uid) }

// Channel implements [door.Door].
func (d *Door) Channel() string { return channel }

// Traits implements [door.Door].
func (d *Door) Traits() door.Traits {
	return door.Traits{Name: i18n.Phrase{ZH: "终端", EN: "the terminal"}}
}

// Health implements [door.Door].
func (d *Door) Health() door.Health { return *d.health.Load() }

// Reply implements [door.Door].
func (d *Door) Reply(_ context.Context, to chat.Ref, text, idem string) (string, error) {
	return d.show(to, idem, Event{Text: text})
}

// Post implements [door.Door].
func (d *Door) Post(_ context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	return d.show(to, idem, Event{Card: &card, Asks: card.Asks})
}

// Edit implements [door.Door].
func (d *Door) Edit(_ context.Context, cardID string, card chat.Card) error {
	_, err := d.show(chat.Ref{ID: cardID}, "", Event{ID: cardID, Card: &card, Asks: card.Asks})
	return err
}

// Close implements [door.Door].
func (d *Door) Close(_ context.Context, cardID string, card chat.Card) error {
	_, err := d.show(chat.Ref{ID: cardID}, "", Event{ID: cardID, Card: &card, Asks: card.Asks, Closed: true})
	return err
}

// pace is the time between two drawings of a growing answer.
const pace = 100 * time.Millisecond

// Ready implements [door.Pacer]. The first drawing waits for nothing.
func (d *Door) Ready(ctx context.Context, cardID string) error {
	d.mu.Lock()
	v := d.terminals[terminalOf(cardID)]
	d.mu.Unlock()
	if v == nil { // the drawing fails
		return ctx.Err()
	}
	select {
	case <-time.After(v.untilNext()):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// SetReaction implements [door.Reactor].
func (d *Door) SetReaction(_ context.Context, to chat.Ref, r chat.Reaction) error {
	_, err := d.show(to, "", Event{Reaction: &r})
	return err
}

// kept is how long files stay for terminals that have not fetched them yet.
const kept = time.Hour

func filesIn(folder string) string { return filepath.Join(folder, "files") }

// Upload implements [door.Attacher]: the terminal reads the file from there.
func (d *Door) Upload(_ context.Context, _ chat.Ref, u chat.Upload) (name string, err error) {
	folder := filesIn(d.folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	old, _ := os.ReadDir(folder)
	for _, e := range old {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > kept {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	name = uuid.NewString() + "-" + cmp.Or(safepath.FileName(u.Name), "file")
	return name, os.WriteFile(filepath.Join(folder, name), u.Data, 0o600)
}

// Attach implements [door.Attacher].
func (d *Door) Attach(_ context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	own := name[min(len(name), len(uuid.Nil.String())+1):]
	return d.show(to, idem, Event{File: name, Name: own, Text: caption})
}

// show shows an event in the terminal of the message or card that it is about, or without one in all that talk in the
// chat. It returns the ID of what is shown: of something new, the same for the same idempotency key, also in a later
// process.
func (d *Door) show(to chat.Ref, idem string, e Event) (id string, err error) {
	e.To = to.ID
	list, err := d.viewsOf(to)
	shown := false
	for terminal, v := range list {
		if e.ID == "" && idem != "" {
			e.ID = fmt.Sprintf("%s:%s.%s", channel, terminal, uuid.NewSHA1(uuid.Nil, []byte(to.ID+"\x00"+idem)))
		}
		if err = v.write(e); err == nil {
			shown = true
		}
	}
	if shown { // somewhere
		err = nil
	}
	return e.ID, err
}

// terminalOf is the terminal in whose ID of a message or a card this is.
func terminalOf(id string) string {
	_, rest, _ := strings.Cut(id, channel+":")
	terminal, _, _ := strings.Cut(rest, ".")
	return terminal
}

// grace is how long a terminal that is not connected is expected back.
const grace = 30 * time.Second

var errAway = errors.New("the terminal is not connected at the moment")

// viewsOf are the connected terminals that show something, by their IDs. They are none only with an error.
func (d *Door) viewsOf(to chat.Ref) (map[string]*view, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	terminal, last := terminalOf(to.ID), d.began
	list := maps.Clone(d.terminals)
	maps.DeleteFunc(list, func(id string, v *view) bool {
		return !v.left.IsZero() || to.ID != "" && id != terminal || to.ID == "" && v.chat != to.Key
	})
	if v := d.terminals[terminal]; v != nil {
		last = v.left
	}
	switch {
	case len(list) > 0:
		return list, nil
	case to.ID != "" && time.Since(last) < grace:
		return nil, errAway
	}
	return nil, chat.ErrUnreachable
}
