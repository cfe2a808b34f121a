package feishusim

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

const (
	uuidMemory  = time.Hour           // how long an idempotency key is remembered (doc: im-v1/message/create)
	maxEdits    = 20                  // edits of one message (doc: im-v1/message/update)
	updatable   = 14 * 24 * time.Hour // how long cards can be updated (doc: im-v1/message/patch)
	maxStates   = 1000                // kept per message; the first shows the creation, so the second oldest goes
	recalledMsg = "This message was recalled"
)

// message is a Message with its hidden state.
type message struct {
	Message
	entity    *entity // that CardID names
	mentions  []mention
	updated   time.Time
	edited    bool // by its author
	edits     int
	event     *event      // its event, for redelivery
	reactions []*reaction // with their ids
	unreacted []string    // removed IDs: a client that lost the answer may retry the removal
	upper     string      // the merged forward that it is part of
	parts     []*message  // of a merged forward
}

// reaction is one emoji of one user or bot on a message.
type reaction struct {
	id, emoji string
	user      User // zero for the bot
	by        Sender
	at        time.Time
}

// mention is an entry of a message's mentions.
type mention struct {
	key  string // @_user_1
	user User
}

// copy shares the states with the message. That is safe without a lock, because states are only ever
// appended; Clip makes sure that an append by the caller copies them.
func (m *message) copy() Message {
	out := m.Message
	out.States = slices.Clip(m.States)
	for _, r := range m.reactions {
		out.Reactions = append(out.Reactions, r.emoji)
	}
	return out
}

// recordState appends a state.
func (m *message) recordState(op, text string, card json.RawMessage, streaming bool) {
	if len(m.States) >= maxStates {
		m.States = append(m.States[:1:1], m.States[2:]...)
	}
	m.States = append(m.States, State{At: time.Now(), Op: op, Text: text, Card: card, Streaming: streaming})
}

// card returns the card that the message shows, or nil.
func (m *message) card() map[string]any {
	if m.entity != nil {
		return m.entity.root
	}
	var card map[string]any
	if m.Type == "interactive" && len(m.States) > 0 {
		_ = json.Unmarshal(m.Last().Card, &card) // a card that a user forwarded has no JSON here
	}
	return card
}

// showCard shows another card in the message.
func (m *message) showCard(root map[string]any, op string) {
	if m.entity != nil {
		m.entity.root = root
		m.entity.recordState(op)
		return
	}
	m.recordState(op, visibleCard(root), mustJSON(root), false)
}

func (m *message) recall() {
	m.Deleted = true
	m.updated = time.Now()
	m.recordState("recall", "", nil, false)
}

// react adds an emoji to the message. As on the platform, each user or bot has the same emoji on a message only once.
func (m *message) react(by Sender, user User, emoji string) *reaction {
	for _, r := range m.reactions {
		if r.by.ID == by.ID && r.emoji == emoji {
			return r
		}
	}
	r := &reaction{id: "ZC" + randomHex(24), emoji: emoji, by: by, user: user, at: time.Now()}
	m.reactions = append(m.reactions, r)
	return r
}

// messages is the store of all messages.
type messages struct {
	byID  map[string]*message
	list  []*message            // by time of creation
	chats map[string][]*message // of list, by chat
	uuids map[string]sent
}

func (ms *messages) insert(m *message) {
	ms.byID[m.ID] = m
	ms.list = byTime(ms.list, m)
	ms.chats[m.ChatID] = byTime(ms.chats[m.ChatID], m)
}

// moment is the time of a message that is written now. People of a chat see their messages in one order, but message
// times have millisecond precision, so two messages of a chat never get the same one.
func (ms *messages) moment(chat string) time.Time {
	now := time.Now()
	if list := ms.chats[chat]; len(list) > 0 {
		if after := list[len(list)-1].Created.Add(time.Millisecond); after.After(now) && after.Sub(now) < time.Second {
			return after
		}
	}
	return now
}

// byTime inserts m into a list that is sorted by time. Tests may write messages of the past, so the new one need not be
// the last.
func byTime(list []*message, m *message) []*message {
	i, _ := slices.BinarySearchFunc(list, m, func(a, b *message) int {
		if a.Created.After(b.Created) {
			return 1
		}
		return -1 // equal times: after the existing ones
	})
	return slices.Insert(list, i, m)
}

// must is for the API of tests, where a wrong ID is a bug of the test.
func (ms *messages) must(id string) *message {
	m := ms.byID[id]
	if m == nil {
		panic("feishusim: no message " + id)
	}
	return m
}

func (ms *messages) in(chatID string) []*message { return slices.Clone(ms.chats[chatID]) }

// answer makes m a reply to the message with this ID. Inside a topic both references name the topic's first message
// (doc: im-v1/message/events/receive). With topic set, the parent's topic is created if necessary.
func (ms *messages) answer(m *message, parent *message, topic bool) {
	if topic && parent.ThreadID == "" {
		parent.ThreadID = newID("omt_")
	}
	m.ThreadID = parent.ThreadID
	m.RootID = cmp.Or(parent.RootID, parent.ID)
	m.ParentID = parent.ID
	if m.ThreadID != "" {
		m.RootID = ms.threadRoot(m.ThreadID).ID
		m.ParentID = m.RootID
	}
}

// threadRoot returns the first message of a topic, or nil. The list is sorted by time, so the first match is it.
func (ms *messages) threadRoot(threadID string) *message {
	if threadID == "" {
		return nil
	}
	for _, m := range ms.list {
		if m.ThreadID == threadID {
			return m
		}
	}
	return nil
}

// ForgetKeys expires all idempotency keys of create and reply, as an hour does.
func (w *world) ForgetKeys() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.messages.uuids)
}

// sentAs returns the message that was sent with this idempotency key within the last hour.
func (ms *messages) sentAs(uuid string, now time.Time) (sent, bool) {
	s, ok := ms.uuids[uuid]
	if ok && now.Sub(s.at) >= uuidMemory {
		delete(ms.uuids, uuid)
		return sent{}, false
	}
	return s, ok
}

// sent is the result of a create or reply, kept for its idempotency key.
type sent struct {
	at      time.Time
	message string
	request [32]byte // hash of chat, type and content
}
