package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// prepare keeps a claimed turn from running in a full or stale session. Errors are only logged: an
// answer in the old session is better than none.
func (r *turnRunner) prepare(ctx context.Context, t *turn) {
	r.maintenance.beforeTurn(ctx, t.claim, func() { t.show(t.view.Compacting(time.Now())) })
	c, err := r.db.Chats().Get(ctx, t.claim.Turn.Key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
		return
	}
	if c.Epoch != t.claim.Turn.Epoch {
		return // /new came; the turn belongs to what was before
	}
	dropped := c.Session.ID == "" && t.session.resume
	if !dropped {
		c.Session = t.claim.Chat.Session
	}
	t.claim.Chat = c
	if !dropped {
		return
	}
	if err := t.session.renew(ctx); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("new session not recorded")
	}
}
