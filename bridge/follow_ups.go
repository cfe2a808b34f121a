package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/approval"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// followUps makes turns of what agents begin by themselves when something that they have started in the background has
// ended; see [db.FollowUps]. Nobody waits for it.
type followUps struct {
	cfg       *Config
	store     db.FollowUps
	pool      *claude.Pool
	turns     *turnQueue
	history   historyWriter
	outbox    *delivery.Outbox
	approvals *approval.Requests
	cutOff    cutOffTurns
	log       zerolog.Logger
}

// watch learns from the process of a turn what it does when the turn has ended.
func (f followUps) watch(t db.Turn, p *claude.Process) {
	key := t.Key
	p.Unasked().Watch(claude.Watcher{
		Woken: func() { f.outbox.EnqueueJob(func(ctx context.Context) { f.decideFollowUp(ctx, t) }) },
		Asked: func(q claude.ToolAsk) {
			f.outbox.EnqueueJob(func(ctx context.Context) { f.requestDecision(ctx, t, p, q) })
		},
		Withdrawn: func(id string) {
			f.outbox.EnqueueJob(func(ctx context.Context) { f.approvals.Withdraw(ctx, id) })
		},
		Ended: func(why claude.UnaskedEnd) {
			if why != claude.EndClosed { // else the next start tells people
				f.outbox.EnqueueJob(func(ctx context.Context) { f.workEnded(ctx, key, why) })
			}
		},
	})
}

// decideFollowUp decides about the follow-up of a turn that has ended, if there is one: it is queued once the agent has
// begun it.
func (f followUps) decideFollowUp(ctx context.Context, last db.Turn) {
	key := last.Key
	doing := f.pool.Unasked(key.String())
	if doing == claude.InTurn || doing == claude.Working {
		return
	}
	t, err := f.open(ctx, key)
	if errors.Is(err, db.ErrNotFound) && doing == claude.Woken { // it receives the ends of several tasks
		var c db.Claim
		c, err = f.store.Begin(ctx, last)
		t = c.Turn
	}
	if errors.Is(err, db.ErrNotFound) {
		return
	}
	switch {
	case err != nil:
	case doing == claude.Woken:
		failpoint.At("follow-up: queueing")
		if err = f.store.Queue(ctx, t.ID); err == nil {
			failpoint.At("follow-up: queued")
			f.turns.wake(key)
		}
	case doing == claude.Resting: // the agent has been told of everything
		err = f.store.Drop(ctx, t.ID, db.Done)
	default:
		f.workEnded(ctx, key, claude.EndDied)
	}
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", key).Msg("what the agent begins by itself is not stored")
	}
}

// nobodyAsked is what a subagent reads when people could not be asked.
const nobodyAsked = "This needs a permission, and nobody could be asked for it right now. Do not try it again or by " +
	"other means. Report what you wanted to do and why."

// requestDecision has people decide what a subagent may do that goes on in the background behind a turn.
func (f followUps) requestDecision(ctx context.Context, last db.Turn, p *claude.Process, q claude.ToolAsk) {
	ctx = f.log.WithContext(ctx)
	c, err := f.store.Begin(ctx, last)
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", last.Key).Msg("nobody could be asked; tool refused")
		p.Unasked().Answer(q.ID, claude.Decision{Why: nobodyAsked})
		return
	}
	f.approvals.RequestDecision(ctx, c, f.cfg.workspace(c.Chat, p.Dir()), q, func(v claude.Decision) bool {
		return p.Unasked().Answer(q.ID, v)
	})
	if !p.Unasked().IsOpen(q.ID) { // it may have been withdrawn meanwhile
		f.approvals.Withdraw(ctx, q.ID)
	}
}

// open is the follow-up of a chat that has not ended. It tries until the store answers.
func (f followUps) open(ctx context.Context, key chat.Key) (t db.Turn, err error) {
	for t, err = f.store.Open(ctx, key); err != nil && !db.Permanent(err) && ctx.Err() == nil; {
		workqueue.Sleep(ctx, workqueue.StoreRetry)
		t, err = f.store.Open(ctx, key)
	}
	return t, err
}

// workEnded tells people that the process of a chat has ended that was working in the background. A follow-up that runs
// tells it itself.
func (f followUps) workEnded(ctx context.Context, key chat.Key, why claude.UnaskedEnd) {
	t, err := f.open(ctx, key)
	if err == nil && t.ID != f.turns.lanes.RunningTurn(key) {
		err = f.finish(ctx, t, why)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		f.log.Error().Err(err).Stringer("chat", key).Msg("end of what went on in the background not stored")
	}
}

// finish ends a follow-up that will not be begun any more.
func (f followUps) finish(ctx context.Context, t db.Turn, why claude.UnaskedEnd) error {
	if why == claude.EndStopped {
		return f.store.Drop(ctx, t.ID, db.Cancelled)
	}
	f.log.Warn().Stringer("chat", t.Key).Int64("turn", t.ID).Str("cause", string(why)).
		Msg("work in the background was cut off")
	e, err := f.cutOff.followUpResult(ctx, t, f.outcome(why))
	if err != nil {
		return err
	}
	f.approvals.EndTurn(f.log.WithContext(ctx), t, e.State)
	if err = f.history.finish(ctx, e); err == nil {
		f.outbox.Wake(t.Key)
		f.cfg.ended(Ended{State: e.State, Failure: e.Failure, Usage: e.Usage, Took: time.Since(t.Created)})
	}
	return err
}

// replaced is the end of a follow-up behind a new conversation: what was said before may not count any more.
var replaced = turncard.Outcome{State: db.Cancelled, Notice: i18n.BackgroundReplaced}

// outcome is what people are told of work that was cut off.
func (f followUps) outcome(why claude.UnaskedEnd) turncard.Outcome {
	o := turncard.Outcome{State: db.Interrupted, Notice: i18n.BackgroundCut}
	switch why {
	case claude.EndLimit:
		limit, text := f.pool.Config().BackgroundLimit.Duration, i18n.BackgroundLimit
		o.Notice = i18n.Phrase{
			ZH: text.Sprintf(i18n.Chinese, i18n.RoughDuration(limit, i18n.Chinese)),
			EN: text.Sprintf(i18n.English, i18n.RoughDuration(limit, i18n.English)),
		}
	case claude.EndMemory:
		o.Notice = i18n.BackgroundMemory
	case claude.EndReplaced:
		o = replaced
	}
	return o
}

// begun reports whether the agent has begun a follow-up that was claimed. One that it has not begun waits again, or
// ends.
func (f followUps) begun(ctx context.Context, t db.Turn) bool {
	var err error
	switch f.pool.Unasked(t.Key.String()) {
	case claude.Woken:
		return true
	case claude.Working:
		err = f.store.Wait(ctx, t.ID)
	case claude.Resting:
		err = f.store.Drop(ctx, t.ID, db.Done)
	default:
		err = f.finish(context.WithoutCancel(ctx), t, claude.EndDied)
	}
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", t.Key).Msg("what the agent begins by itself is not stored")
	}
	return false
}
