package feishusim

import (
	"encoding/json"
	"slices"
	"time"
)

// people are the users: their messages and actions in the chats, and the events that report them to the bot. A wrong ID
// passed to a method is a bug of the caller and panics.
type people struct {
	*eventSource
	page         *console
	mentionsOnly bool
}

// Recall makes the sender of a message, a user or the bot, recall it. Only users' messages cause an event.
func (p *people) Recall(messageID string) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		if m.Deleted {
			return nil
		}
		m.recall()
		if m.FromBot {
			return nil
		}
		return w.recalled(m)
	})
}

// Edit makes the sender of a text or post replace its content. The mentions stay as they are. The form of its event is
// not documented; it is that of a new message.
func (p *people) Edit(messageID string, content json.RawMessage) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		i := slices.IndexFunc(w.users, func(u User) bool { return u.OpenID == m.Sender.ID })
		if m.Deleted || i < 0 {
			return nil
		}
		m.Content = addMentions(m.Type, content, m.mentions, false)
		m.updated, m.edited = time.Now(), true
		m.recordState("edit", visibleContent(m.Type, m.Content, m.mentions), nil, false)
		return w.messageEvent(eventUpdated, m, w.users[i], w.mustChat(m.ChatID))
	})
}

// React makes a user add an emoji reaction to a message.
func (p *people) React(messageID string, by User, emoji string) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		r := m.react(Sender{ID: by.OpenID, Type: "user", Name: by.Name}, by, emoji)
		return w.reacted(eventReactionCreated, m, r)
	})
}

// Unreact makes a user remove an emoji reaction.
func (p *people) Unreact(messageID string, by User, emoji string) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		i := slices.IndexFunc(m.reactions, func(r *reaction) bool { return r.by.ID == by.OpenID && r.emoji == emoji })
		if i < 0 {
			return nil
		}
		r := m.reactions[i]
		m.reactions = slices.Delete(m.reactions, i, i+1)
		return w.reacted(eventReactionDeleted, m, r)
	})
}

// Read makes a user read a message of the bot in a private chat.
func (p *people) Read(messageID string, by User) {
	p.act(func(w *world) *event {
		return w.newEvent(eventRead, messageID, map[string]any{
			"reader": map[string]any{
				"reader_id": by.ids(), "read_time": millis(time.Now()), "tenant_key": w.tenant,
			},
			"message_id_list": []string{messageID}})
	})
}

// Forward makes a user forward messages, merged into one, and returns its id.
func (p *people) Forward(chatID string, from User, messageIDs []string, opt ...SendOption) string {
	content := json.RawMessage(`{"content":"Merged and Forwarded Message"}`)
	return p.send(chatID, from, "merge_forward", content, opt, func(w *world, m *message) {
		for _, id := range messageIDs {
			m.parts = append(m.parts, w.messages.must(id).forwarded(m.ID))
		}
	})
}

// forwarded is the message as a part of the merged forward with the ID upper.
func (m *message) forwarded(upper string) *message {
	part := *m
	part.ID, part.upper, part.parts = newID("om_"), upper, nil
	for _, p := range m.parts {
		part.parts = append(part.parts, p.forwarded(part.ID))
	}
	return &part
}
