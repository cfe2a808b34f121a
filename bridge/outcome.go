package bridge

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/claude"
)

// failedOutcome is the outcome of a turn that gave no result.
func failedOutcome(log *zerolog.Logger, err error) turncard.Outcome {
	var exit *claude.ExitError
	var spent *spentError
	// The order matters: a stop or a shutdown also ends the process, and the exit error that follows says nothing.
	switch {
	case errors.Is(err, workqueue.ErrStopped):
		return turncard.Outcome{State: db.Cancelled, Notice: i18n.Stopped}
	case errors.Is(err, context.Canceled):
		return turncard.Outcome{State: db.Interrupted, Notice: i18n.Interrupted}
	case errors.Is(err, claude.ErrSilent):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: db.Failed, Failure: turncard.FailSilent, Notice: i18n.FailSilent}
	case errors.Is(err, claude.ErrTurnEnd):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: db.Failed, Failure: turncard.FailTurnEnd, Notice: i18n.FailTurnEnd}
	case errors.As(err, &spent):
		log.Info().Err(err).Msg("turn not begun")
		return turncard.Outcome{State: db.Failed, Failure: turncard.FailBudget, Notice: spent.notice}
	case errors.Is(err, errNoProject):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: db.Failed, Failure: "project", Notice: i18n.ProjectGone}
	case errors.As(err, &exit):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: db.Failed, Failure: turncard.FailDied, Notice: i18n.FailDied}
	}
	log.Error().Err(err).Msg("turn failed")
	return turncard.Outcome{State: db.Failed, Failure: "internal", Notice: i18n.FailUnknown}
}

// stoppedOutcome is the outcome of a turn that a user has stopped, or whose question was recalled.
func stoppedOutcome(ctx context.Context, turns db.Turns, t db.Turn) turncard.Outcome {
	gone, err := turns.AllRecalled(context.WithoutCancel(ctx), t)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("cause of the stop not available")
	}
	if gone {
		return turncard.Outcome{State: db.Cancelled, Failure: turncard.FailRecalled, Notice: i18n.Recalled}
	}
	return turncard.Outcome{State: db.Cancelled, Notice: i18n.Stopped}
}

// resultOutcome is the outcome of a turn that gave a result.
func resultOutcome(log *zerolog.Logger, r claude.Result) turncard.Outcome {
	if r.Failure != "" {
		log.Error().Str("failure", string(r.Failure)).Str("cli", r.Text).Strs("errors", r.Errors).Msg("turn failed")
	}
	return turncard.OutcomeOf(r.Failure)
}
