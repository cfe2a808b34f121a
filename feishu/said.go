package feishu

import (
	"context"
	"time"

	"magpie/internal/chat"
)

// Said lists what people have said in a chat since then, oldest first; when that is more than most, the newest. Groups
// need the permission im:message.group_msg. Names are there as far as they are known before ctx ends.
func (c *Client) Said(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int) ([]chat.Incoming, error) {
	items, _, err := c.api.list(ctx, listing{chat: key.ID, from: since, newest: true, most: most})
	if err != nil {
		return nil, err
	}
	var said []chat.Incoming
	for _, item := range items {
		in, ok := c.incoming(listed(item, kind))
		if !ok || item.Get("deleted").Bool() || in.Time.Before(since) {
			continue
		}
		said = append(said, in)
	}
	for i := range said {
		said[i].Actor.Name = c.names.within(ctx, key.ID, said[i].Actor.ID)
	}
	return said, nil
}
