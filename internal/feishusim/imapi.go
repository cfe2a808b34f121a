package feishusim

import (
	"crypto/sha256"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxUUID is the length of an idempotency key of create and reply (doc: im-v1/message/create).
const maxUUID = 50

// codeUnknownMessage: no message has this id in the tenant.
const codeUnknownMessage = 99992354

// imAPI serves im-v1/message.
type imAPI struct {
	world        *world
	push         func(*event)
	limit        *limiter
	limits       Limits
	mentionsOnly bool
}

func (a *imAPI) routes() []route {
	const base = "/open-apis/im/v1/messages"
	return []route{
		api("POST "+base, a.create),
		api("POST "+base+"/{message_id}/reply", a.reply),
		api("PATCH "+base+"/{message_id}", a.patch),
		api("PUT "+base+"/{message_id}", a.edit),
		api("DELETE "+base+"/{message_id}", a.recall),
		api("GET "+base+"/{message_id}", a.get),
		api("GET "+base, a.list),
	}
}

// outgoing is the body of create and reply.
type outgoing struct {
	ReceiveID string `json:"receive_id"`
	MsgType   string `json:"msg_type"`
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	InThread  bool   `json:"reply_in_thread"`
}

// create sends a message to a chat or a person (doc: im-v1/message/create).
func (a *imAPI) create(q *request) (any, *refusal) {
	var in outgoing
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	idType := q.URL.Query().Get("receive_id_type")
	if in.ReceiveID == "" || idType == "" {
		return nil, refuse(RuleField, codeField, "field validation failed: receive_id and receive_id_type are required")
	}
	return a.send(q, in, func() (*chat, *message, *refusal) {
		c, bad := a.world.receiver(idType, in.ReceiveID)
		return c, nil, bad
	})
}

// reply replies to a message. A recalled one cannot be replied to (code 230011), and the client has to fall back to
// create.
func (a *imAPI) reply(q *request) (any, *refusal) {
	var in outgoing
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	return a.send(q, in, func() (*chat, *message, *refusal) {
		parent, bad := a.world.reachable(q.PathValue("message_id"), codeRecalled)
		if bad != nil {
			return nil, nil, bad
		}
		return a.world.chat(parent.ChatID), parent, nil
	})
}

// refersToEntity reports whether a message shows a CardKit card.
func refersToEntity(in outgoing) bool {
	var content struct{ Type string }
	return in.MsgType == "interactive" && json.Unmarshal([]byte(in.Content), &content) == nil && content.Type == "card"
}

// send is the common part of create and reply. target finds the chat, and the message to reply to, if any.
func (a *imAPI) send(q *request, in outgoing, target func() (*chat, *message, *refusal)) (any, *refusal) {
	if utf8.RuneCountInString(in.UUID) > maxUUID {
		return nil, refuse(RuleField, codeField, "field validation failed: uuid is longer than %d", maxUUID)
	}
	if in.UUID == "" {
		q.violate(RuleUUIDMissing, "%s %s without uuid", q.Method, q.URL.Path)
	}
	w := a.world
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	// The hash decides whether a repeated uuid is a retry of this message or a mistake of the client.
	hash := sha256.Sum256([]byte(q.URL.Path + "\x00" + in.ReceiveID + "\x00" + in.MsgType + "\x00" + in.Content))
	if old, ok := w.messages.sentAs(in.UUID, time.Now()); ok && in.UUID != "" {
		// A restarted process does not know the entity of the previous one: it creates another with the same uuid, and
		// gets the first message back.
		if old.request != hash && !refersToEntity(in) {
			q.violate(RuleUUIDReused, "uuid %q was used for another message", in.UUID)
		}
		return w.messages.byID[old.message].data(w.tenant, false), nil
	}
	c, parent, bad := target()
	if bad == nil {
		bad = c.writable()
	}
	if bad == nil && c.silence != 0 {
		bad = refuse("", c.silence, "The bot may not write in this chat.")
	}
	if bad == nil {
		bad = a.perChat(c)
	}
	if bad != nil {
		return nil, bad
	}
	m, bad := a.compose(q, in.MsgType, in.Content)
	if bad != nil {
		return nil, bad
	}
	m.ChatID = c.ID
	if parent != nil {
		w.messages.answer(m, parent, in.InThread)
	} else if c.Mode == modeTopic {
		m.ThreadID = newID("omt_")
	}
	w.messages.insert(m)
	if in.UUID != "" {
		w.messages.uuids[in.UUID] = sent{at: time.Now(), message: m.ID, request: hash}
	}
	return m.data(w.tenant, false), nil
}

// perChat counts a message against the chat's limit.
func (a *imAPI) perChat(c *chat) *refusal {
	if _, ok := a.limit.allow(time.Now(), quota{"chat " + c.ID, a.limits.ChatPerSecond, time.Second}); !ok {
		return refuse(RuleRate, codeChatFrequency, "trigger frequency limit of the chat")
	}
	return nil
}

// patch replaces the card of a message (doc: im-v1/message/patch).
func (a *imAPI) patch(q *request) (any, *refusal) {
	var in struct {
		Content string `json:"content"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	var changed *message
	data, bad := a.change(q, func(m *message) *refusal {
		switch {
		case m.Type != "interactive":
			return refuse(RuleContent, codeParam,
				"Your request contains an invalid request parameter, ext=This message is NOT a card.")
		case time.Since(m.Created) > updatable:
			return refuse("", codeTooOld, "The message is too old to be updated.")
		case m.CardID != "":
			q.violate(RulePatchEntity, "message %s shows card entity %s", m.ID, m.CardID)
		}
		old := m.card()
		root, bad := a.inlineCard(q, in.Content)
		if bad != nil {
			return bad
		}
		if !shared(old) || !shared(root) {
			return refuse(RuleCard, codeParam,
				"Your request contains an invalid request parameter, ext=update_multi must be true before and after")
		}
		m.Content = in.Content
		m.showCard(root, "patch")
		changed = m
		return nil
	})
	a.world.pushCardUpdate(changed, a.push)
	return data, bad
}

// edit replaces a text or post (doc: im-v1/message/update).
func (a *imAPI) edit(q *request) (any, *refusal) {
	var in outgoing
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	return a.change(q, func(m *message) *refusal {
		switch {
		case in.MsgType != "text" && in.MsgType != "post" || m.Type != "text" && m.Type != "post":
			return refuse(RuleContent, codeType, "This operation is not supported for this message type.")
		case m.edits >= maxEdits:
			return refuse(RuleContent, codeEdits, "The message has reached the number of times it can be edited.")
		}
		if bad := a.world.files.check(q, in.MsgType, in.Content); bad != nil {
			return bad
		}
		m.edits++
		m.Type, m.Content = in.MsgType, in.Content
		m.recordState("edit", visibleContent(m.Type, m.Content, nil), nil, false)
		return nil
	})
}

// change runs f on a message of the bot, within the message's own rate limit, and answers with the message.
func (a *imAPI) change(q *request, f func(*message) *refusal) (any, *refusal) {
	return a.own(q, refuse(RulePermission, codeNotSender, "The operator is not the sender of the message."),
		func(m *message) (any, *refusal) {
			if _, ok := a.limit.allow(time.Now(),
				quota{"message " + m.ID, a.limits.MessagePerSecond, time.Second}); !ok {
				return nil, refuse(RuleRate, codeChatFrequency, "trigger frequency limit of the message")
			}
			if bad := f(m); bad != nil {
				return nil, bad
			}
			m.updated = time.Now()
			return m.data(a.world.tenant, false), nil
		})
}

// recall recalls a message of the bot (doc: im-v1/message/delete).
func (a *imAPI) recall(q *request) (any, *refusal) {
	return a.own(q, refuse(RulePermission, codeNoRecall, "No permission to recall this message."),
		func(m *message) (any, *refusal) {
			m.recall()
			return map[string]any{}, nil
		})
}

// own runs f on the message that q names, which must be the bot's.
func (a *imAPI) own(q *request, foreign *refusal, f func(*message) (any, *refusal)) (any, *refusal) {
	w := a.world
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	m, bad := w.reachable(q.PathValue("message_id"), codeRecalled)
	if bad != nil {
		return nil, bad
	}
	if !m.FromBot {
		return nil, foreign
	}
	return f(m)
}
