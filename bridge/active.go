package bridge

import (
	"context"
	"time"

	"magpie/internal/chat"
)

// Limits of the backfill after a lost connection: how many chats, and how recently they must have been active. Each
// costs a call to the platform's API, which is metered per tenant.
const (
	activeChats = 50
	activeFor   = 30 * 24 * time.Hour
)

// ActiveChats lists the most recently active chats of a channel, each with the time up to which its messages are known.
func (b *Bridge) ActiveChats(ctx context.Context, channel string) ([]chat.Activity, error) {
	return b.db.Chats().Active(ctx, channel, time.Now().Add(-activeFor), activeChats)
}
