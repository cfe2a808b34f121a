package feishusim

import (
	"strconv"
	"time"
)

// eventHeader is the header of every event of schema 2.0 (doc: event-subscription-guide/overview).
type eventHeader struct {
	EventID    string `json:"event_id"`
	EventType  string `json:"event_type"`
	CreateTime string `json:"create_time"` // milliseconds; microseconds for card.action.trigger
	Token      string `json:"token"`
	AppID      string `json:"app_id"`
	TenantKey  string `json:"tenant_key"`
}

type userID struct {
	UnionID string `json:"union_id"`
	UserID  string `json:"user_id"`
	OpenID  string `json:"open_id"`
}

func (u User) ids() userID { return userID{UnionID: u.UnionID, UserID: u.UserID, OpenID: u.OpenID} }

type eventMention struct {
	Key       string `json:"key"`
	ID        userID `json:"id"`
	Name      string `json:"name"`
	TenantKey string `json:"tenant_key"`
}

// eventMessage is event.message of im.message.receive_v1 (doc: im-v1/message/events/receive).
type eventMessage struct {
	MessageID   string         `json:"message_id"`
	RootID      string         `json:"root_id,omitempty"`
	ParentID    string         `json:"parent_id,omitempty"`
	CreateTime  string         `json:"create_time"`
	UpdateTime  string         `json:"update_time"`
	ChatID      string         `json:"chat_id"`
	ThreadID    string         `json:"thread_id,omitempty"`
	ChatType    string         `json:"chat_type"`
	MessageType string         `json:"message_type"`
	Content     string         `json:"content"`
	Mentions    []eventMention `json:"mentions,omitempty"`
}

// newEvent wraps body in an event of schema 2.0 with a new event ID. messageID is the chat message that it is about, if
// any; clients must recognize repeated messages by that, not by the event ID.
func (a *app) newEvent(kind, messageID string, body any) *event {
	now := time.Now()
	h := eventHeader{
		EventID: randomHex(16), EventType: kind, CreateTime: millis(now), AppID: a.bot.ID, TenantKey: a.tenant,
	}
	if kind == eventCardAction {
		h.CreateTime = strconv.FormatInt(now.UnixMicro(), 10)
	}
	payload := mustJSON(struct {
		Schema string      `json:"schema"`
		Header eventHeader `json:"header"`
		Event  any         `json:"event"`
	}{"2.0", h, body})
	return &event{id: h.EventID, kind: kind, messageID: messageID, payload: payload}
}

const (
	eventReceive         = "im.message.receive_v1"
	eventRecalled        = "im.message.recalled_v1"
	eventUpdated         = "im.message.updated_v1"
	eventRead            = "im.message.message_read_v1"
	eventReactionCreated = "im.message.reaction.created_v1"
	eventReactionDeleted = "im.message.reaction.deleted_v1"
	eventBotAdded        = "im.chat.member.bot.added_v1"
	eventUserAdded       = "im.chat.member.user.added_v1"
	eventBotDeleted      = "im.chat.member.bot.deleted_v1"
	eventDisbanded       = "im.chat.disbanded_v1"
	eventChatEntered     = "im.chat.access_event.bot_p2p_chat_entered_v1"
	eventMenu            = "application.bot.menu_v6"
	eventCardAction      = "card.action.trigger"
)

// received is the event for a user's new message.
func (a *app) received(m *message, from User, c *chat) *event {
	return a.messageEvent(eventReceive, m, from, c)
}

// messageEvent is an event of this kind with the current content of a user's message.
//
// Events say "bot" where lists say "app" for a bot's message.
func (a *app) messageEvent(kind string, m *message, from User, c *chat) *event {
	senderType := from.sender().Type
	if senderType == "app" {
		senderType = "bot"
	}
	em := eventMessage{MessageID: m.ID, RootID: m.RootID, ParentID: m.ParentID, CreateTime: millis(m.Created),
		UpdateTime: millis(m.updated), ChatID: m.ChatID, ThreadID: m.ThreadID, ChatType: c.kind(), MessageType: m.Type,
		Content: m.Content}
	for _, at := range m.mentions {
		em.Mentions = append(em.Mentions, eventMention{
			Key: at.key, ID: at.user.ids(), Name: at.user.Name, TenantKey: a.tenant,
		})
	}
	return a.newEvent(kind, m.ID, map[string]any{
		"sender":  map[string]any{"sender_id": from.ids(), "sender_type": senderType, "tenant_key": a.tenant},
		"message": em,
	})
}

// pushCardUpdate pushes the event for a changed card of the bot, if the app is subscribed. A nil message is ignored.
func (w *world) pushCardUpdate(m *message, push func(*event)) {
	if m == nil || w.cardUpdates == CardUpdatesUnsubscribed {
		return
	}
	w.mu.Lock()
	ev := w.messageEvent(eventUpdated, m, User{OpenID: w.botID, AppID: w.bot.ID, Name: w.bot.Name}, w.chat(m.ChatID))
	if w.cardUpdates == CardUpdatesBare {
		ev = w.newEvent(eventUpdated, m.ID, map[string]any{"message": map[string]string{
			"message_id": m.ID, "chat_id": m.ChatID, "message_type": m.Type, "update_time": millis(m.updated),
		}})
	}
	w.mu.Unlock()
	push(ev)
}

// recalled is the event for a message that its sender has recalled.
func (a *app) recalled(m *message) *event {
	return a.newEvent(eventRecalled, m.ID, map[string]any{"message_id": m.ID, "chat_id": m.ChatID,
		"recall_time": millis(time.Now()), "recall_type": "message_owner"})
}

// reacted is the event for a reaction. The bot's own reactions come back as events, too, with
// operator_type app, and the bot must ignore them.
func (a *app) reacted(kind string, m *message, r *reaction) *event {
	body := map[string]any{"message_id": m.ID, "reaction_type": map[string]string{"emoji_type": r.emoji},
		"operator_type": r.by.Type, "action_time": millis(time.Now())}
	if r.by.Type == "app" {
		body["app_id"] = r.by.ID
	} else {
		body["user_id"] = r.user.ids()
	}
	return a.newEvent(kind, m.ID, body)
}

// joined is the event for people who have joined a group by themselves.
func (a *app) joined(c *chat, users []User) *event {
	var list []map[string]any
	for _, u := range users {
		list = append(list, map[string]any{"name": u.Name, "tenant_key": a.tenant, "user_id": u.ids()})
	}
	return a.newEvent(eventUserAdded, "",
		map[string]any{"chat_id": c.ID, "operator_id": users[0].ids(), "external": false,
			"operator_tenant_key": a.tenant, "users": list, "name": c.Name})
}

// membership is the event for a bot that was added to a group or removed from it, or for a group that was disbanded.
func (a *app) membership(kind string, c *chat, by User) *event {
	return a.newEvent(kind, "", map[string]any{"chat_id": c.ID, "operator_id": by.ids(), "external": false,
		"operator_tenant_key": a.tenant, "name": c.Name, "i18n_names": map[string]string{"zh_cn": c.Name}})
}
