package bridge

import (
	"context"

	"magpie/bridge/access"
	"magpie/internal/chat"
)

// accessControl says who may talk to the bot, and lets people ask for it.
type accessControl struct {
	authorizer *access.Authorizer
	ownership  *ownership
	requests   *accessRequests
}

// claim takes a message that makes its author the owner. It reports false for any other one.
func (ac accessControl) claim(ctx context.Context, m chat.Incoming) (taken bool, err error) {
	if taken, err = ac.ownership.claim(ctx, m); taken || err != nil {
		ac.requests.outbox.Enqueue(ac.ownership.welcome)
	}
	return taken, err
}

// admit reports whether the author of a message may talk to the bot. A message of a stranger is a request for access.
func (ac accessControl) admit(ctx context.Context, m chat.Incoming) (bool, error) {
	who, err := ac.authorizer.Authorize(ctx, m.Key, m.Actor)
	if err == nil && who == access.Stranger {
		err = ac.requests.record(ctx, m)
	}
	return err == nil && who == access.Admitted, err
}
