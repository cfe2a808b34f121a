package feishusim

import (
	"encoding/json"
	"slices"
	"time"
)

// people are the users: what they do in the chats, and the events that tell the bot of it. A wrong id given to a
// method is a mistake of the caller and panics.
type people struct {
	world        *world
	hub          *hub
	mentionsOnly bool
}

// act changes the world and then pushes the event that f returns, if any.
func (p *people) act(f func(w *world) *event) {
	ev := func() *event {
		p.world.mu.Lock()
		defer p.world.mu.Unlock()
		return f(p.world)
	}()
	p.world.notify.bump()
	if ev != nil {
		p.hub.push(ev)
	}
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

// Edit makes the sender of a text or post write something else in its place. The mentions stay as they are. The form of
// its event is not documented; it is that of a new message.
func (p *people) Edit(messageID string, content json.RawMessage) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		i := slices.IndexFunc(w.users, func(u User) bool { return u.OpenID == m.Sender.ID })
		if m.Deleted || i < 0 {
			return nil
		}
		m.Content = addMentions(m.Type, content, m.mentions, false)
		m.updated = time.Now()
		m.show("edit", visibleContent(m.Type, m.Content, m.mentions), nil, false)
		return w.messageEvent(eventUpdated, m, w.users[i], w.mustChat(m.ChatID))
	})
}

// Redeliver pushes a user's message once more, as the platform may do even after an ack: the same event, or with
// newEventID another event of the same message.
func (p *people) Redeliver(messageID string, newEventID bool) {
	p.act(func(w *world) *event {
		ev := w.messages.must(messageID).event
		if ev == nil {
			panic("feishusim: no event told of " + messageID)
		}
		if newEventID {
			return ev.renamed(randomHex(16))
		}
		return ev
	})
}

// React makes a user put an emoji on a message.
func (p *people) React(messageID string, by User, emoji string) {
	p.act(func(w *world) *event {
		m := w.messages.must(messageID)
		r := m.react(Sender{ID: by.OpenID, Type: "user", Name: by.Name}, by, emoji)
		return w.reacted(eventReactionCreated, m, r)
	})
}

// Unreact makes a user take an emoji back.
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

// Read makes a user see a message of the bot in a private chat.
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
			m.parts = append(m.parts, w.messages.must(id).passedOn(m.ID))
		}
	})
}

// passedOn is the message as a part of the merged forward with the id upper.
func (m *message) passedOn(upper string) *message {
	part := *m
	part.ID, part.upper, part.parts = newID("om_"), upper, nil
	for _, p := range m.parts {
		part.parts = append(part.parts, p.passedOn(part.ID))
	}
	return &part
}

// Join makes somebody a member of a group. Most apps get no event for it; see TellJoined.
func (p *people) Join(chatID string, u User) {
	p.act(func(w *world) *event {
		c := w.mustChat(chatID)
		c.Members = append(slices.Clone(c.Members), u)
		return nil
	})
}

// TellJoined sends the event for people who have joined a group (doc: im-v1/chat-member/events/added).
func (p *people) TellJoined(chatID string, users ...User) {
	p.act(func(w *world) *event { return w.joined(w.mustChat(chatID), users) })
}

// AddBot makes a user add the bot to a group.
func (p *people) AddBot(chatID string, by User) { p.act(botMember(chatID, by, true, eventBotAdded)) }

// RemoveBot makes a user remove the bot from a group.
func (p *people) RemoveBot(chatID string, by User) {
	p.act(botMember(chatID, by, false, eventBotDeleted))
}

func botMember(chatID string, by User, in bool, kind string) func(*world) *event {
	return func(w *world) *event {
		c := w.mustChat(chatID)
		c.BotIn = in
		return w.membership(kind, c, by)
	}
}

// Disband makes a user dissolve a group.
func (p *people) Disband(chatID string, by User) {
	p.act(func(w *world) *event {
		c := w.mustChat(chatID)
		c.dissolved = true
		return w.membership(eventDisbanded, c, by)
	})
}

// EnterChat makes a user open the private chat with the bot.
func (p *people) EnterChat(u User) {
	p.act(func(w *world) *event {
		c := w.privateChat(u)
		body := map[string]any{"chat_id": c.ID, "operator_id": u.ids()}
		if all := w.messages.in(c.ID); len(all) > 0 {
			last := all[len(all)-1]
			body["last_message_id"], body["last_message_create_time"] = last.ID, millis(last.Created)
		}
		return w.newEvent(eventChatEntered, "", body)
	})
}

// Emit pushes an event of any type with this body, for what there is no method.
func (p *people) Emit(eventType string, body any) {
	p.act(func(w *world) *event { return w.newEvent(eventType, "", body) })
}

// EmitPayload pushes an event whose payload is these bytes, whatever they are, and returns the id of the event.
func (p *people) EmitPayload(payload []byte) (eventID string) {
	ev := &event{id: randomHex(16), payload: payload}
	p.hub.push(ev)
	return ev.id
}
