// Package terminal is the door for whoever may run commands as the service's user: people at a terminal of the same
// machine, or programs that pipe a question in. Its [Door] is the service's side, a private unix socket; [Client] is the
// side of the terminal.
//
// It neither draws nor reads what people type.
package terminal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// channel is that of the door.
const channel = "cli"

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
	folder string
	began  time.Time

	mu        sync.Mutex
	health    door.Health
	terminals map[string]*view // by their IDs
}

// view is what a terminal sees.
type view struct {
	chat chat.Key  // in which it talks
	left time.Time // when it was connected last

	mu     sync.Mutex // an event is written at a time
	stream *stream    // nil = not connected
	drawn  time.Time  // when a card was last edited
}

// New makes the door whose socket is in this folder, which is its own. The agents must not reach it.
func New(folder string) (*Door, error) {
	if err := checkPath(SocketPath(folder)); err != nil {
		return nil, err
	}
	return &Door{folder: folder, began: time.Now(), terminals: map[string]*view{}}, nil
}

// OwnerIDs are the IDs of those who may use the socket: the user that runs the service, and root.
func OwnerIDs() []string {
	ids := []string{actorID(os.Geteuid())}
	if os.Geteuid() > 0 {
		ids = append(ids, actorID(0))
	}
	return ids
}

func actorID(uid int) string { return channel + ":" + strconv.Itoa(uid) }

// Channel implements [door.Door].
func (d *Door) Channel() string { return channel }

// Traits implements [door.Door].
func (d *Door) Traits() door.Traits {
	return door.Traits{Name: i18n.Phrase{ZH: "终端", EN: "the terminal"}}
}

// Health implements [door.Door].
func (d *Door) Health() door.Health {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.health
}

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

// Ready implements [door.Pacer].
func (d *Door) Ready(ctx context.Context, cardID string) error {
	v, err := d.viewOf(terminalOf(cardID))
	if err != nil {
		return ctx.Err() // the drawing fails
	}
	v.mu.Lock()
	wait := pace - time.Since(v.drawn)
	v.drawn = time.Now().Add(max(wait, 0))
	v.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// SetReaction implements [door.Reactor].
func (d *Door) SetReaction(_ context.Context, to chat.Ref, r chat.Reaction) error {
	_, err := d.show(to, "", Event{Reaction: &r})
	return err
}

// Attach implements [door.Attacher].
func (d *Door) Attach(_ context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	return d.show(to, idem, Event{File: name, Name: nameOf(name), Text: caption})
}

// show shows an event in the terminal of the message or card that it is about, or without one in all that talk in the
// chat. It returns the ID of what is shown.
func (d *Door) show(to chat.Ref, idem string, e Event) (id string, err error) {
	e.To = to.ID
	if to.ID != "" {
		terminal := terminalOf(to.ID)
		if e.ID == "" && idem != "" {
			e.ID = newID(terminal, to.ID, idem)
		}
		v, err := d.viewOf(terminal)
		if err == nil {
			err = v.write(e)
		}
		return e.ID, err
	}
	err = chat.ErrUnreachable
	for terminal, v := range d.lookingAt(to.Key) {
		if e.ID == "" {
			e.ID = newID(terminal, "", idem)
		}
		if failed := v.write(e); err != nil {
			err = failed
		}
	}
	return e.ID, err
}

// newID is the ID of something new in a terminal: the same for the same idempotency key, also in a later process.
func newID(terminal, to, idem string) string {
	sum := sha256.Sum256([]byte(to + "\x00" + idem))
	return channel + ":" + terminal + "." + hex.EncodeToString(sum[:12])
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

// viewOf is the view of a connected terminal.
func (d *Door) viewOf(terminal string) (*view, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, last := d.terminals[terminal], d.began
	if v != nil && v.left.IsZero() {
		return v, nil
	} else if v != nil {
		last = v.left
	}
	if time.Since(last) < grace {
		return nil, errAway
	}
	delete(d.terminals, terminal)
	return nil, chat.ErrUnreachable
}

// lookingAt are the connected terminals that talk in a chat.
func (d *Door) lookingAt(key chat.Key) map[string]*view {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := map[string]*view{}
	for id, v := range d.terminals {
		if v.left.IsZero() && v.chat == key {
			list[id] = v
		}
	}
	return list
}
