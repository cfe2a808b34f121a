package bridge

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/claude"
)

// Classes of failures that are not the agent's own, which are those of [claude.Failure].
const (
	failSilent  = "silent"
	failTurnEnd = "turn_timeout"
	failDied    = "died"
	failGone    = "recalled" // no failure: nobody asks any more
)

// outcome is how a turn ended.
type outcome struct {
	state   db.TurnState
	failure string
	notice  i18n.Phrase // for the user; zero when it went well
}

// failed is the outcome of a turn that gave no result.
func failed(log *zerolog.Logger, err error) outcome {
	var exit *claude.ExitError
	var spent *spentError
	switch {
	case errors.Is(err, workqueue.ErrStopped):
		return outcome{state: db.Cancelled, notice: i18n.Stopped}
	case errors.Is(err, context.Canceled):
		return outcome{state: db.Interrupted, notice: i18n.Interrupted}
	case errors.Is(err, claude.ErrSilent):
		log.Error().Err(err).Msg("turn failed")
		return outcome{state: db.Failed, failure: failSilent, notice: i18n.FailSilent}
	case errors.Is(err, claude.ErrTurnEnd):
		log.Error().Err(err).Msg("turn failed")
		return outcome{state: db.Failed, failure: failTurnEnd, notice: i18n.FailTurnEnd}
	case errors.As(err, &spent):
		log.Info().Err(err).Msg("turn not begun")
		return outcome{state: db.Failed, failure: "budget", notice: spent.notice}
	case errors.Is(err, errNoProject):
		log.Error().Err(err).Msg("turn failed")
		return outcome{state: db.Failed, failure: "project", notice: i18n.ProjectGone}
	case errors.As(err, &exit):
		log.Error().Err(err).Msg("turn failed")
		return outcome{state: db.Failed, failure: failDied, notice: i18n.FailDied}
	}
	log.Error().Err(err).Msg("turn failed")
	return outcome{state: db.Failed, failure: "internal", notice: i18n.FailUnknown}
}

// stopped is the outcome of a turn that somebody has stopped, or whose question was taken back.
func (b *Bridge) stopped(ctx context.Context, t db.Turn) outcome {
	gone, err := b.db.Turns().TakenBack(context.WithoutCancel(ctx), t.Key, t.ID)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("why the turn was stopped is not known")
	}
	if gone {
		return outcome{state: db.Cancelled, failure: failGone, notice: i18n.Recalled}
	}
	return outcome{state: db.Cancelled, notice: i18n.Stopped}
}

// ended is the outcome of a turn that gave a result.
func ended(log *zerolog.Logger, r claude.Result) outcome {
	if r.Failure != "" {
		log.Error().Str("failure", string(r.Failure)).Str("cli", r.Text).Strs("errors", r.Errors).Msg("turn failed")
	}
	return outcomeOf(r.Failure)
}
