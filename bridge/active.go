package bridge

import (
	"context"
	"time"

	"magpie/internal/chat"
)

// Chats that are asked for what was missed after the connection was lost: so many at most, and none that were silent
// for so long. Each costs a call of the platform's API, which tenants pay for.
const (
	activeChats = 50
	activeFor   = 30 * 24 * time.Hour
)

// Active names the chats that spoke last, and until when their messages are known.
func (b *Bridge) Active(ctx context.Context) ([]chat.Activity, error) {
	return b.db.Chats().Active(ctx, time.Now().Add(-activeFor), activeChats)
}
