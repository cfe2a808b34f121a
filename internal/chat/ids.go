package chat

import "strings"

// feishu is the channel of Feishu. Its IDs of people, messages and cards stand as they are; those of every other door
// begin with its channel and a colon, as in "cli:1000", so that no ID of one door equals one of another.
const feishu = "feishu"

// ChannelOf is the channel to which an ID of a person, a message or a card belongs.
func ChannelOf(id string) string {
	if channel, _, ok := strings.Cut(id, ":"); ok {
		return channel
	}
	return feishu
}

// Channel is the channel at which something is shown: an answer goes where its question came from, whatever the chat's
// own channel is.
func (r Ref) Channel() string {
	if r.ID != "" {
		return ChannelOf(r.ID)
	}
	return r.Key.Channel
}

// IsElsewhere reports whether a message was written at another door than its chat's own.
func (r Ref) IsElsewhere() bool { return r.Channel() != r.Key.Channel }
