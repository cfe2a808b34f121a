package access

import (
	"context"

	"magpie/internal/chat"
)

// Control decides about messages: whether their authors may talk to the bot. It takes in the messages of those who
// claim the bot, and of those who may not talk.
type Control struct {
	Authorizer *Authorizer
	Ownership  *Ownership
	Requests   *Requests
}

// Claim takes a message that makes its author the owner. It reports false for any other one.
func (c Control) Claim(ctx context.Context, m chat.Incoming) (taken bool, err error) {
	if taken, err = c.Ownership.claim(ctx, m); taken || err != nil {
		c.Requests.outbox.EnqueueJob(c.Ownership.welcome)
	}
	return taken, err
}

// Admit reports whether the author of a message may talk to the bot. A message of a stranger is a request for access.
func (c Control) Admit(ctx context.Context, m chat.Incoming) (bool, error) {
	who, err := c.Authorizer.Authorize(ctx, m.Key, m.Actor)
	if err == nil && who == Stranger {
		err = c.Requests.record(ctx, m)
	}
	return err == nil && who == Admitted, err
}
