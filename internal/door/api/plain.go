package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
)

// The beginnings of the IDs of what came in through the plain API; see [messageID].
const (
	howPlain = "api"
	howPress = "press"
)

// chatHandler handles a request about one of the program's own chats.
type chatHandler func(w http.ResponseWriter, r *http.Request, t programs.Token, key chat.Key) error

// errNoChat is the same for a chat that is not there and for somebody else's.
var errNoChat = &problem{http.StatusNotFound, "invalid_request_error", "not_found", "There is no such chat."}

// ofChats are the addresses of the program's own chats: what is shown is told as it changes, and whoever asks decides what
// the agent may do.
func (d *Door) ofChats() map[string]chatHandler {
	return map[string]chatHandler{
		"POST /api/chats/{chat}/messages": d.say, "GET /api/chats/{chat}/messages": d.history,
		"GET /api/chats/{chat}/events": d.events, "POST /api/chats/{chat}/presses": d.press, "POST /api/chats/{chat}/stop": d.stop,
		"GET /api/chats/{chat}/files/{file}": d.file,
	}
}

// inChat handles requests about the program's own chats.
func (d *Door) inChat(handle chatHandler) handler {
	return func(w http.ResponseWriter, r *http.Request, t programs.Token) error {
		key, err := chat.ParseKey(r.PathValue("chat"))
		if err != nil || key.Validate() != nil || key.IsPerson() || key.Channel == chat.Terminal && key.Kind != "chat" {
			return errNoChat
		} else if d.Who != nil {
			return handle(w, r, t, key)
		}
		switch own, err := d.store.Owns(r.Context(), t, key); {
		case err != nil:
			return err
		case !own:
			return errNoChat
		}
		return handle(w, r, t, key)
	}
}

// decode reads a request as JSON.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := readBody(w, r)
	if err == nil && json.Unmarshal(data, into) != nil {
		err = badRequest("The request is not the JSON that this address takes.")
	}
	return err
}

// openChat opens a chat, or finds the one of that name.
func (d *Door) openChat(w http.ResponseWriter, r *http.Request, t programs.Token) error {
	var asked struct {
		Name string `json:"name"`
	}
	if err := decode(w, r, &asked); err != nil {
		return err
	}
	names := []string{roomNamed(t, "room", asked.Name), "room:" + hashOf(asked.Name)} // the second one by an earlier version
	if asked.Name == "" {
		names = []string{programs.Passing + uuid.NewString()}
	}
	key, err := d.store.Room(r.Context(), t, names, names[:1], roomKey(uuid.NewString()))
	if err == nil {
		writeJSON(w, map[string]any{"chat": key.String()})
	}
	return err
}

// say takes in a message. The same Idempotency-Key is the same message.
func (d *Door) say(w http.ResponseWriter, r *http.Request, t programs.Token, key chat.Key) error {
	var asked struct {
		Text  string     `json:"text"`
		Files []attached `json:"files"`
	}
	err := decode(w, r, &asked)
	if err == nil && strings.TrimSpace(asked.Text) == "" && len(asked.Files) == 0 {
		err = badRequest("There is neither a text nor a file.")
	} else if err == nil && slices.ContainsFunc(asked.Files, func(f attached) bool { return f.Data == nil }) {
		err = badRequest("A file lacks its data.")
	}
	if err != nil {
		return err
	}
	return d.takePlain(w, r, t, key, idempotencyKey(r), asked.Text, asked.Files)
}

func (d *Door) stop(w http.ResponseWriter, r *http.Request, t programs.Token, key chat.Key) error {
	return d.takePlain(w, r, t, key, "stop\x00"+idempotencyKey(r), "/stop", nil)
}

func (d *Door) takePlain(
	w http.ResponseWriter, r *http.Request, t programs.Token, key chat.Key, idem, text string, files []attached,
) error {
	id := MessageID(d.channel, d.own(t, idem), d.terminalOf(r))
	if err := d.take(r.Context(), t, key, id, text, files); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	writeJSON(w, map[string]any{"id": id})
	return nil
}

// idempotencyKey is that of a request; without one it is one of its own.
func idempotencyKey(r *http.Request) string {
	return cmp.Or(r.Header.Get("Idempotency-Key"), uuid.NewString())
}

// terminalOf is the terminal that sends a request; empty = it is none. Nobody else's words become part of an ID.
func (d *Door) terminalOf(r *http.Request) string {
	id, err := uuid.Parse(r.URL.Query().Get("terminal"))
	if d.Who == nil || err != nil {
		return ""
	}
	return id.String()
}

// own is what a program has sent, apart from the same of another one in the same chat. Terminals have numbers instead.
func (d *Door) own(t programs.Token, what string) string {
	if d.Who != nil {
		return what
	}
	return t.ID + "\x00" + what
}

// MessageID is the ID of a message with that Idempotency-Key, at the door of a channel; see [TerminalOf].
func MessageID(channel, key, terminal string) string {
	return messageID(channel, howPlain, key, cmp.Or(terminal, "0"))
}

// history lists the latest messages.
func (d *Door) history(w http.ResponseWriter, r *http.Request, _ programs.Token, key chat.Key) error {
	const most = 100
	list, err := d.store.History(r.Context(), key, most)
	if err != nil {
		return err
	}
	type entry struct {
		ID   string    `json:"id"`
		Role string    `json:"role"`
		Text string    `json:"text"`
		Time time.Time `json:"time"`
	}
	messages := []entry{}
	for _, m := range list {
		if m.Role == chat.User || m.Role == chat.Assistant {
			messages = append(messages, entry{m.ID, string(m.Role), m.Text, m.Time.UTC()})
		}
	}
	writeJSON(w, map[string]any{"messages": messages})
	return nil
}

// errNoCard is the same for a card that is not there, and for a button that it has not.
var errNoCard = &problem{http.StatusNotFound, "invalid_request_error", "not_found", "There is no such card in this chat, or it has no such button."}

// offers reports whether a card has a button with an action.
func offers(s shown, action chat.Action) bool {
	if s.Card == nil {
		return false
	}
	buttons := slices.Clone(s.Card.Buttons)
	if s.Card.Form != nil {
		buttons = append(buttons, s.Card.Form.Buttons...)
	}
	return slices.ContainsFunc(buttons, func(b chat.Button) bool { return b.Action == action })
}

// mayPress returns the problem if a program cannot press a button. The bridge tells people why not.
func (d *Door) mayPress(ctx context.Context, t programs.Token, key chat.Key, card string, action chat.Action) error {
	if at, _ := roomOf(card); at != key || chat.ChannelOf(card) != d.channel {
		return errNoCard
	}
	switch s, err := d.get(ctx, key, card); {
	case errors.Is(err, programs.ErrNotShown), err == nil && !offers(s, action):
		return errNoCard
	case err != nil:
		return err
	case s.Asks && t.Person != "":
		return &problem{http.StatusForbidden, "permission_error", "permission_denied", "The person of this token decides."}
	}
	return nil
}

// press presses a button of a card. The same Idempotency-Key is the same press.
func (d *Door) press(w http.ResponseWriter, r *http.Request, t programs.Token, key chat.Key) error {
	var asked Press
	if err := decode(w, r, &asked); err != nil {
		return err
	}
	if d.Who == nil {
		if err := d.mayPress(r.Context(), t, key, asked.Card, asked.Action); err != nil {
			return err
		}
	}
	var toast string
	err := d.pass(key, func(h door.Handler) (err error) {
		toast, err = h.HandlePress(r.Context(), chat.Press{
			ID:  messageID(d.channel, howPress, t.ID+"\x00"+key.String()+"\x00"+idempotencyKey(r), "0"),
			Key: key, Card: chat.FirstMessage(asked.Card),
			Actor: chat.Actor{ID: t.ID, Name: t.Name}, Action: asked.Action, Values: asked.Values,
		})
		return err
	})
	if p := problemOf(err); err != nil {
		return &problem{p.status, p.kind, p.code, cmp.Or(toast, p.detail)}
	}
	writeJSON(w, Pressed{toast})
	return nil
}

// Press is the request to press a button of a card.
type Press struct {
	Card   string              `json:"card"` // its ID
	Action chat.Action         `json:"action"`
	Values map[string][]string `json:"values,omitempty"` // of the fields, if the button submits them
}

// Pressed is what whoever has pressed a button is told; empty = nothing.
type Pressed struct {
	Says string `json:"says"`
}

// The kinds of what is shown.
const (
	KindMessage Kind = "message" // that somebody has sent: State tells whether it is being answered; empty = not any more
	KindText    Kind = "text"
	KindCard    Kind = "card"
	KindFile    Kind = "file"
)

// Kind is what is shown.
type Kind string

// Event is something that is shown, as it looks now. The same ID again is the same one, which has changed.
type Event struct {
	ID      string         `json:"id"`
	Kind    Kind           `json:"kind"`
	To      string         `json:"to,omitempty"` // the message that it answers
	Title   string         `json:"title,omitempty"`
	State   chat.CardState `json:"state,omitempty"`
	Status  string         `json:"status,omitempty"`
	Text    string         `json:"text"`
	File    *File          `json:"file,omitempty"`
	Panels  []Panel        `json:"panels,omitempty"`
	Footer  string         `json:"footer,omitempty"`
	Fields  []Field        `json:"fields,omitempty"` // whose values go with the press of a button that submits
	Buttons []Button       `json:"buttons,omitempty"`
	Asks    bool           `json:"asks,omitempty"` // somebody is to decide what the agent may do
	Live    bool           `json:"live,omitempty"` // it will change
}

// File is a file, and where it is.
type File struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Panel is a part of a card that people open.
type Panel struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Last  bool   `json:"last,omitempty"` // it stands below the text
}

// Field is a field of a form.
type Field struct {
	Name     string         `json:"name"`
	Label    string         `json:"label,omitempty"`
	Hint     string         `json:"hint,omitempty"`
	Kind     chat.FieldKind `json:"kind"` // one, many or words
	Options  []Option       `json:"options,omitempty"`
	Required bool           `json:"required,omitempty"`
}

// Option is something to choose in a field.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Button is a button of a card.
type Button struct {
	Label   string      `json:"label"`
	Action  chat.Action `json:"action"`
	Submits bool        `json:"submits,omitempty"` // it takes the values of the fields
}

// states are those of messages.
var states = map[chat.Reaction]chat.CardState{
	chat.Working: chat.CardRunning, chat.Finished: chat.CardDone, chat.Failed: chat.CardFailed,
}

// eventOf is what a program is told about something that is shown; nil = nothing, as of what is shown at another door.
func (d *Door) eventOf(row programs.Showing) (*Event, error) {
	var s shown
	if chat.ChannelOf(row.ID) != d.channel {
		return nil, nil
	} else if err := json.Unmarshal([]byte(row.Content), &s); err != nil {
		return nil, err
	}
	e := &Event{ID: row.ID, Kind: KindText, To: s.To, Text: words(s), Asks: s.Asks}
	c := s.Card
	if s.Said != nil {
		e.Kind, e.State = KindMessage, states[*s.Said]
		return e, nil
	}
	if s.File != "" {
		key, _ := roomOf(row.ID)
		e.Kind, e.File = KindFile, &File{nameOf(s.File), fileURL(key, s.File)}
	}
	if c == nil {
		if s.Text == "" && s.File == "" { // it only notes that a message came
			return nil, nil
		}
		return e, nil
	}
	e.Kind = KindCard
	e.Title, e.State, e.Status, e.Footer, e.Live = c.Title, c.State, c.Status, c.Footer, (c.Live || s.Asks) && !s.Closed
	for _, p := range c.Panels {
		e.Panels = append(e.Panels, Panel{p.Title, p.Body, p.Last})
	}
	for _, b := range c.Buttons {
		e.Buttons = append(e.Buttons, Button{b.Label, b.Action, false})
	}
	if c.Form == nil {
		return e, nil
	}
	for _, f := range c.Form.Fields {
		one := Field{f.Name, f.Label, f.Hint, f.Kind, nil, f.Required}
		for _, o := range f.Options {
			one.Options = append(one.Options, Option{o.Value, o.Label})
		}
		e.Fields = append(e.Fields, one)
	}
	for _, b := range c.Form.Buttons {
		e.Buttons = append(e.Buttons, Button{b.Label, b.Action, true})
	}
	return e, nil
}

// events tells what is shown, as it changes, after the event that the program has seen last, or from now on.
func (d *Door) events(w http.ResponseWriter, r *http.Request, _ programs.Token, key chat.Key) error {
	after, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	switch {
	case err == nil:
	case r.Header.Get("Last-Event-ID") != "":
		return badRequest("Last-Event-ID must be the ID of an event.")
	case r.URL.Query().Get("from") == "now":
		if after, err = d.store.Newest(r.Context(), key); err != nil {
			return err
		}
	}
	changes, leave := d.hub.watch(key, d.terminalOf(r))
	defer leave()
	list, err := d.store.Since(r.Context(), key, after)
	if err != nil {
		return err
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // it was read
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err := w.Write([]byte(text))
		return err == nil && out.Flush() == nil
	}
	// Who is cut off before the first event goes on from here, too.
	there := write(fmt.Sprintf("id: %d\n\n", after))
	for alive, checked := time.Now(), time.Now(); there; { // otherwise the program has gone, or reads nothing
		for _, row := range list {
			e, err := d.eventOf(row)
			if err != nil {
				return d.cut(r.Context(), key, err)
			}
			if after = row.Seq; e == nil {
				continue
			}
			data, _ := json.Marshal(e) // texts and numbers
			there = there && write(fmt.Sprintf("id: %d\ndata: %s\n\n", row.Seq, data))
		}
		if len(list) > 0 {
			alive = time.Now()
		} else if time.Since(alive) > d.Every {
			alive = time.Now()
			there = write(": waiting\n\n")
		}
		if time.Since(checked) > d.Every {
			if checked = time.Now(); d.still(r) != nil {
				return nil // the next request is told why
			}
		}
		if len(list) == 0 {
			select {
			case <-changes:
			case <-time.After(poll):
			case <-r.Context().Done():
				return nil
			}
		}
		if list, err = d.store.Since(r.Context(), key, after); err != nil {
			return d.cut(r.Context(), key, err)
		}
	}
	return nil
}

// still reports why a token does not let in any more.
func (d *Door) still(r *http.Request) error {
	if _, err := d.tokenOf(r); errors.As(err, new(*problem)) {
		return err
	}
	return nil
}

// cut ends a stream, after which the program asks again.
func (d *Door) cut(ctx context.Context, key chat.Key, err error) error {
	if ctx.Err() == nil {
		d.log.Error().Err(err).Stringer("chat", key).Msg("what is shown over HTTP is not read")
	}
	return nil
}

var errAway = errors.New("the bridge is starting or stopping")
