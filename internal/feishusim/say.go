package feishusim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SendOptions are the circumstances of a user's message.
type SendOptions struct {
	Mention      bool      // the bot is mentioned
	MentionAll   bool      // everyone is mentioned: @_all in the text, no entry in mentions
	MentionUsers []User    // others are mentioned
	Thread       string    // the topic it is written in, or NewThread
	ReplyTo      string    // the message it replies to
	Time         time.Time // create_time; default now
}

// SendOption sets one of SendOptions.
type SendOption func(*SendOptions)

// NewThread as a topic starts one: on the message that ReplyTo names, otherwise with the new message as the first.
const NewThread = "new"

// Mention mentions the bot.
func Mention() SendOption { return func(o *SendOptions) { o.Mention = true } }

// MentionAll mentions everyone.
func MentionAll() SendOption { return func(o *SendOptions) { o.MentionAll = true } }

// MentionUsers mentions these users.
func MentionUsers(users ...User) SendOption {
	return func(o *SendOptions) { o.MentionUsers = append(o.MentionUsers, users...) }
}

// Thread writes in a topic, or with NewThread starts one.
func Thread(id string) SendOption { return func(o *SendOptions) { o.Thread = id } }

// ReplyTo replies to a message.
func ReplyTo(messageID string) SendOption { return func(o *SendOptions) { o.ReplyTo = messageID } }

// Time sets the message's create_time.
func Time(t time.Time) SendOption { return func(o *SendOptions) { o.Time = t } }

// Say makes a user write a text and returns the message's ID; the event has been pushed.
func (p *people) Say(chatID string, from User, text string, opt ...SendOption) string {
	return p.Send(chatID, from, "text", mustJSON(map[string]string{"text": text}), opt...)
}

// Post makes a user write rich text. content has the received form, {"title":..,"content":[[..]]} without language.
func (p *people) Post(chatID string, from User, content json.RawMessage, opt ...SendOption) string {
	return p.Send(chatID, from, "post", content, opt...)
}

// Send makes a user write a message of any type with content as the platform would pass it to the bot.
func (p *people) Send(chatID string, from User, msgType string, content json.RawMessage, opt ...SendOption) string {
	return p.send(chatID, from, msgType, content, opt, func(*world, *message) {})
}

// send stores the message, lets finish complete it, and pushes its event if the app is entitled to it.
func (p *people) send(chatID string, from User, msgType string, content json.RawMessage, opt []SendOption,
	finish func(*world, *message)) (id string) {
	var o SendOptions
	for _, f := range opt {
		f(&o)
	}
	p.act(func(w *world) *event {
		c := w.mustChat(chatID)
		m := w.write(c, from, msgType, content, o)
		finish(w, m)
		m.event = w.received(m, from, c)
		id = m.ID
		if c.BotIn && !c.dissolved && (c.private() || !p.mentionsOnly || o.Mention) &&
			(from.AppID == "" || p.page.has("im:message.group_at_msg.include_bot:readonly")) {
			return m.event
		}
		return nil
	})
	return id
}

// write stores a user's message.
func (w *world) write(c *chat, from User, msgType string, content json.RawMessage, o SendOptions) *message {
	m := &message{Message: Message{ID: newID("om_"), ChatID: c.ID, Type: msgType,
		Sender: from.sender(), Created: o.Time}}
	if m.Created.IsZero() {
		m.Created = w.messages.moment(c.ID)
	}
	m.mentions = w.mentionsOf(o)
	if m.Content = addMentions(msgType, content, m.mentions, o.MentionAll); msgType == "interactive" && from.AppID != "" {
		m.Content = shownBotCard(content, m.mentions, o.MentionAll)
	}
	switch root := w.messages.threadRoot(o.Thread); {
	case o.ReplyTo != "":
		w.messages.answer(m, w.messages.must(o.ReplyTo), o.Thread != "")
	case o.Thread == NewThread, c.Mode == modeTopic && root == nil && o.Thread == "":
		m.ThreadID = newID("omt_")
	case root != nil:
		w.messages.answer(m, root, true)
	case o.Thread != "":
		panic(fmt.Sprintf("feishusim: no topic %q", o.Thread))
	}
	m.updated = m.Created
	m.recordState("create", visibleContent(msgType, m.Content, m.mentions), nil, false)
	w.messages.insert(m)
	return m
}

func (a *app) mentionsOf(o SendOptions) []mention {
	users := slices.Clone(o.MentionUsers)
	if o.Mention {
		users = slices.Insert(users, 0, User{
			OpenID: a.botID, UnionID: "on_" + strings.TrimPrefix(a.botID, "ou_"), Name: a.bot.Name,
		})
	}
	var out []mention
	for i, u := range users {
		out = append(out, mention{key: fmt.Sprintf("@_user_%d", i+1), user: u})
	}
	return out
}

// addMentions puts the mentions before the words of a text or post. Other types have none.
func addMentions(msgType string, content json.RawMessage, mentions []mention, all bool) string {
	if len(mentions) == 0 && !all {
		return string(content)
	}
	switch msgType {
	case "text":
		return addTextMentions(content, mentions, all)
	case "post":
		return addPostMentions(content, mentions, all)
	}
	return string(content)
}

func addTextMentions(content json.RawMessage, mentions []mention, all bool) string {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &in); err != nil {
		panic("feishusim: text content: " + err.Error())
	}
	var b strings.Builder
	for _, m := range mentions {
		b.WriteString(m.key + " ")
	}
	if all {
		b.WriteString("@_all ")
	}
	in.Text = b.String() + in.Text
	return string(mustJSON(in))
}

func addPostMentions(content json.RawMessage, mentions []mention, all bool) string {
	var in post
	if err := json.Unmarshal(content, &in); err != nil {
		panic("feishusim: post content: " + err.Error())
	}
	if len(in.ContentV2) > 0 {
		in.ContentV2[0] = append(mentionsInMarkdown(mentions, all), in.ContentV2[0]...)
		if len(in.Content) == 0 {
			return string(mustJSON(in))
		}
	}
	var line []map[string]any
	for _, m := range mentions {
		line = append(line, map[string]any{
			"tag": "at", "user_id": m.key, "user_name": m.user.Name, "style": []string{},
		},
			map[string]any{"tag": "text", "text": " ", "style": []string{}})
	}
	if all {
		line = append(line, map[string]any{"tag": "at", "user_id": "@_all", "user_name": "", "style": []string{}})
	}
	if len(in.Content) == 0 {
		in.Content = [][]map[string]any{nil}
	}
	in.Content[0] = append(line, in.Content[0]...)
	return string(mustJSON(in))
}

// mentionsInMarkdown are mentions as content_v2 of a post has them.
func mentionsInMarkdown(mentions []mention, all bool) []map[string]any {
	var b strings.Builder
	for _, m := range mentions {
		fmt.Fprintf(&b, "<at user_id=%q>%s</at> ", m.user.OpenID, m.user.Name)
	}
	if all {
		b.WriteString(`<at user_id="all">all</at> `)
	}
	return []map[string]any{{"tag": "md", "text": b.String()}}
}
