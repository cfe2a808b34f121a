package feishusim

import (
	"slices"
	"time"
)

// chatMembers are the people and the bot as members of chats: what users change about it, and the events that report
// that to the bot. A wrong ID passed to a method is a bug of the caller and panics.
type chatMembers struct{ *eventSource }

// Join makes a user a member of a group. Most apps get no event for it; see TellJoined.
func (m *chatMembers) Join(chatID string, u User) {
	m.act(func(w *world) *event {
		c := w.mustChat(chatID)
		c.Members = append(slices.Clone(c.Members), u)
		return nil
	})
}

// TellJoined sends the event for people who have joined a group (doc: im-v1/chat-member/events/added).
func (m *chatMembers) TellJoined(chatID string, users ...User) {
	m.act(func(w *world) *event { return w.joined(w.mustChat(chatID), users) })
}

// AddBot makes a user add the bot to a group.
func (m *chatMembers) AddBot(chatID string, by User) {
	m.act(botMember(chatID, by, true, eventBotAdded))
}

// RemoveBot makes a user remove the bot from a group.
func (m *chatMembers) RemoveBot(chatID string, by User) {
	m.act(botMember(chatID, by, false, eventBotDeleted))
}

func botMember(chatID string, by User, in bool, kind string) func(*world) *event {
	return func(w *world) *event {
		c := w.mustChat(chatID)
		c.BotIn = in
		return w.membership(kind, c, by)
	}
}

// Disband makes a user dissolve a group.
func (m *chatMembers) Disband(chatID string, by User) {
	m.act(func(w *world) *event {
		c := w.mustChat(chatID)
		c.dissolved = true
		return w.membership(eventDisbanded, c, by)
	})
}

// EnterChat makes a user open the private chat with the bot.
func (m *chatMembers) EnterChat(u User) {
	m.act(func(w *world) *event {
		c := w.privateChat(u)
		body := map[string]any{"chat_id": c.ID, "operator_id": u.ids()}
		if all := w.messages.in(c.ID); len(all) > 0 {
			last := all[len(all)-1]
			body["last_message_id"], body["last_message_create_time"] = last.ID, millis(last.Created)
		}
		return w.newEvent(eventChatEntered, "", body)
	})
}

// ChooseMenu chooses the item of the bot's menu that has this key.
func (m *chatMembers) ChooseMenu(u User, key string) {
	m.act(func(w *world) *event {
		return w.newEvent(eventMenu, "", map[string]any{
			"operator": map[string]any{"operator_name": u.Name, "operator_id": u.ids()}, "event_key": key,
			"timestamp": time.Now().Unix(),
		})
	})
}
