// Package api is the door for programs: they ask over HTTP, in the form of OpenAI's API or in a plain one. What is to be
// shown to them is stored, and they fetch it; so it does not matter at which bridge they ask, nor whether their connection
// is cut.
//
// Whoever asks at another door by the same API, as at a terminal, is such a program, too.
//
// It decides nothing about the agents: who may ask what, and what is answered, is up to the bridge.
package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// Door is the door. The chats of HTTP are "http:room:" and a UUID: what programs call them never becomes an ID.
type Door struct {
	// Who is who has sent a request, at a door without tokens; every chat is his. Nil = a token says it, and which chats are his.
	Who func(*http.Request) programs.Token
	// Every is after how long something that means nothing is written, so that nothing on the way takes a connection for dead,
	// and the token is looked up again. Tests set it.
	Every time.Duration
	// Projects are those that a chat may begin in, by name.
	Projects []string
	// Denies reports whether the configuration denies a program access.
	Denies func(program string) bool
	// Once has the agent answer a text for a program outside of all chats, without tools; the chat is the one that pays.
	Once func(ctx context.Context, key chat.Key, program, system, text string) (string, error)

	Triggers Triggers
	Persons  Persons
	// Lang is the language of a person.
	Lang func(ctx context.Context, user string) i18n.Lang

	channel string
	store   programs.Store
	log     zerolog.Logger
	began   time.Time
	hub     hub
	in      atomic.Pointer[door.Handler] // nil = nothing can be taken in

	mu   sync.Mutex
	next map[string]time.Time // by card, when it may be drawn again
}

// New makes the door of a channel, such as [chat.HTTP].
func New(channel string, store programs.Store, log zerolog.Logger) *Door {
	return &Door{
		Every: 15 * time.Second, channel: channel, store: store, log: log, began: time.Now(), next: map[string]time.Time{},
	}
}

// Channel implements [door.Door].
func (d *Door) Channel() string { return d.channel }

// Traits implements [door.Door].
func (d *Door) Traits() door.Traits {
	return door.Traits{Name: i18n.Phrase{ZH: "HTTP 接口", EN: "the HTTP API"}}
}

// Health implements [door.Door].
func (d *Door) Health() door.Health { return door.Health{Connected: true, Since: d.began} }

// Run implements [door.Door]. It takes in what arrives at [Door.Handler] until ctx is done.
func (d *Door) Run(ctx context.Context, h door.Handler) error {
	d.in.Store(&h)
	<-ctx.Done()
	d.in.Store(nil)
	return nil
}

// shown is how a text or card looks, or what becomes of a message, under the ID of that. An ID that was shown before means
// the same object again.
type shown struct {
	To     string         `json:"to,omitempty"`   // the message that it answers
	Said   *chat.Reaction `json:"said,omitempty"` // to the message
	Text   string         `json:"text,omitempty"`
	File   string         `json:"file,omitempty"` // its ID
	Card   *chat.Card     `json:"card,omitempty"`
	Asks   bool           `json:"asks,omitempty"`   // people decide by the card what an agent may do
	Closed bool           `json:"closed,omitempty"` // this is the card's final state
}

// Reply implements [door.Door].
func (d *Door) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	return d.begin(ctx, to, idem, shown{Text: text})
}

// Post implements [door.Door].
func (d *Door) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	return d.begin(ctx, to, idem, shown{Card: &card, Asks: card.Asks, Closed: !card.Live && !card.Asks})
}

// Edit implements [door.Door].
func (d *Door) Edit(ctx context.Context, cardID string, card chat.Card) error {
	return d.change(ctx, cardID, shown{Card: &card, Asks: card.Asks})
}

// Close implements [door.Door].
func (d *Door) Close(ctx context.Context, cardID string, card chat.Card) error {
	d.mu.Lock()
	delete(d.next, cardID)
	d.mu.Unlock()
	return d.change(ctx, cardID, shown{Card: &card, Asks: card.Asks, Closed: true})
}

// pace is the time between two drawings of a growing answer.
const pace = 100 * time.Millisecond

// Ready implements [door.Pacer]. The first drawing waits for nothing.
func (d *Door) Ready(ctx context.Context, cardID string) error {
	d.mu.Lock()
	wait := max(0, time.Until(d.next[cardID]))
	d.next[cardID] = time.Now().Add(wait + pace)
	d.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// SetReaction implements [door.Reactor]. OpenAI's API shows none.
func (d *Door) SetReaction(ctx context.Context, to chat.Ref, r chat.Reaction) error {
	if d.howOf(to.ID) != howPlain {
		return nil
	}
	content, err := json.Marshal(shown{Said: &r})
	if err == nil {
		err = d.store.Show(ctx, to.Key, to.ID, string(content))
	}
	d.hub.changed(to.Key)
	return err
}

// howOf is how a message came in, see [messageID].
func (d *Door) howOf(message string) string {
	how, _, _ := strings.Cut(strings.TrimPrefix(message, d.channel+":"), "-")
	return how
}

// The ID of what is shown begins with that of its room, so that a card alone says where it is. That of something which
// answers something goes on with how that came in, and ends with its terminal if there is one.
func (d *Door) showingID(to chat.Ref, idem string) string {
	id := d.channel + ":" + roomID(to.Key) + "." + d.howOf(to.ID) + "-" + uuid.NewSHA1(uuid.Nil, []byte(to.ID+"\x00"+idem)).String()
	if terminal := TerminalOf(to.ID); terminal != "" {
		id += "." + terminal
	}
	return id
}

// TerminalOf is the terminal at which a message was written, or what answers it is shown; empty = none. Terminals are UUIDs.
func TerminalOf(id string) string {
	last := id[strings.LastIndexByte(id, '.')+1:]
	if chat.ChannelOf(id) != chat.Terminal || uuid.Validate(last) != nil {
		return ""
	}
	return last
}

// roomOf is the room in whose ID of a text or card this is.
func roomOf(id string) (key chat.Key, how string) {
	room, rest, _ := strings.Cut(strings.TrimPrefix(id, chat.ChannelOf(id)+":"), ".")
	how, _, _ = strings.Cut(rest, "-")
	if given, ok := strings.CutPrefix(room, givenMark); ok {
		data, _ := hex.DecodeString(given)
		key, _ = chat.ParseKey(string(data))
		return key, how
	}
	return roomKey(room), how
}

// givenMark begins what stands for a chat that is no room of HTTP, whose key follows in hex.
const givenMark = "given-"

// roomID stands for a chat in the IDs of what is shown in it.
func roomID(key chat.Key) string {
	if key == roomKey(key.ID) {
		return key.ID
	}
	return givenMark + hex.EncodeToString([]byte(key.String()))
}

func roomKey(id string) chat.Key { return chat.Key{Channel: chat.HTTP, Kind: "room", ID: id} }

// begin shows something new.
func (d *Door) begin(ctx context.Context, to chat.Ref, idem string, s shown) (id string, err error) {
	if to.Key.Channel != d.channel && to.ID == "" {
		return "", chat.ErrUnreachable
	}
	if s.Asks && d.Who != nil {
		if err := d.hub.reaches(watcher{to.Key, TerminalOf(to.ID)}, d.began); err != nil {
			return "", err
		}
	}
	id, s.To = d.showingID(to, idem), to.ID
	return id, d.show(ctx, id, s)
}

// change shows something as it looks now.
func (d *Door) change(ctx context.Context, id string, s shown) error {
	key, _ := roomOf(id)
	before, err := d.get(ctx, key, id)
	if err != nil && !errors.Is(err, programs.ErrNotShown) { // it may be so old that it was deleted
		return err
	}
	s.To = before.To
	return d.show(ctx, id, s)
}

func (d *Door) show(ctx context.Context, id string, s shown) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	key, how := roomOf(id)
	if err := d.store.Show(ctx, key, id, string(content)); err != nil {
		return err
	}
	d.hub.changed(key)
	if d.Who != nil || s.Card == nil || !s.Closed || !s.Asks {
		return nil
	}
	// What it asks is stored by now, or it is decided.
	if asked, err := d.askPerson(ctx, key, id, s); err != nil || asked {
		return err
	}
	if how == howOpenAI {
		go d.refuse(context.WithoutCancel(ctx), key, id, s)
	}
	return nil
}

// get is how something looks, or [programs.ErrNotShown].
func (d *Door) get(ctx context.Context, key chat.Key, id string) (s shown, err error) {
	row, err := d.store.Get(ctx, key, id)
	if err == nil {
		err = json.Unmarshal([]byte(row.Content), &s)
	}
	return s, err
}

// refuse refuses what an agent asks for where nobody could decide: a program that speaks OpenAI's API sees text only.
func (d *Door) refuse(ctx context.Context, key chat.Key, card string, s shown) {
	i := slices.IndexFunc(s.Card.Buttons, func(b chat.Button) bool { return b.Action.Do == chat.DoRefuse })
	if s.Card.State != chat.CardNeedsYou || i < 0 {
		return
	}
	press := chat.Press{
		ID: d.channel + ":" + uuid.NewString(), Key: key, Card: chat.FirstMessage(card), Action: s.Card.Buttons[i].Action,
	}
	_, err := backoff.Retry(ctx, func() (toast string, err error) {
		asked, err := d.store.ReplyTo(ctx, key, s.To)
		if press.Actor.ID = asked.Actor; err == nil {
			err = d.pass(key, func(h door.Handler) (err error) {
				toast, err = h.HandlePress(ctx, press)
				return err
			})
		}
		if p := problemOf(err); err != nil && p.status < http.StatusInternalServerError {
			err = backoff.Permanent(err)
		}
		return toast, err
	}, backoff.WithMaxElapsedTime(patience))
	if err != nil {
		d.log.Error().Err(err).Stringer("chat", key).Msg("what nobody can decide over HTTP is not refused")
	}
}

// hub tells who waits for something that it has changed.
type hub struct {
	mu      sync.Mutex
	waiting map[chat.Key]map[chan struct{}]string // the terminal; empty = none
	left    map[watcher]time.Time                 // when it has left, a short while ago; without a terminal, when any has
}

// watcher is a terminal in a chat; without one, anybody there.
type watcher struct {
	key      chat.Key
	terminal string
}

// grace is how long somebody who is not connected is expected back.
const grace = 30 * time.Second

var errNobody = errors.New("nobody is connected at the moment")

// reaches returns [chat.ErrUnreachable] if a watcher is not connected to this bridge, or another error if it may be back in a
// moment.
func (h *hub) reaches(w watcher, began time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, terminal := range h.waiting[w.key] {
		if terminal == w.terminal || w.terminal == "" {
			return nil
		}
	}
	switch left, ok := h.left[w]; {
	case ok && time.Since(left) < grace, !ok && time.Since(began) < grace:
		return errNobody
	}
	return chat.ErrUnreachable
}

// watch returns a channel that gets a value after each change in a chat at this bridge; several may become one.
func (h *hub) watch(key chat.Key, terminal string) (changes <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting, h.left = map[chat.Key]map[chan struct{}]string{}, map[watcher]time.Time{}
	}
	if h.waiting[key] == nil {
		h.waiting[key] = map[chan struct{}]string{}
	}
	h.waiting[key][c] = terminal
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.waiting[key], c); len(h.waiting[key]) == 0 {
			delete(h.waiting, key)
		}
		maps.DeleteFunc(h.left, func(_ watcher, left time.Time) bool { return time.Since(left) > grace })
		h.left[watcher{key, terminal}], h.left[watcher{key: key}] = time.Now(), time.Now()
	}
}

func (h *hub) changed(key chat.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.waiting[key] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Waiting is how many requests wait for an answer.
func (d *Door) Waiting() (n int) {
	d.hub.mu.Lock()
	defer d.hub.mu.Unlock()
	for _, list := range d.hub.waiting {
		n += len(list)
	}
	return n
}
