package access

import (
	"context"

	"magpie/internal/chat"
)

// Control checks whether the authors of messages may talk to the bot. It handles messages that claim the bot, and those
// of strangers.
type Control struct {
	*Authorizer
	Ownership *Ownership
	Requests  *Requests
}

// Claim handles a message that makes its author the owner. It returns false for any other message.
func (c Control) Claim(ctx context.Context, m chat.Incoming) (taken bool, err error) {
	if taken, err = c.Ownership.claim(ctx, m); taken || err != nil {
		c.Requests.outbox.EnqueueJob(c.Ownership.welcome)
	}
	return taken, err
}

// Admit returns [chat.ErrDenied] if the author of a message may not talk to the bot. A stranger's message counts as a
// request for access.
func (c Control) Admit(ctx context.Context, m chat.Incoming) error {
	who, err := c.Authorize(ctx, m.Key, m.Actor)
	if err == nil && who == Stranger {
		err = c.Requests.record(ctx, m)
	}
	if err == nil && who != Admitted {
		err = chat.ErrDenied
	}
	return err
}
