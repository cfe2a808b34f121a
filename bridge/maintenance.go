package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// maintenance does the work between a chat's turns: summaries, titles, memories, and the reset of stale contexts.
type maintenance struct {
	cfg       *Config
	db        *db.DB
	context   *contextmgr.Manager
	scheduler *compactionScheduler
	pool      *claude.Pool
	notes     notes
	budget    *budget
	log       zerolog.Logger
}

// beforeTurn prepares the chat of a claimed turn, and prevents new summaries until afterTurn. It calls tell if the turn
// has to wait for a running summary.
func (mt maintenance) beforeTurn(ctx context.Context, c db.Claim, tell func()) {
	mt.restartContext(ctx, c)
	due := mt.isDue(c.Chat) && (c.Chat.Compacting != "" || !mt.works(c.Turn.Key))
	mt.scheduler.beforeTurn(ctx, c.Turn.Key, due, tell)
}

// works reports whether the chat's agent works in the background, which ends with its session.
func (mt maintenance) works(key chat.Key) bool {
	doing := mt.pool.Unasked(key.String())
	return doing != nil && doing.IsBusy()
}

// isDue reports whether a summary should replace the session before the chat's next turn.
func (mt maintenance) isDue(c db.Chat) bool {
	full := mt.cfg.Context.NeedsCompaction(c.Session.Tokens, c.Session.Window)
	return c.Compacting != "" || full && mt.scheduler.mayRetry(c.Key, time.Now())
}

// endedTurn is what maintenance needs to know about an ended turn.
type endedTurn struct {
	db.Turn
	asked      []chat.Message
	state      db.TurnState
	answer     string
	ownCommand bool // the turn was one of the agent's own commands
	unasked    bool // its process is still working
}

// said are the IDs of what was asked and answered.
func (t endedTurn) said() []string { return append(idsOf(t.asked), db.AnswerID(t.ID)) }

// idsOf are the IDs of messages. What is made of them is stored only if none was recalled meanwhile.
func idsOf(list []chat.Message) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// afterTurn does the work that is due after a turn.
func (mt maintenance) afterTurn(ctx context.Context, t endedTurn) {
	mt.scheduler.afterTurn(t.Key)
	if t.state == db.Queued || ctx.Err() != nil {
		return // shutdown; what is due is found before the next turn
	}
	c, err := mt.db.Chats().Get(ctx, t.Key)
	if ctx.Err() != nil {
		return
	} else if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
		return
	}
	if !t.unasked && (mt.isDue(c) || mt.isLong(ctx, c)) {
		mt.scheduler.make(t.Key)
	}
	if t.ownCommand {
		return // nothing worth a title or a memory was said
	}
	if t.state == db.Done {
		mt.notes.learn(c, t)
	}
	if c.Epoch != t.Epoch {
		return // after /new, the old question is no title for the new conversation
	}
	if c.Topic == "" && t.state == db.Done && t.answer != "" && mt.cfg.Context.Titles {
		mt.scheduler.enqueueTitle(t.Key, t.Epoch, func(ctx context.Context) { mt.makeTitle(ctx, t) })
	}
}

// isLong estimates whether the messages since the last summary would fill a session. It is only needed if the agent has
// not reported the size of the session, or there is none.
func (mt maintenance) isLong(ctx context.Context, c db.Chat) bool {
	if c.Session.Tokens > 0 || !mt.scheduler.mayRetry(c.Key, time.Now()) {
		return false
	}
	list, err := mt.db.History().Answered(ctx, c.Key, c.Epoch, c.ContextAfter(), mostLoaded)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("length of the chat not available")
		return false
	}
	tokens := contextmgr.EstimateTokens(c.Summary.Text)
	for _, m := range list {
		tokens += contextmgr.EstimateTokens(m.Text)
	}
	return mt.cfg.Context.NeedsCompaction(int64(mt.context.Tokens(c.Settings.Model, tokens)), 0)
}
