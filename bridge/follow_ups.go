package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// followUps turns what agents start by themselves, when one of their background tasks has ended, into turns; see
// [db.FollowUps]. No user waits for these turns.
type followUps struct {
	*cutOffTurns

	store db.Turns
}

// watch observes what a turn's process does after the turn.
func (f followUps) watch(t db.Turn, p *claude.Process) {
	p.Unasked().Watch(claude.Watcher{
		Woken: func() { f.outbox.EnqueueJob(func(ctx context.Context) { f.decideFollowUp(ctx, t) }) },
		Asked: func(q claude.ToolAsk) {
			f.outbox.EnqueueJob(func(ctx context.Context) { f.requestDecision(ctx, t, p, q) })
		},
		Withdrawn: func(id string) {
			f.outbox.EnqueueJob(func(ctx context.Context) { f.approvals.Withdraw(ctx, id) })
		},
		Ended: func(why claude.UnaskedEnd) {
			if why != claude.EndClosed { // after a shutdown the next start reports it
				f.outbox.EnqueueJob(func(ctx context.Context) {
					f.announceWorkEnd(ctx, t, why)
					f.upkeep.AfterWork(f.log.WithContext(ctx), t.Key)
				})
			}
		},
	})
}

// taskOwner names the questions of a turn, for which its agent starts background tasks; see [claude.Pool.StopFor].
func taskOwner(t db.Turn) string { return strconv.FormatInt(cmp.Or(t.Follows, t.ID), 10) }

// stopFor ends what the agent does in the background for the questions of a follow-up that was cancelled. What it does
// for other questions goes on, and gets a follow-up of its own.
func (f followUps) stopFor(ctx context.Context, cancelled db.Turn) {
	key, someone := cancelled.Key, taskOwner(cancelled)
	var others []string
	if doing := f.pool.Unasked(key.String()); doing != nil {
		others = doing.OthersThan(someone)
	}
	_, err := f.begin(ctx, key, others)
	if err != nil {
		f.pool.Stop(key.String())
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		f.log.Error().Err(err).Stringer("chat", key).Msg("follow-up not stored; its work in the background is ended")
	}
	f.pool.StopFor(key.String(), someone)
}

// begin makes the follow-up of the first of these questions that is not recalled, see [taskOwner].
func (f followUps) begin(ctx context.Context, key chat.Key, owners []string) (t db.Turn, err error) {
	err = db.ErrNotFound
	for _, someone := range owners {
		id, _ := strconv.ParseInt(someone, 10, 64) // 0 is no turn
		var c db.Claim
		c, err = f.store.FollowUp(ctx, db.Turn{ID: id, Key: key})
		if !errors.Is(err, db.ErrNotFound) {
			return c.Turn, err
		}
	}
	return t, err
}

// turnEnded decides what follows an ended turn. What subagents still ask after a follow-up is needed by the next one by
// now; if there is none, it is withdrawn.
func (f followUps) turnEnded(ctx context.Context, t db.Turn) {
	if t.Follows != 0 {
		f.approvals.EndTurn(f.log.WithContext(ctx), t, convo.Done)
	}
	f.decideFollowUp(ctx, t)
}

// decideFollowUp decides about what follows an ended turn, if anything does: it is queued once the agent has started it.
func (f followUps) decideFollowUp(ctx context.Context, last db.Turn) {
	key := last.Key
	doing := f.pool.UnaskedState(key.String())
	if doing == claude.InTurn {
		return
	}
	t, err := f.openFollowUp(ctx, key)
	if now := f.pool.Unasked(key.String()); errors.Is(err, db.ErrNotFound) && now != nil {
		switch doing {
		case claude.Working: // the last one was recalled
			t, err = f.begin(ctx, key, now.OthersThan(taskOwner(last)))
		case claude.Woken: // one follow-up may cover several tasks
			t, err = f.begin(ctx, key, append(now.WokenFor(), taskOwner(last)))
			if errors.Is(err, db.ErrNotFound) { // the questions were recalled
				f.pool.Stop(key.String())
			}
		}
	}
	if errors.Is(err, db.ErrNotFound) {
		return
	}
	switch {
	case err != nil || doing == claude.Working:
	case doing == claude.Woken:
		t = f.forWhom(ctx, t)
		failpoint.At("follow-up: queueing")
		if _, err = f.store.Happens(ctx, key, convo.Wakes{Turn: t.ID}); err == nil {
			failpoint.At("follow-up: queued")
			f.turns.wake(key)
		}
	case doing == claude.Resting: // the agent knows about the end of every task
		err = f.drop(ctx, t, convo.Done)
	default:
		f.announceWorkEnd(ctx, last, claude.EndDied)
	}
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", key).Msg("follow-up not stored")
	}
}

// drop ends an unneeded follow-up without showing anything, even if it is claimed.
func (f followUps) drop(ctx context.Context, t db.Turn, as convo.Phase) error {
	_, err := f.store.Happens(ctx, t.Key, convo.Sleeps{Turn: t.ID}, convo.Vanishes{Turn: t.ID, Phase: as})
	return err
}

// forWhom returns the follow-up for what the agent has started to tell: t, or one of another question in its place. A
// chat has one follow-up, whatever its agent does for how many questions.
func (f followUps) forWhom(ctx context.Context, t db.Turn) db.Turn {
	doing := f.pool.Unasked(t.Key.String())
	if doing == nil {
		return t
	}
	told := doing.WokenFor()
	if slices.Contains(told, taskOwner(t)) {
		return t
	}
	for _, someone := range told {
		id, err := strconv.ParseInt(someone, 10, 64)
		if err != nil {
			continue
		}
		next, err := f.store.ReplaceFollowUp(ctx, t, db.Turn{ID: id, Key: t.Key})
		if err == nil {
			return next
		}
		if !errors.Is(err, db.ErrNotFound) {
			f.log.Error().Err(err).Stringer("chat", t.Key).Msg("follow-up not stored")
		}
	}
	return t
}

// nobodyAsked tells a subagent that no user could be asked.
const nobodyAsked = "This needs a permission, and nobody could be asked for it right now. Do not try it again or by " +
	"other means. Report what you wanted to do and why."

// requestDecision asks the askers of the turn for which a subagent runs in the background about a tool call.
func (f followUps) requestDecision(ctx context.Context, last db.Turn, p *claude.Process, q claude.ToolAsk) {
	ctx = f.log.WithContext(ctx)
	if id, err := strconv.ParseInt(q.For, 10, 64); err == nil {
		last = db.Turn{ID: id, Key: last.Key}
	}
	c, err := f.store.FollowUp(ctx, last)
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", last.Key).Msg("nobody could be asked; tool refused")
		p.Unasked().Answer(q.ID, claude.Decision{Why: nobodyAsked})
		return
	}
	f.approvals.RequestDecision(ctx, c, f.places.Workspace(c.Chat, p.Dir()), q, func(v claude.Decision) bool {
		return p.Unasked().Answer(q.ID, v)
	})
	if !p.Unasked().IsOpen(q.ID) { // it may have been withdrawn meanwhile
		f.approvals.Withdraw(ctx, q.ID)
	}
}

// openFollowUp returns the chat's unfinished follow-up. It retries until the store answers.
func (f followUps) openFollowUp(ctx context.Context, key chat.Key) (t db.Turn, err error) {
	for t, err = f.store.OpenFollowUp(ctx, key); err != nil && !db.Permanent(err) && ctx.Err() == nil; {
		workqueue.Sleep(ctx, workqueue.StoreRetry)
		t, err = f.store.OpenFollowUp(ctx, key)
	}
	return t, err
}

// announceWorkEnd tells users that the process of an ended turn, which was working in the background, has ended. A
// running follow-up reports it itself.
func (f followUps) announceWorkEnd(ctx context.Context, last db.Turn, why claude.UnaskedEnd) {
	t, err := f.openFollowUp(ctx, last.Key)
	switch {
	case errors.Is(err, db.ErrNotFound): // it was stopped
		err = f.bookUnread(ctx, last)
	case err == nil && t.ID != f.busy.running(last.Key):
		err = f.finish(ctx, t, why)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		f.log.Error().Err(err).Stringer("chat", last.Key).Msg("end of what went on in the background not stored")
	}
}

// finish ends a follow-up that will not start any more.
func (f followUps) finish(ctx context.Context, t db.Turn, why claude.UnaskedEnd) error {
	if why == claude.EndStopped {
		return errors.Join(f.drop(ctx, t, convo.Cancelled), f.bookUnread(ctx, t))
	}
	f.log.Warn().Stringer("chat", t.Key).Int64("turn", t.ID).Str("cause", string(why)).
		Msg("work in the background was cut off")
	return f.settle(ctx, t, f.outcomeOfWork(why))
}

// replaced is the outcome of a follow-up after a new conversation has begun: the agent's old words may be out of date.
var replaced = turncard.Outcome{State: convo.Cancelled, Notice: i18n.BackgroundReplaced}

// outcomeOfWork is the outcome of interrupted background work, for users.
func (f followUps) outcomeOfWork(why claude.UnaskedEnd) turncard.Outcome {
	o := turncard.Outcome{State: convo.Interrupted, Notice: i18n.BackgroundCut}
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

// hasBegun reports whether the agent has started a claimed follow-up. One that it has not started is requeued or ended.
func (f followUps) hasBegun(ctx context.Context, t db.Turn) bool {
	var err error
	switch f.pool.UnaskedState(t.Key.String()) {
	case claude.Woken:
		return true
	case claude.Working:
		_, err = f.store.Happens(ctx, t.Key, convo.Sleeps{Turn: t.ID})
	case claude.Resting:
		err = f.drop(ctx, t, convo.Done)
	default:
		err = f.finish(context.WithoutCancel(ctx), t, claude.EndDied)
	}
	if err != nil {
		f.log.Error().Err(err).Stringer("chat", t.Key).Msg("follow-up not stored")
	}
	return false
}
