package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/db/programs"
	"magpie/internal/chat"
)

// howOpenAI begins the IDs of messages that came in through OpenAI's API; see [messageID] and [chat.IsRequest].
const howOpenAI = "v1"

// The models: the agent in the project of the token, with a project's name the agent there, and an answer without History
// and tools, for what chat programs ask on their own, such as titles. Which of Claude's models answers is up to the chat.
const (
	modelName = "magpie"
	modelOnce = "magpie-once"
)

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// models are all models.
func (d *Door) models() (list []model) {
	names := []string{modelName, modelOnce}
	for _, p := range d.Projects {
		names = append(names, modelName+"/"+p)
	}
	for _, name := range names {
		list = append(list, model{name, "model", d.began.Unix(), "magpie"})
	}
	return list
}

func (d *Door) listModels(w http.ResponseWriter, _ *http.Request, _ programs.Token) error {
	writeJSON(w, map[string]any{"object": "list", "data": d.models()})
	return nil
}

func (d *Door) showModel(w http.ResponseWriter, r *http.Request, _ programs.Token) error {
	m, err := d.modelNamed(r.PathValue("id"))
	if err == nil {
		writeJSON(w, m)
	}
	return err
}

func (d *Door) modelNamed(name string) (model, error) {
	list := d.models()
	i := slices.IndexFunc(list, func(m model) bool { return m.ID == name })
	if i < 0 {
		return model{}, &problem{http.StatusNotFound, "invalid_request_error", "model_not_found",
			"There is no such model: GET /v1/models lists them. The usual one is \"" + modelName + "\"."}
	}
	return list[i], nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only if the program has gone
}

// completion is a request for an answer. What else OpenAI's API knows, such as a temperature, is up to the agent.
type completion struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	User  string `json:"user"`
	Cache string `json:"prompt_cache_key"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is that of a message: a text, or parts.
type content struct {
	text     string
	pictures []attached
	bad      *problem // why it cannot be asked: it has more than that; nil = it can
}

var errPart = badRequest("A message may hold text and pictures: a string, or parts of the types text and image_url.")

// UnmarshalJSON reads either form. What is not understood does not matter in a message that is not asked.
func (c *content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if string(data) == "null" || json.Unmarshal(data, &c.text) == nil {
		return nil
	} else if json.Unmarshal(data, &parts) != nil {
		c.bad = errPart
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image_url":
			picture, err := pictureIn(p.Image.URL)
			if err != nil {
				c.bad = errPicture
			}
			c.pictures = append(c.pictures, picture)
		default:
			c.bad = errPart
		}
	}
	c.text = strings.Join(texts, "\n\n")
	return nil
}

// asked are the person's messages, oldest first.
func (c completion) asked() (list []content) {
	for _, m := range c.Messages {
		if m.Role == "user" {
			list = append(list, m.Content)
		}
	}
	return list
}

// textsOf are the texts of messages, one after the other.
func textsOf(list []content) string {
	var all strings.Builder
	for _, c := range list {
		all.WriteString(c.text + "\x00")
	}
	return all.String()
}

// parse reads a request for an answer.
func (d *Door) parse(data []byte) (c completion, err error) {
	if json.Unmarshal(data, &c) != nil {
		return c, badRequest("The request is not the JSON of a chat completion.")
	}
	if _, err := d.modelNamed(c.Model); err != nil {
		return c, err
	}
	asked := c.asked()
	if len(asked) > 0 && asked[len(asked)-1].bad != nil {
		return c, asked[len(asked)-1].bad
	} else if len(asked) == 0 || strings.TrimSpace(asked[len(asked)-1].text) == "" && len(asked[len(asked)-1].pictures) == 0 {
		return c, badRequest("There is no message with the role user that asks something.")
	}
	return c, nil
}

// retried is for how long the same request, if it is marked as a retry, is the same message.
const retried = 15 * time.Minute

// sent is a message of a program, and where.
type sent struct {
	key   chat.Key
	id    string
	after int64 // what was shown in the chat before
}

// place finds the chat of a request, and the ID of its message, which it notes. The client of OpenAI repeats a request whose
// connection was cut, and says so in a header: that is the same message.
func (d *Door) place(ctx context.Context, t programs.Token, r *http.Request, c completion, body []byte) (s sent, err error) {
	asked := c.asked()
	before, now := programs.Passing+hashOf(textsOf(asked[:len(asked)-1])), programs.Passing+hashOf(textsOf(asked))
	again := r.Header.Get("X-Stainless-Retry-Count")
	idem, isRetry := r.Header.Get("Idempotency-Key"), again != "" && again != "0"
	if project, ok := strings.CutPrefix(c.Model, modelName+"/"); ok {
		if t.Chat != "" {
			return s, badRequest("This token asks in one chat, which has its own project: the model is \"" + modelName + "\".")
		}
		t.Project = project
	}
	before, now = before+hashOf("\x00"+t.Project), now+hashOf("\x00"+t.Project)
	var names, also []string
	for _, by := range [][2]string{ // the strongest first
		{"room", r.Header.Get("X-Magpie-Room")}, {"webui", r.Header.Get("X-OpenWebUI-Chat-Id")}, {"cache", c.Cache}, {"user", c.User},
	} {
		if by[1] != "" {
			names = []string{roomNamed(t, by[0], by[1])}
			break
		}
	}
	switch {
	case len(names) > 0:
		also = names
	default:
		if also = []string{now}; idem != "" {
			names, also = append(names, programs.Passing+"key "+hashOf(idem)), append(also, programs.Passing+"key "+hashOf(idem))
		}
		if isRetry { // if the first one was never stored, it is a first one
			key, err := d.store.Named(ctx, t, now)
			if err != nil {
				return s, err
			}
			s.id, err = d.sentBefore(ctx, t, key, body)
			if err != nil {
				return s, err
			} else if s.id != "" {
				names = append(names, now)
			}
		}
		if len(asked) > 1 {
			names = append(names, before)
		}
	}
	if s.key, err = d.store.Room(ctx, t, names, also, roomKey(uuid.NewString())); err != nil {
		return s, err
	}
	switch {
	case idem != "":
		s.id = messageID(chat.HTTP, howOpenAI, d.own(t, idem), "0")
	case isRetry && s.id == "":
		if s.id, err = d.sentBefore(ctx, t, s.key, body); err != nil {
			return s, err
		}
	}
	if s.id == "" {
		s.id = messageID(chat.HTTP, howOpenAI, d.own(t, string(body)), uuid.NewString())
	}
	s.after, err = d.store.Note(ctx, s.key, s.id)
	return s, err
}

// roomNamed is what a program calls a chat by. Those of a project are others than those of the same names elsewhere.
func roomNamed(t programs.Token, by, name string) string {
	return by + ":" + hashOf(name+"\x00"+t.Project)
}

// sentBefore is the ID of the message that the same request has brought a short while ago; empty = it has not.
func (d *Door) sentBefore(ctx context.Context, t programs.Token, key chat.Key, body []byte) (id string, err error) {
	before, err := d.store.Latest(ctx, key, messageID(chat.HTTP, howOpenAI, d.own(t, string(body)), ""), time.Now().Add(-retried))
	if errors.Is(err, programs.ErrNotShown) {
		return "", nil
	}
	return before.ID, err
}

// messageID is the ID of a message: how it came in, what it is, and which one of these.
func messageID(channel, how, what, number string) string {
	return channel + ":" + how + "-" + hashOf(what)[:32] + "." + number
}

// complete answers a question. Once it is taken in, no status is one after which a client would ask again.
func (d *Door) complete(w http.ResponseWriter, r *http.Request, t programs.Token) error {
	data, err := readBody(w, r)
	var c completion
	if err == nil {
		c, err = d.parse(data)
	}
	if err == nil && c.Model == modelOnce {
		return d.completeOnce(w, r, t, c)
	}
	var s sent
	if err == nil {
		s, err = d.place(r.Context(), t, r, c, data)
	}
	if err == nil { // the same message once more changes nothing
		asked := c.asked()
		last := asked[len(asked)-1]
		err = d.take(r.Context(), t, s.key, s.id, last.text, last.pictures)
	}
	if err != nil {
		return err
	}
	w.Header().Set("X-Magpie-Chat", s.key.String())
	out := d.newCompleting(w, c, s.key.String()+s.id)
	out.joins = r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Stainless-Retry-Count") != ""
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	alive := make(chan struct{})
	go func() {
		defer close(alive)
		out.keepAlive(ctx, func() {
			if err := d.still(r); err != nil {
				stop(err)
			}
		})
	}()
	a, err := d.follow(ctx, s.key, s.id, s.after, out.grow)
	refused := context.Cause(ctx)
	stop(nil)
	<-alive
	var p *problem
	switch {
	case r.Context().Err() != nil: // the program has gone; its turn goes on
	case errors.As(refused, &p), errors.As(err, &p):
		out.fail(p)
	case err != nil:
		d.log.Error().Err(err).Stringer("chat", s.key).Msg("an answer over HTTP is not found")
		out.fail(badRequest("The answer is not known at the moment. It is stored, and the chat goes on with it."))
	case a.notice != "":
		out.fail(&problem{http.StatusUnprocessableEntity, "server_error", "turn_" + a.state, a.notice})
	default:
		out.end(a)
	}
	return nil
}

// onceSystem is the system prompt of an answer without History and tools, if the program has none.
const onceSystem = "Do what the last message asks, and answer with the result alone."

// completeOnce answers without History and tools. The whole conversation is in the request.
func (d *Door) completeOnce(w http.ResponseWriter, r *http.Request, t programs.Token, c completion) error {
	key, err := d.store.Room(r.Context(), t, []string{"once"}, []string{"once"}, roomKey(uuid.NewString()))
	if err != nil {
		return err
	}
	var system, text []string
	for _, m := range c.Messages {
		switch m.Role {
		case "system", "developer":
			system = append(system, m.Content.text)
		case "user":
			text = append(text, m.Content.text)
		default:
			text = append(text, "("+m.Role+": "+m.Content.text+")")
		}
	}
	out := d.newCompleting(w, c, uuid.NewString())
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	alive := make(chan struct{})
	go func() { defer close(alive); out.keepAlive(ctx, func() {}) }()
	said, err := d.Once(ctx, key, t.ID, cmp.Or(strings.Join(system, "\n\n"), onceSystem), strings.Join(text, "\n\n"))
	stop()
	<-alive
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		d.log.Warn().Err(err).Stringer("chat", key).Msg("nothing is answered over HTTP")
		out.fail(&problem{http.StatusUnprocessableEntity, "server_error", "turn_failed", "The agent has not answered, or a limit is reached."})
	default:
		out.end(answer{text: said})
	}
	return nil
}

// usage is what an answer has used, in the words of OpenAI's API.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// usageOf is what a turn has used.
func (d *Door) usageOf(ctx context.Context, key chat.Key, turn int64) usage {
	all, written, err := d.store.TokensOf(ctx, key, turn)
	if err != nil {
		d.log.Error().Err(err).Stringer("chat", key).Msg("what an answer has used is not known")
	}
	return usage{Prompt: all - written, Completion: written, Total: all}
}
