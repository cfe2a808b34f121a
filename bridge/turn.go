package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// turn is one claimed turn on its way to its answer.
type turn struct {
	b       *Bridge
	claim   db.Claim
	session *session
	course  course
	told    *db.ContextReport // nil = nothing yet
	view    turncard.State
	painter *turncard.Painter
	shown   []claude.Image // pictures that the model sees
	listen  func()         // waits for what was said in the group
}

func newTurn(b *Bridge, c db.Claim) *turn {
	t := &turn{b: b, claim: c, course: course{began: time.Now()}, view: turncard.New(c.Turn.ID, b.cfg.langOf(c.Chat), time.Now())}
	t.session = newSession(b, &t.claim)
	return t
}

// note is a line for the agent below the question; empty = none.
func (t *turn) note() string {
	if t.claim.Turn.Continues == 0 {
		return ""
	}
	return i18n.GoOnNote.In(t.view.Lang)
}

// run answers the turn, and stores how it ended and what is to be shown.
func (t *turn) run(ctx context.Context) {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	key, b := t.claim.Turn.Key, t.b
	b.lanes.BeginTurn(key, t.claim.Turn.ID, stop)
	if t.claim.Turn.Stopped { // before it could begin
		stop(workqueue.ErrStopped)
	}
	b.reactions.set(t.claim.Asked, chat.Working)
	rest := t.paint(ctx)
	t.prepare(work)
	defer b.toolHandlers.attend(t.claim, b.cfg.project(t.claim.Chat))() // the project is settled now
	end := b.answer(t, work)
	b.lanes.EndTurn(key) // from here on there is nothing to stop
	if end.State == db.Cancelled {
		end = b.stopped(ctx, t.claim.Turn)
	}
	b.approvals.leave(ctx, t.claim.Turn.ID, end.State)
	failpoint.At("end: storing")
	err := t.store(ctx, end)
	failpoint.At("end: stored")
	rest()
	failpoint.At("end: painter at rest")
	switch {
	case end.State == db.Queued:
		t.draw(ctx, t.view.End(turncard.Outcome{State: db.Queued, Notice: i18n.Restarting}))
	case err != nil:
		t.draw(ctx, t.view.End(end)) // nobody should have to wait for a full disk
		err = t.retryStore(ctx, end, err)
	}
	b.outbox.wake(key)
	b.reactions.set(t.claim.Asked, signalOf(end.State))
	t.afterTurn(ctx, end)

	log := zerolog.Ctx(ctx).Info()
	if err != nil {
		log = zerolog.Ctx(ctx).Error().Err(err)
	}
	log.Str("state", string(end.State)).Str("failure", end.Failure).
		Dur("first_text", t.course.first).Dur("took", time.Since(t.course.began)).Msg("turn ended")
	b.cfg.ended(Ended{State: end.State, Failure: end.Failure, FirstText: t.course.first, Took: time.Since(t.course.began), Usage: t.course.usage})
}

// attempts is how often one turn may be begun: a lost session, then a process that died, then none.
const attempts = 3

// answer runs the agent of a settled turn until it has answered, healing what can be healed without the user noticing.
func (t *turn) answer(ctx context.Context) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	t.fetch(ctx)
	t.listen = t.b.background.ask(ctx, t.claim)
	defer t.listen()
	if err := t.b.budget.check(ctx, t.claim); err != nil {
		return failed(log, err)
	}
	var err error
	for n := range attempts {
		if n > 0 {
			t.show(t.view.Restarted(time.Now()))
		}
		var result claude.Result
		result, err = t.attempt(ctx)
		var lost *claude.LostError
		var exit *claude.ExitError
		switch {
		case errors.As(err, &lost):
			if err := t.session.forget(ctx, lost); err != nil {
				return failed(log, err)
			}
		case errors.As(err, &exit) && !t.course.acted && ctx.Err() == nil:
			log.Warn().Err(err).Msg("claude died before it used a tool; running the turn again")
			if err := t.session.rejoin(ctx); err != nil {
				return failed(log, err)
			}
		case err != nil && !t.course.sent && errors.Is(err, context.Canceled):
			return turncard.Outcome{State: db.Queued}
		case err != nil:
			return failed(log, err)
		default:
			return t.b.budget.limited(ended(log, result))
		}
	}
	return failed(log, err)
}

// retryStore stores the end of the turn, for as long as it takes; at the end of the program it tries a few times more.
// What is not stored even then is recovered from the transcript.
func (t *turn) retryStore(ctx context.Context, end turncard.Outcome, err error) error {
	for tries := 0; err != nil && !errors.Is(err, db.ErrNotFound) && (ctx.Err() == nil || tries < 3); tries++ {
		zerolog.Ctx(ctx).Error().Err(err).Msg("end of the turn not stored; trying again")
		workqueue.Sleep(context.WithoutCancel(ctx), workqueue.StoreRetry)
		err = t.store(ctx, end)
	}
	return err
}

// store stores the end of the turn. A turn for which nothing has been run goes back to the queue.
func (t *turn) store(ctx context.Context, end turncard.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	if end.State == db.Queued {
		return t.b.db.Queue().Requeue(ctx, t.claim.Turn.ID)
	}
	e := db.TurnResult{
		Turn: t.claim.Turn, State: end.State, Failure: end.Failure, Answer: t.view.Answer(), Usage: t.course.usage,
		Card: t.view.End(end).Card(time.Now()), Told: t.told,
	}
	if t.b.cfg.Context.Resumes() {
		e.Session = t.session.kept
	}
	return t.b.finish(ctx, e)
}
