package bridge

import (
	"context"
	"time"

	"magpie/internal/chat"
)

// Bounds of the chats that are backfilled after a lost connection: their number, and how long ago
// somebody wrote in them. Each costs a call of the platform's API, which tenants pay for.
const (
	activeChats = 50
	activeFor   = 30 * 24 * time.Hour
)

// Active names the chats that spoke last, and until when their messages are known.
func (b *Bridge) Active(ctx context.Context) ([]chat.Activity, error) {
	return b.db.Chats().Active(ctx, time.Now().Add(-activeFor), activeChats)
}
