package bridge

import (
	"context"

	"magpie/internal/chat"
)

// Change takes in what happened to the bot's place in a chat. So far nothing follows from it.
func (b *Bridge) Change(context.Context, chat.Change) error { return nil }
