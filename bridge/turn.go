package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/delivery"
	"magpie/bridge/handoff"
	"magpie/bridge/overheard"
	"magpie/bridge/turncard"
	"magpie/bridge/upkeep"
	"magpie/bridge/workplace"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// turn is one claimed turn on its way to its answer.
type turn struct {
	db.Claim
	turnProgress
	session *session
	actions *actionLog
	decided []db.Approval     // decisions made while the turn that this one continues was interrupted
	report  *db.ContextReport // nil = none yet
	view    turncard.State
	painter *turncard.Painter
	shown   []claude.Image // pictures that the model sees
	listen  func()         // waits for the fetch of group messages

	steersRead []string // prompt IDs of steered messages that the agent has read
	suggestion awaitedSuggestion
	worksOn    bool // the agent is still working in the background
}

func newTurn(cfg *Config, store *db.DB, c db.Claim) *turn {
	now := time.Now()
	t := &turn{Claim: c, turnProgress: turnProgress{began: now}, view: turncard.New(c.Turn.ID, cfg.langOf(c.Chat), now)}
	t.session, t.actions = newSession(cfg, store, &t.Claim), newActionLog(cfg, store, c.Turn)
	return t
}

// goesOn reports whether the agent still works in the background after a turn that ended like this.
func (t *turn) goesOn(end convo.Phase) bool {
	return t.worksOn && (end == convo.Done || end == convo.Failed)
}

// noteForAgent is a line for the agent below the question; empty = none.
func (t *turn) noteForAgent(s syncState) string {
	switch {
	case t.Turn.Continues == 0 && t.session.resume && (s.again || !s.verified && t.Turn.Attempts > 1):
		return i18n.AnswerAgainNote.In(t.view.Lang)
	case t.Turn.Continues == 0:
		return ""
	case len(t.decided) > 0:
		return i18n.DecidedNote.Sprintf(t.view.Lang, approval.DecisionsForAgent(t.decided))
	}
	return i18n.GoOnNote.In(t.view.Lang)
}

// setView shows v on the card.
func (t *turn) setView(v turncard.State) {
	t.view = v
	t.painter.Update(v)
}

// turnRunner runs claimed turns to their end: it gets the answer, stores the result and shows it.
type turnRunner struct {
	cfg       *Config
	places    workplace.Set
	db        *db.DB
	pool      *claude.Pool
	context   *contextmgr.Manager
	history   historyWriter
	busy      *busyChats
	display   turnDisplay
	budget    *budget.Budget
	access    *access.Authorizer
	approvals *approval.Requests
	overheard *overheard.Fetcher
	files     *attachment.Store
	specs     processSpecs
	servers   *serverStates
	followUps followUps
	upkeep    *upkeep.Keeper
	ahead     *aheadStarts
	limits    *usageLimits
	handoffs  *handoff.Handoffs
	outbox    *delivery.Outbox
	resumes   bool // a session goes on with the next turn
}

// run answers a claimed turn.
func (r *turnRunner) run(ctx context.Context, claim db.Claim) {
	t := newTurn(r.cfg, r.db, claim)
	log := zerolog.Ctx(ctx).With().Stringer("chat", claim.Turn.Key).Int64("turn", claim.Turn.ID).Logger()
	defer r.budget.Release(claim.Turn.ID)
	answer := r.answer
	if claim.Turn.Follows != 0 {
		answer = r.readFollowUp
		if !r.followUps.hasBegun(ctx, claim.Turn) {
			r.busy.end(claim.Turn.Key)
			return
		}
	}
	r.runWith(log.Hook(t.session).WithContext(ctx), t, answer)
}

// runWith runs a turn to its end; answer runs the agent.
func (r *turnRunner) runWith(ctx context.Context, t *turn, answer func(context.Context, *turn) turncard.Outcome) {
	key := t.Turn.Key
	if r.postponeHeld(ctx, t) || r.limits.postpone(ctx, t.Claim) {
		r.busy.end(key)
		return
	}
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.busy.begin(key, t.Turn.ID, stop)
	if t.Turn.Stopped { // before it could begin
		stop(errStopped)
	}
	stopPainting := r.display.startPainting(ctx, t)
	r.prepare(work, t)
	// The project is known from here on.
	r.busy.works(t.Claim, r.places.DirOf(t.Chat))
	// Neither a command of the CLI's own nor a turn that the agent started by itself takes additional messages.
	if r.ownCommand(t) == "" && t.Turn.Follows == 0 {
		r.busy.listen(key, t.view.Lang)
	}
	end := answer(work, t)
	r.busy.end(key) // nothing is left to stop from here on
	if end.State == convo.Cancelled {
		r.pool.StopTasks(taskOwner(t.Turn)) // what it has started since it was recalled
		end = stoppedOutcome(ctx, r.db.Turns(), t.Turn)
	}
	if end.State == convo.Interrupted {
		end = r.cutOffOutcome(context.WithoutCancel(ctx), t.Turn, end)
	}
	// What subagents ask that go on after a follow-up is needed by the next one; see [followUps.turnEnded].
	if t.Turn.Follows == 0 || !t.goesOn(end.State) {
		r.approvals.EndTurn(ctx, t.Turn, end.State)
	}
	if t.worksOn && end.State == convo.Done {
		t.view = t.view.WithFollowUp()
	}
	failpoint.At("end: storing")
	err := r.store(ctx, t, end)
	failpoint.At("end: stored")
	if t.Turn.Follows != 0 {
		failpoint.At("follow-up: stored")
	}
	if err == nil && end.State != convo.Queued {
		r.ahead.afterTurn(ctx, t.Claim)
	}
	stopPainting()
	failpoint.At("end: painter at rest")
	switch {
	case end.State == convo.Queued:
		r.display.draw(ctx, t, t.view.Finish(turncard.Outcome{State: convo.Queued, Notice: i18n.Restarting}))
		if isUnsure(err) {
			err = r.retryStore(ctx, t, end, err)
		}
	case err != nil:
		r.display.draw(ctx, t, t.view.Finish(end)) // users should not have to wait because the disk is full
		err = r.retryStore(ctx, t, end, err)
	}
	if end.State == convo.Cancelled || end.State == convo.Interrupted { // otherwise they are asked next
		t.Asked = append(t.Asked, r.busy.unread(key)...)
	}
	took := time.Since(t.began)
	r.display.ended(t.Turn.Key, t.Asked, TurnEnd{
		State: end.State, Failure: end.Failure, FirstText: t.firstText, Took: took, Usage: t.usage,
	})
	r.suggestAfter(ctx, t, end)
	r.followUps.turnEnded(context.WithoutCancel(ctx), t.Turn)
	r.upkeep.AfterTurn(ctx, upkeep.Ended{
		Turn: t.Turn, Asked: t.Asked, State: end.State, Answer: t.view.Answer(),
		OwnCommand: r.ownCommand(t) != "",
	})
	log := zerolog.Ctx(ctx).Info()
	if err != nil { // the end could not be stored
		log = zerolog.Ctx(ctx).Error().Err(err)
	}
	log.Stringer("state", end.State).Str("failure", end.Failure).
		Dur("first_text", t.firstText).Dur("took", took).Msg("turn ended")
}

// cutOffOutcome is the outcome of a turn that a shutdown has cut off.
func (r *turnRunner) cutOffOutcome(ctx context.Context, t db.Turn, end turncard.Outcome) turncard.Outcome {
	c, err := r.db.Chats().Get(ctx, t.Key)
	switch {
	case err != nil: // the next start looks again
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
	case c.Epoch != t.Epoch:
		return conversationOver
	}
	if r.approvals.Pending(ctx, t) {
		end.Notice = i18n.InterruptedAsking
	}
	return end
}

// prepare keeps a claimed turn from running in a full or stale session. Errors are only logged: an answer in the old
// session is better than none.
func (r *turnRunner) prepare(ctx context.Context, t *turn) {
	if t.Turn.Follows != 0 { // its agent is already working
		r.upkeep.Enter(ctx, t.Turn.Key, false, func() {})
		return
	}
	r.upkeep.BeforeTurn(ctx, t.Claim, func() { t.setView(t.view.Doing(i18n.Compacting, time.Now())) })
	c, err := r.db.Chats().Get(ctx, t.Turn.Key)
	if ctx.Err() != nil {
		return // stopped before it began
	} else if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
		return
	}
	if c.Epoch != t.Turn.Epoch {
		return // after /new, the turn belongs to the old conversation
	}
	dropped := c.Session.ID == "" && t.session.resume
	if !dropped {
		c.Session = t.Chat.Session
	}
	t.Chat = c
	if !dropped {
		return
	}
	if err := t.session.renew(ctx); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("new session not recorded")
	}
}

// retryStore retries storing the end of the turn until it succeeds; during shutdown only a few times. Whatever is not
// stored even then is recovered from the transcript.
func (r *turnRunner) retryStore(ctx context.Context, t *turn, end turncard.Outcome, err error) error {
	unsure := false
	for tries := 0; err != nil && !errors.Is(err, db.ErrNotFound) && (ctx.Err() == nil || tries < 3); tries++ {
		if isUnsure(err) {
			unsure = true
		} else {
			zerolog.Ctx(ctx).Error().Err(err).Msg("end of the turn not stored; trying again")
		}
		workqueue.Sleep(context.WithoutCancel(ctx), workqueue.StoreRetry)
		err = r.store(ctx, t, end)
	}
	if unsure && errors.Is(err, db.ErrNotFound) { // it was stored before
		return nil
	}
	return err
}

// store stores the end of the turn, even during shutdown. A turn in which nothing ran goes back to the queue.
func (r *turnRunner) store(ctx context.Context, t *turn, end turncard.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	var kept db.Session // holds what the agent has said and read
	if r.resumes {
		kept = t.session.kept
	}
	if end.State == convo.Queued {
		if t.usage != nil {
			spent := db.Expense{Key: t.Turn.Key, Turn: t.Turn.ID, Follows: t.Turn.Follows, Usage: *t.usage}
			if err := r.db.Access().Book(ctx, spent); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("cost of a turn that runs again not booked")
			}
		}
		return r.db.Turns().Requeue(ctx, t.Turn, kept)
	}
	return r.history.finish(ctx, db.TurnResult{
		Turn: t.Turn, Answer: t.view.Answer(), Usage: t.usage, Report: t.report, Actions: t.actions.unstored(),
		SteersRead: t.steersRead, WorksOn: t.goesOn(end.State), Session: kept,
	}, t.view, end)
}
