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

// agentRunner has the agent answer turns that are prepared.
type agentRunner struct {
	budget     *budget
	background *background
	files      turnFiles
	attempts   attemptRunner
}

// attend lets the agent use its tools for the turn, until leave is called.
func (r agentRunner) attend(t *turn) (leave func()) {
	specs := r.attempts.specs
	return specs.tools.attend(t.claim, specs.cfg.project(t.claim.Chat))
}

// leave ends what the agent still wants when its turn has ended.
func (r agentRunner) leave(ctx context.Context, t *turn, state db.TurnState) {
	r.attempts.approvals.EndTurn(ctx, t.claim.Turn, state)
}

// follow reads what the agent of a turn has begun by itself. What it may not cost ends with its process.
func (r agentRunner) follow(ctx context.Context, t *turn) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	if err := r.budget.check(ctx, t.claim); err != nil {
		r.attempts.pool.Stop(t.claim.Turn.Key.String())
		return failed(log, err)
	}
	result, err := r.attempts.follow(ctx, t)
	if err != nil {
		return failed(log, err)
	}
	return ended(log, result)
}

// mostTries is how often one turn may be begun: a lost session, then a process that died, then none.
const mostTries = 3

// answer runs the agent of a prepared turn until it has answered. A lost session and a process that died are replaced
// without the user noticing.
func (r agentRunner) answer(ctx context.Context, t *turn) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	t.decided = r.attempts.approvals.TakeOver(ctx, t.claim.Turn)
	r.attempts.takeSpare(ctx, t) // before anything needs a folder of the chat
	// Files first: a prompt names their paths. The messages of the group are fetched at the same time as
	// the rest is prepared.
	r.files.fetch(ctx, t)
	t.listen = r.background.fetchMissed(ctx, t.claim)
	defer t.listen()
	if err := r.budget.check(ctx, t.claim); err != nil {
		return failed(log, err)
	}
	var err error
	// A lost session or a dead process ends one attempt; several in a row mean that something else is wrong.
	for n := range mostTries {
		if n > 0 {
			t.setView(t.view.Restarted(time.Now()))
		}
		var result claude.Result
		result, err = r.attempts.run(ctx, t)
		var lost *claude.LostError
		var exit *claude.ExitError
		switch {
		case errors.As(err, &lost):
			if err := t.session.forget(ctx, lost); err != nil {
				return failed(log, err)
			}
		// Only before the first tool: a command must not run twice.
		case errors.As(err, &exit) && !t.course.acted && ctx.Err() == nil:
			log.Warn().Err(err).Msg("claude died before it used a tool; running the turn again")
			if err := t.session.rejoin(ctx); err != nil {
				return failed(log, err)
			}
		// Nothing was sent to the agent yet, so the next start of the program can run the turn.
		case err != nil && !t.course.sent && errors.Is(err, context.Canceled):
			return turncard.Outcome{State: db.Queued}
		case err != nil:
			return failed(log, err)
		default:
			return r.budget.limited(ended(log, result))
		}
	}
	return failed(log, err)
}
