package feishu

import (
	"context"
	"errors"
	"time"

	"magpie/internal/chat"
)

// ListMessages lists what people have said in a chat since then, oldest first; when that is more than most, the newest.
// Groups need the permission im:message.group_msg. Of a topic that began in the chat the first message comes too, under
// the chat's key. Names are there as far as they are known before ctx ends.
func (c *Client) ListMessages(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int) ([]chat.Incoming, error) {
	l := listing{chat: key.ID, thread: key.Thread, from: since, newest: true, most: most}
	items, _, err := c.messages.list(ctx, l)
	if err != nil {
		return nil, err
	}
	var said []chat.Incoming
	for _, item := range items {
		s := fromList(item, l, kind)
		in, ok := c.incoming(s)
		if !ok || item.Get("deleted").Bool() || in.Time.Before(since) {
			continue
		}
		if in.Key, err = c.topics.key(ctx, s); errors.Is(err, errUnknownManner) && key.Thread == "" {
			continue
		} else if err != nil && !errors.Is(err, errUnknownManner) {
			return nil, err
		}
		if key.Thread == "" && in.Key != key { // said in a topic of its own
			continue
		}
		said = append(said, in)
	}
	for i := range said {
		said[i].Actor.Name = c.names.within(ctx, key.ID, said[i].Actor.ID)
	}
	return said, nil
}
