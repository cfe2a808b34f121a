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

// Timeouts of the Handler: the platform waits 3 s for an acknowledgement (page "Event subscription overview").
const (
	messageTimeout = 2500 * time.Millisecond // half a second remains for the way of the acknowledgement
	pressTimeout   = time.Second             // a person is waiting, and the platform shows an error after 3 s
)

// ignored are events that an app may be subscribed to and that we do not need. The SDK answers an event without a
// handler with code 500 (event/dispatcher/dispatcher.go, Do); the platform then delivers it again and warns the
// operator.
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

// eventHandler passes what the platform reports to a Handler: events, and messages that were fetched because no event
// arrived.
type eventHandler struct {
	client  *Client
	handler Handler
}

// dispatcher routes the SDK's events. The handlers get ctx and not the SDK's context, which ends with each connection:
// a message that is being stored must be stored even if its acknowledgement cannot be sent any more.
func (t eventHandler) dispatcher(ctx context.Context, missed *backfill) *dispatcher.EventDispatcher {
	c, d := t.client, dispatcher.NewEventDispatcher("", "") // the long connection needs neither token nor key
	d.InitConfig(larkevent.WithLogger(openapi.SDKLogger(c.log)))
	d.OnCustomizedEvent("im.message.receive_v1", func(_ context.Context, e *larkevent.EventReq) error {
		defer c.eventLimiter.enter()()
		c.state.countEvent()
		return t.receive(ctx, missed, gjson.ParseBytes(e.Body))
	})
	for kind, take := range map[string]func(context.Context, gjson.Result) error{
		"im.message.updated_v1": t.messageUpdated, "im.message.recalled_v1": t.messageRecalled,
		"im.chat.member.user.added_v1": t.membersAdded,
	} {
		d.OnCustomizedEvent(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer c.eventLimiter.enter()()
			c.state.countEvent()
			return take(ctx, gjson.ParseBytes(e.Body))
		})
	}
	for kind, did := range membershipEvents {
		d.OnCustomizedEvent(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer c.eventLimiter.enter()()
			c.state.countEvent()
			return t.membershipChanged(ctx, did, gjson.ParseBytes(e.Body))
		})
	}
	for _, kind := range ignored {
		d.OnCustomizedEvent(kind, func(context.Context, *larkevent.EventReq) error {
			c.eventLimiter.enter()()
			return nil
		})
	}
	d.OnP2CardActionTrigger(func(_ context.Context,
		e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		defer c.eventLimiter.enter()()
		c.state.countEvent()
		return t.press(ctx, e), nil
	})
	d.OnP2CardURLPreviewGet(func(context.Context,
		*callback.URLPreviewGetEvent) (*callback.URLPreviewGetResponse, error) {
		c.eventLimiter.enter()()
		return &callback.URLPreviewGetResponse{}, nil
	})
	return d
}

// receive passes on a message event; returning nil acknowledges it. The format is on the page "Receive message"
// (im-v1/message/events/receive).
func (t eventHandler) receive(run context.Context, missed *backfill, payload gjson.Result) error {
	s := fromEvent(payload.Get("event"))
	m, ok := t.client.incoming(s)
	if !ok {
		return nil // not from a person, or without an id: there is nothing to answer
	}
	_ = t.client.resolveChat(run, s, &m) // an event holds everything needed, so there is no call that could fail
	missed.runBefore(run, m.Key)
	return t.deliver(run, m)
}

// deliver passes a message to the handler when it is its turn in the chat.
func (t eventHandler) deliver(run context.Context, m chat.Incoming) error {
	err := t.inOrder(run, m.Key.ID, m.Time, func(ctx context.Context) error {
		m.Actor.Name = t.client.names.lookUp(run, m.Key.ID, m.Actor.ID)
		return t.handler.Message(ctx, m)
	})
	if err == nil {
		t.client.known.add(m.ID)
		t.client.names.publish(run) // the message may have mentioned new people
	}
	return err
}

// membersAdded learns the names of people who join a group (page im-v1/chat-member/events/added).
func (t eventHandler) membersAdded(run context.Context, payload gjson.Result) error {
	for _, u := range payload.Get("event.users").Array() {
		t.client.names.learn(openapi.String(u.Get("user_id.open_id")), openapi.String(u.Get("name")))
	}
	t.client.names.publish(run)
	return nil
}

// inOrder runs f when it is its turn in the chat.
func (t eventHandler) inOrder(run context.Context, room string, at time.Time, f func(context.Context) error) error {
	// A message that has arrived is stored even during shutdown: otherwise the platform would deliver it
	// again only to the next process, up to 6 h later.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), t.client.waits.message)
	defer cancel()
	leave, err := t.client.order.enter(ctx, room, at)
	if err != nil {
		return err
	}
	defer leave()
	return f(ctx)
}

// rawMessage is a message before it is interpreted, with the fields that events and lists share.
type rawMessage struct {
	id          string
	chat        string
	thread      string // the topic that it belongs to; empty = none
	startsTopic bool   // it is the topic's first message
	fromList    bool   // it may be older than its topic
	kind        chat.Kind
	senderID    string // open_id
	senderType  string // user or app
	msgType     string // text, post, image and so on
	content     string // JSON, by its form
	mentions    []mention
	createTime  string // in milliseconds
	parentID    string // the message that it replies to; empty = none
}

// fromEvent reads a message of an event (page im-v1/message/events/receive).
func fromEvent(event gjson.Result) rawMessage {
	msg := event.Get("message")
	s := rawMessage{
		id: openapi.String(msg.Get("message_id")), chat: openapi.String(msg.Get("chat_id")),
		thread: openapi.String(msg.Get("thread_id")), startsTopic: msg.Get("root_id").String() == "", kind: chat.Group,
		senderID:   openapi.String(event.Get("sender.sender_id.open_id")),
		senderType: event.Get("sender.sender_type").String(),
		msgType:    msg.Get("message_type").String(), content: msg.Get("content").String(),
		mentions: mentionsOf(msg, "id.open_id"), createTime: msg.Get("create_time").String(),
		parentID: openapi.String(msg.Get("parent_id")),
	}
	if msg.Get("chat_type").String() == "p2p" {
		s.kind = chat.Private
	}
	return s
}

// fromList reads a message of a list (page im-v1/message/list), which does not contain the kind of chat. A list of a
// chat contains only the first message of each topic; in the list of a topic the first message is the one without a
// root.
func fromList(item gjson.Result, in listQuery, kind chat.Kind) rawMessage {
	return rawMessage{
		id: openapi.String(item.Get("message_id")), chat: openapi.String(item.Get("chat_id")),
		thread: openapi.String(item.Get("thread_id")), kind: kind,
		startsTopic: in.thread == "" || item.Get("root_id").String() == "", fromList: true,
		senderID: openapi.String(item.Get("sender.id")), senderType: item.Get("sender.sender_type").String(),
		msgType: item.Get("msg_type").String(), content: item.Get("body.content").String(),
		mentions: mentionsOf(item, "id"), createTime: item.Get("create_time").String(),
		parentID: openapi.String(item.Get("parent_id")),
	}
}

// incoming converts a message for the handler. It reports false for messages that nobody has to answer: those of the
// platform, of other bots (unless the configuration accepts them), and those with malformed ids.
func (c *Client) incoming(s rawMessage) (chat.Incoming, bool) {
	bot := c.state.botID()
	in := chat.Incoming{
		Key: chat.FeishuChat(s.chat), Kind: s.kind, ID: s.id, Actor: chat.Actor{ID: s.senderID},
		Time: millis(s.createTime), ToBot: s.kind == chat.Private,
	}
	in.Actor.Bot = s.senderType == "app"
	if in.ID == "" || in.Key.ID == "" || s.msgType == "system" ||
		(s.senderType != "user" && s.senderType != "" && !(c.cfg.AnswerBots && s.fromOtherBot(c.cfg.AppID, bot))) {
		return in, false
	}
	if c.refused.malformed(c.log, "a message", []string{s.chat, s.id}, s.thread, s.senderID) {
		return in, false
	}
	// Somebody else is meant only if the bot is not: "@bot ask @Tom" is for the bot.
	in.ToOthers = mentionsAll(s.content)
	for _, m := range s.mentions {
		meant := m.id == bot && bot != ""
		in.ToBot, in.ToOthers = in.ToBot || meant, in.ToOthers || !meant
		c.names.learn(m.id, m.name)
	}
	in.ToOthers = in.ToOthers && !in.ToBot
	r := contentReader{id: s.id, mentions: s.mentions, bot: bot, nameOf: c.names.known}
	text, ok := r.read(s.msgType, gjson.Parse(s.content))
	if !ok {
		in.Unreadable = s.msgType
	}
	in.Text, in.Files = text, r.files
	return in, true
}

// resolveChat finds out to which chat a message belongs, as far as the platform reports it, and which message it
// replies to. In a topic every message replies to the first one, so that is a quote only where the topic is a chat of
// its own, whose History lacks the first message.
func (c *Client) resolveChat(ctx context.Context, s rawMessage, in *chat.Incoming) (err error) {
	in.Key, err = c.topics.chatOf(ctx, s)
	if s.parentID != "" && (s.thread == "" || in.Key.Thread != "") {
		in.Files = append(in.Files, chat.File{Number: len(in.Files) + 1, Kind: chat.Quote, Of: s.parentID})
	}
	return err
}

// fromOtherBot reports whether another bot wrote the message.
func (s rawMessage) fromOtherBot(app, bot string) bool {
	return s.senderType == "app" && s.senderID != "" && s.senderID != app && s.senderID != bot
}

// millis reads a time in milliseconds. An invalid one counts as now, so that the message still gets a place in the
// order.
func millis(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Now().UTC()
	}
	return time.UnixMilli(ms).UTC()
}

// wording is a text that the client itself shows to users.
type wording struct{ zh, en string }

var (
	staleButton = wording{"这个按钮已失效", "This button does not work any more"}
	pressFailed = wording{"操作没有成功，请稍后再试", "That did not work, please try again later"}
)

// words returns w in the language of a new chat: the client does not know the language of an existing one.
func (c Config) words(w wording) string {
	if cmp.Or(c.FixedLang(), c.DefaultLang()) == "en" {
		return w.en
	}
	return w.zh
}

// press passes on a pressed button. The answer is never nil, which the platform would show as an error (page "Card
// callback communication", feishu-cards/card-callback-communication).
func (t eventHandler) press(ctx context.Context,
	e *callback.CardActionTriggerEvent) *callback.CardActionTriggerResponse {
	c := t.client
	ctx, cancel := context.WithTimeout(ctx, c.waits.press)
	defer cancel()
	p, ok := pressOf(e)
	if !ok || c.refused.malformed(c.log, "a button", []string{p.Key.ID, p.Actor.ID}, p.Card, p.ID) {
		return toastOf("error", c.cfg.words(staleButton))
	}
	p.Actor.Name = c.names.known(p.Actor.ID)
	key, err := c.topics.chatOfPress(ctx, p)
	toast := ""
	if err == nil { // with the wrong chat the press would have another meaning
		p.Key = key
		toast, err = t.handler.Press(ctx, p)
	}
	switch {
	case err != nil:
		zerolog.Ctx(ctx).Warn().Err(err).Str("chat", p.Key.String()).Str("do", p.Action.Do).
			Msg("feishu: press not handled")
		return toastOf("error", cmp.Or(toast, c.cfg.words(pressFailed)))
	case toast == "":
		return &callback.CardActionTriggerResponse{}
	}
	return toastOf("info", toast)
}

// pressOf reads a press event. It reports false if an essential part is missing.
func pressOf(e *callback.CardActionTriggerEvent) (chat.Press, bool) {
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

// toastOf is an answer that shows a short text to the person who pressed, and changes no card.
func toastOf(kind, text string) *callback.CardActionTriggerResponse {
	return &callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: kind, Content: text}}
}
