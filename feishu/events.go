package feishu

import (
	"cmp"
	"context"
	"strconv"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// How long a Handler may take: the platform waits 3 s (page "Event subscription overview").
const (
	messageTimeout = 2500 * time.Millisecond
	pressTimeout   = time.Second
)

// ignored are events that an app may be subscribed to and that mean nothing to us. One without a handler is answered
// with code 500 (event/dispatcher/dispatcher.go, Do), delivered again and reported to the operator.
var ignored = []string{
	"application.bot.menu_v6",
	"im.chat.member.user.deleted_v1",
	"im.chat.member.user.withdrawn_v1",
	"im.chat.updated_v1",
	"im.message.message_read_v1",
	"im.message.reaction.created_v1",
	"im.message.reaction.deleted_v1",
	"p2p_chat_create",
	"vc.bot.meeting_activity_v1",
	"vc.bot.meeting_ended_v1",
	"vc.bot.meeting_invited_v1",
}

// eventHandler hands what the platform tells to a handler: what events tell, and what was missed and is asked for.
type eventHandler struct {
	client  *Client
	handler Handler
}

// dispatcher is what the SDK gives events to. The handler's ctx is not the SDK's, which ends with each connection:
// a message that is being stored should be stored, even though its acknowledgement will not arrive any more.
func (t eventHandler) dispatcher(ctx context.Context, missed *backfill) *dispatcher.EventDispatcher {
	c, d := t.client, dispatcher.NewEventDispatcher("", "") // the long connection needs neither token nor key
	d.InitConfig(larkevent.WithLogger(openapi.SDKLogger(c.log)))
	d.OnCustomizedEvent("im.message.receive_v1", func(_ context.Context, e *larkevent.EventReq) error {
		defer c.eventLimiter.enter()()
		c.state.event()
		return t.receive(ctx, missed, gjson.ParseBytes(e.Body))
	})
	for kind, take := range map[string]func(context.Context, gjson.Result) error{
		"im.message.updated_v1": t.changed, "im.message.recalled_v1": t.recalled, "im.chat.member.user.added_v1": t.joined,
	} {
		d.OnCustomizedEvent(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer c.eventLimiter.enter()()
			c.state.event()
			return take(ctx, gjson.ParseBytes(e.Body))
		})
	}
	for kind, did := range changes {
		d.OnCustomizedEvent(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer c.eventLimiter.enter()()
			c.state.event()
			return t.moved(ctx, did, gjson.ParseBytes(e.Body))
		})
	}
	for _, kind := range ignored {
		d.OnCustomizedEvent(kind, func(context.Context, *larkevent.EventReq) error { c.eventLimiter.enter()(); return nil })
	}
	d.OnP2CardActionTrigger(func(_ context.Context, e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		defer c.eventLimiter.enter()()
		c.state.event()
		return t.press(ctx, e), nil
	})
	d.OnP2CardURLPreviewGet(func(context.Context, *callback.URLPreviewGetEvent) (*callback.URLPreviewGetResponse, error) {
		c.eventLimiter.enter()()
		return &callback.URLPreviewGetResponse{}, nil
	})
	return d
}

// receive hands a message over; returning nil acknowledges it. Its form is on the page "Receive message"
// (im-v1/message/events/receive).
func (t eventHandler) receive(run context.Context, missed *backfill, payload gjson.Result) error {
	s := fromEvent(payload.Get("event"))
	m, ok := t.client.incoming(s)
	if !ok {
		return nil // not from a person, or without an id: nothing that could be answered
	}
	_ = t.client.place(run, s, &m) // an event tells all that it takes
	missed.before(run, m.Key)
	return t.hand(run, m)
}

// hand hands a message over when it is its turn.
func (t eventHandler) hand(run context.Context, m chat.Incoming) error {
	err := t.inOrder(run, m.Key.ID, m.Time, func(ctx context.Context) error {
		m.Actor.Name = t.client.names.of(run, m.Key.ID, m.Actor.ID)
		return t.handler.Message(ctx, m)
	})
	if err == nil {
		t.client.known.add(m.ID)
		t.client.names.pass(run) // of those whom it mentions
	}
	return err
}

// joined learns what those are called who join a group (page im-v1/chat-member/events/added).
func (t eventHandler) joined(run context.Context, payload gjson.Result) error {
	for _, u := range payload.Get("event.users").Array() {
		t.client.names.learn(openapi.String(u.Get("user_id.open_id")), openapi.String(u.Get("name")))
	}
	t.client.names.pass(run)
	return nil
}

// inOrder hands something over when it is its turn in the chat.
func (t eventHandler) inOrder(run context.Context, room string, at time.Time, f func(context.Context) error) error {
	// What has arrived is stored even while the program ends: it need not be delivered again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), t.client.waits.message)
	defer cancel()
	leave, err := t.client.order.enter(ctx, room, at)
	if err != nil {
		return err
	}
	defer leave()
	return f(ctx)
}

// rawMessage is a message in the words that events and lists share.
type rawMessage struct {
	id      string
	chat    string
	thread  string // the topic it stands in; empty = none
	first   bool   // the topic begins with it
	late    bool   // it may have been said before the topic was begun
	kind    chat.Kind
	author  string // open_id
	by      string // what the author is: user, app
	form    string // text, post, image and so on
	content string // JSON, by its form
	people  []mention
	written string // in milliseconds
	answers string // the message that it answers; empty = none
}

// fromEvent is a message as an event tells it (page im-v1/message/events/receive).
func fromEvent(event gjson.Result) rawMessage {
	msg := event.Get("message")
	s := rawMessage{
		id: openapi.String(msg.Get("message_id")), chat: openapi.String(msg.Get("chat_id")),
		thread: openapi.String(msg.Get("thread_id")), first: msg.Get("root_id").String() == "", kind: chat.Group,
		author: openapi.String(event.Get("sender.sender_id.open_id")), by: event.Get("sender.sender_type").String(),
		form: msg.Get("message_type").String(), content: msg.Get("content").String(),
		people: mentionsOf(msg, "id.open_id"), written: msg.Get("create_time").String(),
		answers: openapi.String(msg.Get("parent_id")),
	}
	if msg.Get("chat_type").String() == "p2p" {
		s.kind = chat.Private
	}
	return s
}

// fromList is a message as a list tells it (page im-v1/message/list), which does not say what kind of chat it stands
// in. The messages of one list tell with which of them a topic begins: a chat shows nothing else of its topics.
func fromList(item gjson.Result, in listing, kind chat.Kind) rawMessage {
	return rawMessage{
		id: openapi.String(item.Get("message_id")), chat: openapi.String(item.Get("chat_id")),
		thread: openapi.String(item.Get("thread_id")), kind: kind,
		first: in.thread == "" || item.Get("root_id").String() == "", late: true,
		author: openapi.String(item.Get("sender.id")), by: item.Get("sender.sender_type").String(),
		form: item.Get("msg_type").String(), content: item.Get("body.content").String(),
		people: mentionsOf(item, "id"), written: item.Get("create_time").String(),
		answers: openapi.String(item.Get("parent_id")),
	}
}

// incoming is the message for the handler, if a person wrote it.
func (c *Client) incoming(s rawMessage) (chat.Incoming, bool) {
	bot := c.state.bot()
	in := chat.Incoming{
		Key: chat.FeishuChat(s.chat), Kind: s.kind, ID: s.id, Actor: chat.Actor{ID: s.author},
		Time: millis(s.written), ToBot: s.kind == chat.Private,
	}
	in.Actor.Bot = s.by == "app"
	if in.ID == "" || in.Key.ID == "" || s.form == "system" || (s.by != "user" && s.by != "" && !(c.cfg.AnswerBots && s.byOther(c.cfg.AppID, bot))) {
		return in, false
	}
	if c.refused.malformed(c.log, "a message", []string{s.chat, s.id}, s.thread, s.author) {
		return in, false
	}
	in.ToOthers = callsAll(s.content)
	for _, m := range s.people {
		meant := m.id == bot && bot != ""
		in.ToBot, in.ToOthers = in.ToBot || meant, in.ToOthers || !meant
		c.names.learn(m.id, m.name)
	}
	in.ToOthers = in.ToOthers && !in.ToBot
	r := reading{id: s.id, people: s.people, bot: bot, called: c.names.known}
	text, ok := r.read(s.form, gjson.Parse(s.content))
	if !ok {
		in.Unreadable = s.form
	}
	in.Text, in.Files = text, r.files
	return in, true
}

// place tells to which chat a message belongs, as far as the platform can tell, and which message it answers there. In
// a topic every message answers the first one: that is told only where the topic is a chat of its own, which lacks it.
func (c *Client) place(ctx context.Context, s rawMessage, in *chat.Incoming) (err error) {
	in.Key, err = c.topics.key(ctx, s)
	if s.answers != "" && (s.thread == "" || in.Key.Thread != "") {
		in.Files = append(in.Files, chat.File{Number: len(in.Files) + 1, Kind: chat.Quote, Of: s.answers})
	}
	return err
}

// byOther reports whether another bot has written a message.
func (s rawMessage) byOther(app, bot string) bool {
	return s.by == "app" && s.author != "" && s.author != app && s.author != bot
}

func millis(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Now().UTC()
	}
	return time.UnixMilli(ms).UTC()
}

// wording is something that users are told by the client itself.
type wording struct{ zh, en string }

var (
	staleButton = wording{"这个按钮已失效", "This button does not work any more"}
	pressFailed = wording{"操作没有成功，请稍后再试", "That did not work, please try again later"}
)

// words are w in the language of a new chat: the client does not know what a chat speaks.
func (c Config) words(w wording) string {
	if cmp.Or(c.Spoken(), c.NewLang()) == "en" {
		return w.en
	}
	return w.zh
}

// press hands a pressed button over. The answer is never nil, which the platform would show as an error
// (page "Card callback communication", feishu-cards/card-callback-communication).
func (t eventHandler) press(ctx context.Context, e *callback.CardActionTriggerEvent) *callback.CardActionTriggerResponse {
	c := t.client
	ctx, cancel := context.WithTimeout(ctx, c.waits.press)
	defer cancel()
	p, ok := pressed(e)
	if !ok || c.refused.malformed(c.log, "a button", []string{p.Key.ID, p.Actor.ID}, p.Card, p.ID) {
		return toastOf("error", c.cfg.words(staleButton))
	}
	p.Actor.Name = c.names.known(p.Actor.ID)
	key, err := c.topics.pressed(ctx, p)
	toast := ""
	if err == nil { // in another chat the press would mean something else
		p.Key = key
		toast, err = t.handler.Press(ctx, p)
	}
	switch {
	case err != nil:
		zerolog.Ctx(ctx).Warn().Err(err).Str("chat", p.Key.String()).Str("do", p.Action.Do).Msg("feishu: press not handled")
		return toastOf("error", cmp.Or(toast, c.cfg.words(pressFailed)))
	case toast == "":
		return &callback.CardActionTriggerResponse{}
	}
	return toastOf("info", toast)
}

func pressed(e *callback.CardActionTriggerEvent) (chat.Press, bool) {
	if e == nil || e.Event == nil || e.Event.Action == nil || e.Event.Context == nil || e.Event.Operator == nil {
		return chat.Press{}, false
	}
	var id string
	if e.EventV2Base != nil && e.EventV2Base.Header != nil {
		id = e.EventV2Base.Header.EventID
	}
	value := e.Event.Action.Value
	do, _ := value["do"].(string)
	turn, _ := value["turn"].(float64)
	of, _ := value["id"].(string)
	p := chat.Press{
		ID:     id,
		Key:    chat.FeishuChat(e.Event.Context.OpenChatID),
		Card:   e.Event.Context.OpenMessageID,
		Actor:  chat.Actor{ID: e.Event.Operator.OpenID},
		Action: chat.Action{Do: do, Turn: int64(turn), ID: of},
		Values: cardjson.FormValues(e.Event.Action),
	}
	return p, do != "" && p.Key.ID != "" && p.Actor.ID != ""
}

func toastOf(kind, text string) *callback.CardActionTriggerResponse {
	return &callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: kind, Content: text}}
}
