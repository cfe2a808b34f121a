package console

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/feishusim"
)

const (
	maxBody     = 256 << 10 // bytes of a request
	maxText     = 20000     // runes of a message
	actPatience = 30 * time.Second
)

// problem is an error with a code, for which the page has words in the visitor's language.
type problem struct {
	status int
	code   string
	detail string // shown behind those words: an ID or a number, but no words
	reason string // in English; not shown on the page
}

func (p *problem) Error() string { return strings.TrimSuffix(p.code+": "+p.detail+p.reason, ": ") }

// refuse refuses a request of the page; detail may be empty.
func refuse(code, detail string) error {
	return &problem{status: http.StatusBadRequest, code: code, detail: detail}
}

// malformed refuses a request that the page does not make.
func malformed(reason string) error {
	return &problem{status: http.StatusBadRequest, code: "request", reason: reason}
}

// answerProblem tells the page what is wrong.
func answerProblem(w http.ResponseWriter, err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{status: http.StatusInternalServerError, code: "internal", reason: err.Error()}
	}
	answer(w, p.status, map[string]string{"error": p.code, "detail": p.detail, "reason": p.reason})
}

// jsonHandler makes a handler from a function that takes a JSON request and returns a JSON response.
func jsonHandler[In, Out any](do func(context.Context, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A button is answered within seconds; the deadline only keeps a lost request from staying forever.
		ctx, cancel := context.WithTimeout(r.Context(), actPatience)
		defer cancel()
		in, err := decode[In](w, r)
		var out Out
		if err == nil {
			out, err = do(ctx, in)
		}
		if err != nil {
			answerProblem(w, err)
			return
		}
		answer(w, http.StatusOK, out)
	}
}

// decode requires the content type: a form of another site can only send others, so this keeps a foreign page from
// acting here (CSRF).
func decode[In any](w http.ResponseWriter, r *http.Request) (in In, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return in, malformed("the body must be application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, malformed(err.Error())
	}
	return in, nil
}

func answer(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client has left
}

// people are the users on whose behalf the page acts in the simulated Feishu.
type people struct{ sim *feishusim.Server }

type sayRequest struct {
	Chat    string `json:"chat"`
	User    string `json:"user"`
	Text    string `json:"text"`
	Mention bool   `json:"mention"` // of the bot; only in groups
	Reply   string `json:"reply,omitempty"`
	Topic   bool   `json:"topic,omitempty"` // in the topic of the message being replied to
}

type sayAnswer struct {
	Message string `json:"message"`
}

func (p people) say(_ context.Context, in sayRequest) (sayAnswer, error) {
	c, u, err := p.find(in.Chat, in.User)
	if err != nil {
		return sayAnswer{}, err
	}
	// A private chat needs no mention, and the platform sends none there.
	mention := in.Mention && c.Mode == "group"
	switch {
	case strings.TrimSpace(in.Text) == "" && !mention:
		return sayAnswer{}, refuse("empty", "")
	case utf8.RuneCountInString(in.Text) > maxText:
		return sayAnswer{}, refuse("too_long", "")
	}
	opts, err := p.relationOptions(c, in.Reply, in.Topic)
	if err != nil {
		return sayAnswer{}, err
	}
	if mention {
		opts = append(opts, feishusim.Mention())
	}
	return sayAnswer{p.sim.Say(c.ID, u, in.Text, opts...)}, nil
}

// relationOptions is how a message relates to another one of the chat: it quotes it, or is in its topic.
func (p people) relationOptions(c feishusim.Chat, reply string, topic bool) ([]feishusim.SendOption, error) {
	if reply == "" {
		return nil, nil
	}
	m, ok := p.sim.Message(reply)
	switch {
	case !ok || m.ChatID != c.ID || m.Deleted:
		return nil, refuse("no_message", reply)
	case m.ThreadID != "":
		return []feishusim.SendOption{feishusim.Thread(m.ThreadID)}, nil
	case topic:
		return []feishusim.SendOption{feishusim.ReplyTo(reply), feishusim.Thread(feishusim.NewThread)}, nil
	}
	return []feishusim.SendOption{feishusim.ReplyTo(reply)}, nil
}

type editRequest struct {
	Message string `json:"message"`
	User    string `json:"user"`
	Text    string `json:"text"`
}

// edit edits a text on behalf of its author.
func (p people) edit(_ context.Context, in editRequest) (nothing, error) {
	m, err := p.ownMessage(in.Message, in.User)
	switch {
	case err != nil:
		return nothing{}, err
	case m.Type != "text":
		return nothing{}, refuse("not_text", "")
	case strings.TrimSpace(in.Text) == "":
		return nothing{}, refuse("empty", "")
	case utf8.RuneCountInString(in.Text) > maxText:
		return nothing{}, refuse("too_long", "")
	}
	p.sim.Edit(m.ID, mustJSON(map[string]string{"text": in.Text}))
	return nothing{}, nil
}

type messageRequest struct {
	Message string `json:"message"`
	User    string `json:"user"`
	Emoji   string `json:"emoji,omitempty"`
}

// recall recalls a message on behalf of its author.
func (p people) recall(_ context.Context, in messageRequest) (nothing, error) {
	m, err := p.ownMessage(in.Message, in.User)
	if err != nil {
		return nothing{}, err
	}
	p.sim.Recall(m.ID)
	return nothing{}, nil
}

// react adds or removes an emoji reaction to a message.
func (p people) react(_ context.Context, in messageRequest) (nothing, error) {
	m, ok := p.sim.Message(in.Message)
	if !ok || m.Deleted {
		return nothing{}, refuse("no_message", in.Message)
	}
	_, u, err := p.find(m.ChatID, in.User)
	if err != nil {
		return nothing{}, err
	}
	if slices.Contains(m.Reactions, in.Emoji) {
		p.sim.Unreact(m.ID, u, in.Emoji)
	} else {
		p.sim.React(m.ID, u, in.Emoji)
	}
	return nothing{}, nil
}

// ownMessage returns a message written by a user.
func (p people) ownMessage(messageID, userID string) (feishusim.Message, error) {
	m, ok := p.sim.Message(messageID)
	switch {
	case !ok || m.Deleted:
		return m, refuse("no_message", messageID)
	case m.FromBot || m.Sender.ID != userID:
		return m, refuse("not_yours", "")
	}
	return m, nil
}

type pressRequest struct {
	Message string          `json:"message"`
	User    string          `json:"user"`
	Value   json.RawMessage `json:"value"` // of the button's callback
	// Filled has the values of the form around the button, by field name; absent outside a form.
	Filled map[string][]string `json:"filled,omitempty"`
}

// toast is the bot's reply to the user who pressed a button; empty = none.
type toast struct {
	Type    string `json:"type"` // info | success | warning | error
	Content string `json:"content"`
}

// press returns what the client would show: a rejection of the form, or the toast.
func (p people) press(ctx context.Context, in pressRequest) (toast, error) {
	m, ok := p.sim.Message(in.Message)
	if !ok {
		return toast{}, refuse("no_message", in.Message)
	}
	_, u, err := p.find(m.ChatID, in.User)
	if err != nil {
		return toast{}, err
	}
	var value any
	if err := json.Unmarshal(in.Value, &value); err != nil {
		return toast{}, malformed(err.Error())
	}
	raw, err := p.sim.Submit(ctx, m.ID, u, value, in.Filled)
	switch {
	case errors.Is(err, feishusim.ErrIncomplete):
		return toast{}, &problem{status: http.StatusBadRequest, code: "incomplete", reason: err.Error()}
	case err != nil:
		return toast{}, pressProblem(err)
	}
	var reply struct {
		Toast toast `json:"toast"`
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &reply); err != nil {
			return toast{}, pressProblem(err)
		}
	}
	return reply.Toast, nil
}

// pressProblem is an error of a press, with the number that the platform's own clients show.
func pressProblem(err error) error {
	p := &problem{status: http.StatusConflict, code: "press", reason: err.Error()}
	if e, ok := errors.AsType[*feishusim.PressError](err); ok {
		p.detail = strconv.Itoa(e.Code)
	}
	return p
}

// find returns a chat and one of its members; the double panics on unknown IDs.
func (p people) find(chatID, userID string) (feishusim.Chat, feishusim.User, error) {
	c, err := p.chatOf(chatID)
	if err != nil {
		return c, feishusim.User{}, err
	}
	i := slices.IndexFunc(c.Members, func(u feishusim.User) bool { return u.OpenID == userID })
	if i < 0 {
		return c, feishusim.User{}, refuse("no_user", userID)
	}
	return c, c.Members[i], nil
}

func (p people) chatOf(id string) (feishusim.Chat, error) {
	chats := p.sim.Chats()
	i := slices.IndexFunc(chats, func(c feishusim.Chat) bool { return c.ID == id })
	if i < 0 {
		return feishusim.Chat{}, refuse("no_chat", id)
	}
	return chats[i], nil
}
