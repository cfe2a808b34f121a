package feishu

import (
	"cmp"
	"context"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// rawMessage is a message before it is interpreted, with the fields that events and lists share.
type rawMessage struct {
	id          string
	chat        string
	thread      string // the topic that it belongs to; empty = none
	startsTopic bool   // it is the topic's first message
	fromList    bool   // it may be older than its topic
	edited      bool   // an event reports that its author has edited it
	kind        chat.Kind
	senderID    string // open_id
	senderName  string // empty = not given
	senderType  string // user, or of a bot: bot in events, app in lists
	msgType     string // text, post, image and so on
	content     string // JSON, by its form
	mentions    []mention
	createTime  string // in milliseconds
	repliesTo   repliedTo
}

// repliedTo is the message that a message replies to.
type repliedTo struct {
	id      string // empty = none
	isFirst bool   // of its topic or chain of replies
}

// repliedToOf reads the message that a message of an event or of a list replies to.
func repliedToOf(msg gjson.Result) repliedTo {
	parent := msg.Get("parent_id")
	return repliedTo{openapi.String(parent), parent.String() == msg.Get("root_id").String()}
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
		repliesTo: repliedToOf(msg),
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
	content := item.Get("body.content").String()
	if item.Get("deleted").Bool() {
		content = "" // it only says so
	}
	return rawMessage{
		id: openapi.String(item.Get("message_id")), chat: openapi.String(item.Get("chat_id")),
		thread: openapi.String(item.Get("thread_id")), kind: kind,
		startsTopic: in.thread == "" || item.Get("root_id").String() == "", fromList: true,
		senderID:   cmp.Or(openapi.String(item.Get("sender.open_bot_id")), openapi.String(item.Get("sender.id"))),
		senderType: item.Get("sender.sender_type").String(),
		senderName: openapi.String(item.Get("sender.sender_name")),
		msgType:    item.Get("msg_type").String(), content: content,
		mentions: mentionsOf(item, "id"), createTime: item.Get("create_time").String(),
		repliesTo: repliedToOf(item),
	}
}

// messageReader converts messages, of events and of lists, for the handler.
type messageReader struct {
	appID      string
	answerBots bool // accept messages of other bots
	state      *state
	names      *names
	topics     *topics
	private    privateChats
	edits      *lru.Cache[string, int64] // when the latest edit of a message was made that the handler has accepted
	malformedLog
}

// incoming converts a message for the handler. It returns false for messages that need no answer: those of the
// platform, of other bots (unless configured), and those with malformed IDs.
func (r *messageReader) incoming(s rawMessage) (chat.Incoming, bool) {
	bot := r.state.botID()
	in := chat.Incoming{
		Key: chat.FeishuChat(s.chat), Kind: s.kind, ID: s.id, Actor: chat.Actor{ID: s.senderID},
		Time: millis(s.createTime), ToBot: s.kind == chat.Private,
	}
	in.Actor.Bot = s.byBot()
	if in.ID == "" || in.Key.ID == "" || s.msgType == "system" ||
		(s.senderType != "user" && s.senderType != "" && !(r.answerBots && s.fromOtherBot(r.appID, bot))) {
		return in, false
	}
	if r.anyMalformed("a message", []string{s.chat, s.id}, s.thread, s.senderID) {
		return in, false
	}
	if s.kind == chat.Private && !s.byBot() {
		r.private.Add(s.senderID, s.chat)
	}
	// A mention of others counts only if the bot is not mentioned: "@bot ask @Tom" is for the bot.
	in.ToOthers = mentionsAll(sentCard(gjson.Parse(s.content)))
	for _, m := range s.mentions {
		meant := m.id == bot && bot != ""
		in.ToBot, in.ToOthers = in.ToBot || meant, in.ToOthers || !meant
		r.names.learn(m.id, m.name)
	}
	in.ToOthers = in.ToOthers && !in.ToBot
	r.names.learn(s.senderID, s.senderName)
	content := contentReader{
		id: s.id, mentions: s.mentions, bot: bot, nameOf: r.names.cached, readBack: s.fromList || s.edited,
	}
	text, ok := content.read(s.msgType, gjson.Parse(s.content))
	if !ok {
		in.Unreadable = s.msgType
	}
	in.Text, in.Files = text, content.files
	if text == "" && s.content != "" && len(in.Files) == 0 && len(s.mentions) == 0 {
		r.logEmpty(s)
	}
	return in, true
}

// resolveChat finds the chat of a message, as far as the platform reports it, and the message it replies to. In a topic
// every message replies to the first one, so that is a quote only if the topic is a chat of its own, whose History
// lacks the first message.
func (r *messageReader) resolveChat(ctx context.Context, s rawMessage, in *chat.Incoming) (err error) {
	in.Key, err = r.topics.chatOf(ctx, s)
	if s.repliesTo.id != "" && (s.thread == "" || in.Key.Thread != "") {
		in.Files = append(in.Files, chat.File{
			Number: len(in.Files) + 1, Kind: chat.Quote, Of: s.repliesTo.id, Topic: s.thread != "" && s.repliesTo.isFirst,
		})
	}
	return err
}

// byBot reports whether a bot wrote the message.
func (s rawMessage) byBot() bool { return s.senderType == "app" || s.senderType == "bot" }

// fromOtherBot reports whether another bot wrote the message.
func (s rawMessage) fromOtherBot(app, bot string) bool {
	return s.byBot() && s.senderID != "" && s.senderID != app && s.senderID != bot
}

// millis parses a time in milliseconds. An invalid one becomes the current time, so that the message still gets a place
// in the order.
func millis(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Now().UTC()
	}
	return time.UnixMilli(ms).UTC()
}
