package feishusim

import (
	"slices"
	"sync"
)

// world is the state of the platform: people, chats, messages, cards, files. One lock guards all but the files; no
// method that holds it calls out.
type world struct {
	notify *notifier
	rec    *records
	alarms *alarms
	app

	*files

	mu sync.Mutex
	directory
	messages messages
	cards    map[string]*entity
	presses  map[string]*press // by their token

	cardUpdates    CardUpdates
	forwardedCards bool
}

func newWorld(cfg Config, n *notifier, rec *records) *world {
	botID := newID("ou_")
	return &world{
		notify: n, rec: rec, alarms: newAlarms(),
		app: app{
			tenant: randomHex(8), botID: botID,
			bot: Sender{ID: cfg.AppID, Type: "app", Name: cfg.BotName, OpenBotID: botID},
		},
		messages: messages{
			byID: make(map[string]*message), chats: make(map[string][]*message), uuids: make(map[string]sent),
		},
		directory: directory{
			byID: make(map[string]*chat), private: make(map[string]*chat), departments: make(map[string]*department),
			departmentsByUser: make(map[string][]string),
		},
		files: newFiles(), cards: make(map[string]*entity), presses: make(map[string]*press),
		cardUpdates: cfg.CardUpdates, forwardedCards: cfg.ForwardedCards,
	}
}

// app is the app and its tenant; it never changes.
type app struct {
	tenant string // tenant_key
	bot    Sender // the bot; its ID is the app id
	botID  string // the bot's open id
}

// Tenant returns the tenant_key of the organization that has the app.
func (a *app) Tenant() string { return a.tenant }

// BotOpenID returns the bot's open id, as in bot/v3/info and in mentions.
func (a *app) BotOpenID() string { return a.botID }

// AddUser adds a person to the tenant.
func (w *world) AddUser(name string) User {
	u := User{OpenID: newID("ou_"), UserID: randomHex(4), UnionID: newID("on_"), Name: name}
	w.mu.Lock()
	w.users = append(w.users, u)
	w.mu.Unlock()
	w.notify.bump()
	return u
}

// Users returns all users that AddUser added.
func (w *world) Users() []User {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.users)
}

// PrivateChat returns the ID of the chat of u and the bot, which is created on first use.
func (w *world) PrivateChat(u User) string {
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.privateChat(u).ID
}

// Group creates a group with the bot already in it and returns its id. There is no event for it; see AddBot.
func (w *world) Group(name string, members ...User) string {
	w.mu.Lock()
	c := w.newChat(Chat{Name: name, Mode: "group", Members: members})
	w.mu.Unlock()
	w.notify.bump()
	return c.ID
}

// Silence makes a chat refuse the bot's messages, as when a group is muted (code 230035), its settings say so (230018),
// or a person does not want them (230053); 0 ends that.
func (w *world) Silence(chatID string, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chat(chatID).silence = code
}

// Chats returns all chats, oldest first.
func (w *world) Chats() []Chat {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Chat, len(w.chats))
	for i, c := range w.chats {
		out[i] = c.Chat
		out[i].Members = slices.Clone(c.Members)
	}
	return out
}

// Message returns a message by its id.
func (w *world) Message(id string) (Message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages.byID[id]
	if m == nil {
		return Message{}, false
	}
	return m.copy(), true
}

// Messages returns the messages of a chat, including recalled ones and those in topics, in the order of their creation.
func (w *world) Messages(chatID string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Message
	for _, m := range w.messages.in(chatID) {
		out = append(out, m.copy())
	}
	return out
}

// reachable returns a message that exists, is not recalled, and is in a chat that the bot is in. gone is the code for a
// recalled one; that is not the client's fault, since a user can recall a message at any time.
func (w *world) reachable(id string, gone int) (*message, *refusal) {
	m := w.messages.byID[id]
	if m == nil {
		return nil, refuse(RuleUnknownID, codeUnknownMessage,
			"The request you send is not a valid {open_message_id} or not exists: %q", id)
	}
	if m.Deleted {
		return nil, refuse("", gone, "The message was withdrawn.")
	}
	return m, w.chat(m.ChatID).writable()
}

// close stops the clocks and records the cards that the client left in streaming mode: people would see them
// "generating" for ten minutes.
func (w *world) close() {
	w.alarms.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.cards {
		if e.streaming && e.message != nil { // otherwise nobody sees it: the answer to its creation was lost
			e.streaming = false
			w.rec.violate(RuleStreamingOn, 0, "card %s was still in streaming mode at the end", e.id)
		}
	}
}
