package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// maintenance does the work of chats between their turns: summaries, titles, memories, and contexts that are stale.
type maintenance struct {
	cfg       *Config
	db        *db.DB
	scheduler *compactionScheduler
	notes     notes
	budget    *budget
	log       zerolog.Logger
}

// beforeTurn prepares the chat of a claimed turn, and lets no summary begin until afterTurn. It calls tell when the
// turn has to wait for a summary that is being made.
func (mt maintenance) beforeTurn(ctx context.Context, c db.Claim, tell func()) {
	mt.beginAnew(ctx, c)
	mt.scheduler.beforeTurn(ctx, c.Turn.Key, mt.due(c.Chat), tell)
}

// due reports whether the chat's next turn should find a summary in place of its session.
func (mt maintenance) due(c db.Chat) bool {
	full := mt.cfg.Context.NeedsCompaction(c.Session.Tokens, c.Session.Window)
	return c.Compacting != "" || full && mt.scheduler.mayRetry(c.Key, time.Now())
}

// endedTurn is what maintenance must know of a turn that is over.
type endedTurn struct {
	db.Turn
	asked      []chat.Message
	state      db.TurnState
	answer     string
	ownCommand bool // it was a command of the agent's own
	unasked    bool // its process is at work still
}

// afterTurn does what is due in the chat of a turn that is over.
func (mt maintenance) afterTurn(ctx context.Context, t endedTurn) {
	mt.scheduler.afterTurn(t.Key)
	if t.state == db.Queued || ctx.Err() != nil {
		return // at the end of the program; what is due is found before the next turn
	}
	c, err := mt.db.Chats().Get(ctx, t.Key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
		return
	}
	if !t.unasked && (mt.due(c) || mt.long(ctx, c)) {
		mt.scheduler.make(t.Key)
	}
	if t.ownCommand {
		return // nothing was said that would be worth a title or a memory
	}
	if t.state == db.Done {
		mt.notes.learn(c, t.ID, t.asked)
	}
	if c.Epoch != t.Epoch {
		return // /new came: what was asked is no title for the next conversation
	}
	if c.Topic == "" && t.state == db.Done && t.answer != "" && mt.cfg.Context.Titles {
		mt.scheduler.title(t.Key, func(ctx context.Context) { mt.makeTitle(ctx, t) })
	}
}

// long estimates whether the messages since the last summary would fill a session. It is only needed if
// the agent has not reported the size of the session, or there is none.
func (mt maintenance) long(ctx context.Context, c db.Chat) bool {
	if c.Session.Tokens > 0 || !mt.scheduler.mayRetry(c.Key, time.Now()) {
		return false
	}
	list, err := mt.db.History().Settled(ctx, c.Key, c.Epoch, c.After(), mostLoaded)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("length of the chat not available")
		return false
	}
	tokens := contextmgr.EstimateTokens(c.Summary.Text)
	for _, m := range list {
		tokens += contextmgr.EstimateTokens(m.Text)
	}
	return mt.cfg.Context.NeedsCompaction(int64(tokens), 0)
}
