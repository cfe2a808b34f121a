package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// talk is one conversation of a chat.
type talk struct {
	id       string    // its ID in the other bridge
	past     bool      // it was ended
	at       time.Time // when it was last continued
	messages []message
}

// message is one message.
type message struct {
	id   string // its ID; empty = none, it is derived from the content
	role chat.Role
	who  chat.Actor
	text string
	at   time.Time
}

// chat finds a chat, or adds it.
func (r reader) chat(key chat.Key) *Chat {
	i := slices.IndexFunc(r.Chats, func(c Chat) bool { return c.Key == key })
	if i < 0 {
		r.Chats = append(r.Chats, Chat{Key: key, Kind: chat.Group}) // the stricter kind, until its first message tells
		i = len(r.Chats) - 1
	}
	return &r.Chats[i]
}

// addTalk adds a conversation that has messages. An impossible time is replaced by that of the previous message.
func (c *Chat) addTalk(t talk) {
	last := t.at
	if !isPlausible(last) {
		last = time.Unix(0, 0)
	}
	t.messages = slices.DeleteFunc(t.messages, func(m message) bool {
		return strings.TrimSpace(m.text) == "" || m.role != chat.User && m.role != chat.Assistant
	})
	for i, m := range t.messages {
		if !isPlausible(m.at) {
			t.messages[i].at = last
		}
		last = t.messages[i].at
	}
	if len(t.messages) > 0 {
		t.at = last
		c.talks = append(c.talks, t)
	}
}

// isPlausible reports whether a message can have been written at a time.
func isPlausible(t time.Time) bool {
	return t.Year() >= 2000 && t.Before(time.Now().Add(24*time.Hour))
}

// Records are all messages, chat by chat: first the ended conversations one by one, then the current ones in order of
// time. They have the same IDs each time they are read, so importing them twice adds nothing.
func (f *Found) Records() iter.Seq[db.Record] {
	return func(yield func(db.Record) bool) {
		for _, c := range f.Chats {
			for _, r := range c.records(f.Bridge) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

func (c Chat) records(from string) (list []db.Record) {
	talks := slices.Clone(c.talks)
	slices.SortStableFunc(talks, func(a, b talk) int { return a.at.Compare(b.at) })
	var now []db.Record
	ended := int64(0)
	for _, t := range talks {
		for _, m := range t.messages {
			r := db.Record{Kind: c.Kind, Past: t.past, Message: chat.Message{
				Key: c.Key, ID: m.messageID(from, t), Role: m.role, Class: chat.Talk, Actor: m.who, Text: m.text,
				Time: m.at.UTC().Truncate(time.Millisecond),
			}}
			if t.past {
				r.Epoch = ended
				list = append(list, r)
			} else {
				now = append(now, r)
			}
		}
		if t.past {
			ended++
		}
	}
	slices.SortStableFunc(now, func(a, b db.Record) int { return a.Time.Compare(b.Time) })
	return append(list, now...)
}

// messageID is the ID of a message that the platform does not know.
func (m message) messageID(from string, t talk) string {
	if m.id != "" {
		return db.ForeignID(from, m.id)
	}
	sum := sha256.New()
	for _, part := range []string{t.id, string(m.role), m.at.UTC().Format(time.RFC3339Nano), m.text} {
		_, _ = io.WriteString(sum, fmt.Sprintf("%d:%s", len(part), part))
	}
	return db.ForeignID(from, hex.EncodeToString(sum.Sum(nil)[:16]))
}

// Count returns the number of messages, and the times of the first and the last one.
func (f *Found) Count() (messages int, first, last time.Time) {
	for _, c := range f.Chats {
		for _, t := range c.talks {
			for _, m := range t.messages {
				if messages == 0 || m.at.Before(first) {
					first = m.at
				}
				if m.at.After(last) {
					last = m.at
				}
				messages++
			}
		}
	}
	return messages, first, last
}
