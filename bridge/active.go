package bridge

import (
	"context"

	"magpie/internal/chat"
)

// activeChats is how many chats are asked for what was missed after the connection was lost.
const activeChats = 50

// Active names the chats that spoke last, and until when their messages are known.
func (b *Bridge) Active(ctx context.Context) ([]chat.Activity, error) {
	return b.db.Active(ctx, activeChats)
}
