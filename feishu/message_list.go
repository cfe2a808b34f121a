package feishu

import (
	"context"
	"errors"
	"time"

	"magpie/internal/chat"
)

// ListMessages lists users' messages in a chat since a time, oldest first; if there are more than most, the newest.
// Groups need the permission im:message.group_msg. The first message of a topic that began in the chat is included,
// under the chat's key. Names are filled in if they are known before ctx ends.
func (c *Client) ListMessages(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time,
	most int) ([]chat.Incoming, error) {
	l := listQuery{chat: key.ID, thread: key.Thread, from: since, newest: true, limit: most}
	items, _, err := c.messages.list(ctx, l)
	if err != nil {
		return nil, err
	}
	var messages []chat.Incoming
	for _, item := range items {
		s := fromList(item, l, kind)
		in, ok := c.reader.incoming(s)
		if !ok || item.Get("deleted").Bool() || in.Time.Before(since) {
			continue
		}
		if in.Key, err = c.topics.chatOf(ctx, s); errors.Is(err, errUnknownGroupMode) && key.Thread == "" {
			continue
		} else if err != nil && !errors.Is(err, errUnknownGroupMode) {
			return nil, err
		}
		if key.Thread == "" && in.Key != key { // it belongs to a topic that is a chat of its own
			continue
		}
		messages = append(messages, in)
	}
	for i := range messages {
		messages[i].Actor.Name = c.names.lookUpWithin(ctx, key.ID, messages[i].Actor.ID)
	}
	return messages, nil
}
