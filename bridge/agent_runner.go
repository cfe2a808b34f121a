package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/claude"
)

// mayGoOn reports whether a turn that a shutdown cuts off may run again without being asked for.
func (r *turnRunner) mayGoOn(t *turn) bool {
	return !t.effects.any() && !turncard.HasAsked(t.view) && t.Turn.Attempts < maxAttempts
}

// enableTools enables the agent's tools for the turn until leave is called.
func (r *turnRunner) enableTools(t *turn) (leave func()) {
	specs := r.specs
	return specs.tools.setRunningTurn(t.Claim, specs.cfg.projectDir(t.Chat))
}

// withdrawRequests withdraws the agent's open requests when its turn has ended. Those of subagents that go on after a
// follow-up are passed on later; see [followUps.turnEnded].
func (r *turnRunner) withdrawRequests(ctx context.Context, t *turn, state db.TurnState) {
	if t.Turn.Follows != 0 && t.goesOn(state) {
		return
	}
	r.approvals.EndTurn(ctx, t.Turn, state)
}

// readFollowUp reads a turn that the agent started by itself. If the budget does not allow it, its process is ended.
func (r *turnRunner) readFollowUp(ctx context.Context, t *turn) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	if err := r.budget.check(ctx, t.Claim); err != nil {
		<-r.pool.Stop(t.Turn.Key.String())
		t.addUsage(r.unreadUsage(ctx, t.Claim))
		return failedOutcome(log, err)
	}
	result, err := r.follow(ctx, t)
	if err != nil {
		return failedOutcome(log, err)
	}
	r.leaveRefused(ctx, t, result)
	return r.resultOutcome(ctx, t.Claim, result)
}

// leaveRefused makes what the model's API has refused end with its turn.
func (r *turnRunner) leaveRefused(ctx context.Context, t *turn, result claude.Result) {
	if result.Failure.OfContents() {
		t.session.leaveRefused(ctx, t.acted || t.Turn.Follows != 0,
			r.pool.Config().Transcripts(t.Turn.Key.String()))
	}
}

// mostTries limits the attempts of one turn: one may find a lost session, one a dead process; the third has to work.
const mostTries = 3

// answer runs the agent of a prepared turn until it has answered. It replaces a lost session or a dead process without
// the user noticing.
func (r *turnRunner) answer(ctx context.Context, t *turn) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	t.decided = r.approvals.TakeOver(ctx, t.Turn)
	r.takeSpare(ctx, t) // must come before anything creates the chat's folder
	// Files come first because the prompt names their paths. The group's messages are fetched in parallel with the
	// rest.
	r.fetchFiles(ctx, t)
	t.listen = r.background.fetchMissed(ctx, t.Claim)
	defer t.listen()
	if err := r.budget.check(ctx, t.Claim); err != nil {
		return failedOutcome(log, err)
	}
	var err error
	// A lost session or a dead process ends one attempt; several in a row mean that something else is wrong.
	for n := range mostTries {
		if n > 0 {
			t.setView(t.view.Restarted(time.Now()))
		}
		var result claude.Result
		result, err = r.attemptInstalled(ctx, t)
		var lost *claude.LostError
		var exit *claude.ExitError
		switch {
		case errors.As(err, &lost):
			if err := t.session.forget(ctx, lost); err != nil {
				return failedOutcome(log, err)
			}
		// Only before the first tool call: a command must not run twice.
		case errors.As(err, &exit) && !t.acted && ctx.Err() == nil:
			log.Warn().Err(err).Msg("claude died before it used a tool; running the turn again")
			if err := t.session.prepareRetry(ctx); err != nil {
				return failedOutcome(log, err)
			}
		// The agent has received nothing yet, so the turn can run again after a restart.
		case err != nil && !t.sent && errors.Is(err, context.Canceled):
			return turncard.Outcome{State: db.Queued}
		// It has changed nothing, so it goes on by itself at the next start.
		case errors.Is(err, context.Canceled) && !errors.Is(err, errStopped) && r.mayGoOn(t):
			return turncard.Outcome{State: db.Queued}
		case err != nil:
			return failedOutcome(log, err)
		default:
			r.leaveRefused(ctx, t, result)
			return r.budget.explainLimit(r.resultOutcome(ctx, t.Claim, result))
		}
	}
	return failedOutcome(log, err)
}
