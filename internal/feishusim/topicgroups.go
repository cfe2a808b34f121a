package feishusim

// modeTopic is the chat_mode of a group in which every message belongs to a topic (doc: im-v1/chat/get).
const modeTopic = "topic"

// TopicGroup makes a group in which every message is in a topic, with the bot already in it, and returns its ID.
func (w *world) TopicGroup(name string, members ...User) string {
	w.mu.Lock()
	c := w.newChat(Chat{Name: name, Mode: modeTopic, Members: members})
	w.mu.Unlock()
	w.notify.bump()
	return c.ID
}

// TurnIntoTopics makes a group one in which every message is in a topic, or an ordinary one again.
func (w *world) TurnIntoTopics(chatID string, on bool) {
	w.mu.Lock()
	w.mustChat(chatID).Mode = map[bool]string{true: modeTopic, false: "group"}[on]
	w.mu.Unlock()
	w.notify.bump()
}

// kind is the chat_type in events. The documentation says topic_group for topic groups; some reports say group.
func (c *chat) kind() string {
	if c.Mode == modeTopic {
		return "topic_group"
	}
	return c.Mode
}

func (c *chat) messageType() string {
	if c.Mode == modeTopic {
		return "thread"
	}
	return "chat"
}
