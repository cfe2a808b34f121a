package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
)

// prepare brings a claimed turn's chat into the state in which it is to be asked: without a session that is full or
// stale. What fails is logged, and the turn goes on with what there is.
func (t *turn) prepare(ctx context.Context) {
	b, key := t.b, t.claim.Turn.Key
	b.summaries.beginAnew(ctx, t.claim)
	b.scheduler.begin(ctx, key, b.summaries.due(t.claim.Chat), func() { t.show(t.view.Compacting(time.Now())) })
	c, err := b.db.Chats().Get(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not read anew")
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
		zerolog.Ctx(ctx).Error().Err(err).Msg("new session not noted")
	}
}

// afterTurn lets the chat be taken care of again when its turn is over.
func (t *turn) afterTurn(ctx context.Context, end turncard.Outcome) {
	b, key := t.b, t.claim.Turn.Key
	b.scheduler.end(key)
	if end.State == db.Queued || ctx.Err() != nil {
		return // at the end of the program; what is due is found before the next turn
	}
	c, err := b.db.Chats().Get(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not read anew")
		return
	}
	if b.summaries.due(c) || b.summaries.long(ctx, c) {
		b.scheduler.make(key)
	}
	if t.ownCommand() != "" {
		return // nothing was said that would be worth a title or a memory
	}
	if end.State == db.Done {
		b.notes.learn(c, t.claim.Turn.ID, t.claim.Asked)
	}
	if c.Epoch != t.claim.Turn.Epoch {
		return // /new came: what was asked is no title for the next conversation
	}
	if c.Topic == "" && end.State == db.Done && t.view.Answer() != "" && b.cfg.Context.Titles {
		b.scheduler.title(key, func(ctx context.Context) { b.makeTitle(ctx, c, t.claim.Asked, t.view.Answer()) })
	}
}

// long reports whether what was said since the last summary would fill a session, as far as it can be estimated: when
// the agent tells nothing about its session, or the chat has none.
func (sm summaries) long(ctx context.Context, c db.Chat) bool {
	if c.Session.Tokens > 0 || !sm.b.scheduler.mayRetry(c.Key, time.Now()) {
		return false
	}
	list, err := sm.b.db.Messages().Settled(ctx, c.Key, c.Epoch, c.After(), mostLoaded)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("length of the chat not known")
		return false
	}
	tokens := contextmgr.EstimateTokens(c.Summary.Text)
	for _, m := range list {
		tokens += contextmgr.EstimateTokens(m.Text)
	}
	return sm.b.cfg.Context.Full(int64(tokens), 0)
}
