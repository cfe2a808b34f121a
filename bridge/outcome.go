package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"magpie/bridge/budget"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// failedOutcome is the outcome of a turn that gave no result.
func failedOutcome(log *zerolog.Logger, err error) turncard.Outcome {
	var exit *claude.ExitError
	var spent *budget.SpentError
	var away *workplace.AwayError
	// The order matters: a stop or a shutdown also ends the process, and the exit error that follows says nothing.
	switch {
	case errors.Is(err, errStopped):
		return turncard.Outcome{State: convo.Cancelled, Notice: i18n.Stopped}
	case errors.Is(err, context.Canceled):
		return turncard.Outcome{State: convo.Interrupted, Notice: i18n.Interrupted}
	case errors.Is(err, claude.ErrSilent):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: turncard.FailSilent, Notice: i18n.FailSilent}
	case errors.Is(err, claude.ErrTurnEnd):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: turncard.FailTurnEnd, Notice: i18n.FailTurnEnd}
	case errors.As(err, &spent):
		log.Info().Err(err).Msg("turn not begun")
		return turncard.Outcome{State: convo.Failed, Failure: turncard.FailBudget, Notice: spent.Notice}
	case errors.As(err, &away):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: "project", Notice: i18n.ProjectAway.With(away.Name, away.Away)}
	case errors.Is(err, workplace.ErrGone):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: "project", Notice: i18n.ProjectGone}
	case errors.As(err, new(*claude.StartError)) && !errors.As(err, &exit):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: "internal", Notice: i18n.FailStart}
	case errors.As(err, &exit):
		log.Error().Err(err).Msg("turn failed")
		return turncard.Outcome{State: convo.Failed, Failure: turncard.FailDied, Notice: i18n.FailDied}
	}
	log.Error().Err(err).Msg("turn failed")
	return turncard.Outcome{State: convo.Failed, Failure: "internal", Notice: i18n.FailUnknown}
}

// unbegunOutcome is the outcome of a turn whose agent could not begin, or begin again, and has done nothing. While the
// database server is away the turn waits for it.
func unbegunOutcome(log *zerolog.Logger, err error) turncard.Outcome {
	if isUnsure(err) {
		return turncard.Outcome{State: convo.Queued}
	}
	return failedOutcome(log, err)
}

// conversationOver is the outcome of a turn that was cut off after its conversation had ended: nobody can continue it.
var conversationOver = turncard.Outcome{
	State: convo.Cancelled, Failure: turncard.FailOver, Notice: i18n.ConversationOver,
}

// stoppedOutcome is the outcome of a turn that a user has stopped, or whose question was recalled.
func stoppedOutcome(ctx context.Context, turns db.Turns, t db.Turn) turncard.Outcome {
	gone, err := turns.AllRecalled(context.WithoutCancel(ctx), t)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("cause of the stop not available")
	}
	if gone {
		return turncard.Outcome{State: convo.Cancelled, Failure: turncard.FailRecalled, Notice: i18n.Recalled}
	}
	return turncard.Outcome{State: convo.Cancelled, Notice: i18n.Stopped}
}

// resultOutcome is the outcome of a turn that gave a result.
func (r *turnRunner) resultOutcome(ctx context.Context, c db.Claim, got claude.Result) turncard.Outcome {
	end := turncard.OutcomeOf(got.Failure)
	if got.Failure == "" {
		return end
	}
	zerolog.Ctx(ctx).Error().Str("failure", string(got.Failure)).Str("cli", got.Text).Strs("errors", got.Errors).
		Msg("turn failed")
	words := stream.ServerWords(got.Text)
	if got.Failure == claude.FailHook {
		words = text.OneLine(got.Text)
	}
	end.Words = r.cfg.clean(words)
	end = r.limits.refused(ctx, c, got, end)
	if end.IsForOperators() {
		return r.mendedBy(ctx, c, end)
	}
	return end
}

// maxNamed limits how many admins are named.
const maxNamed = 3

// mendedBy says who can mend a failure: the askers themselves if they are admins, otherwise the admins by name. Admins of a
// further app have no say about the machine.
func (r *turnRunner) mendedBy(ctx context.Context, c db.Claim, end turncard.Outcome) turncard.Outcome {
	who := r.access.At(c.Turn.Key)
	if slices.ContainsFunc(c.Asked, func(m chat.Message) bool { return who.IsAdmin(m.Actor) }) {
		if who.Further {
			return end.Followed(i18n.TellOperator)
		}
		mend := map[claude.Failure]i18n.Phrase{
			claude.FailAuth: i18n.MendAuthOf, claude.FailKey: i18n.MendKey, claude.FailDenied: i18n.MendDenied,
			claude.FailAddress: i18n.MendAddress, claude.FailBilling: i18n.MendBilling,
		}[claude.Failure(end.Failure)]
		if end.Failure == string(claude.FailAuth) && c.Chat.Kind == chat.Private {
			mend, end.LogIn = i18n.MendAuth, true
		}
		return end.Followed(mend)
	}
	var names []string
	for _, user := range who.AdminUsers() {
		name, err := r.db.Messages().NameOf(ctx, user)
		if err != nil && ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("name of an admin not available")
		}
		if name = i18n.SafeName(name); name != "" && len(names) < maxNamed {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return end.Followed(i18n.TellAdmin)
	}
	tell := func(l i18n.Lang) string {
		return i18n.TellPerson.Sprintf(l, strings.Join(names, i18n.Enumeration.In(l)))
	}
	return end.Followed(i18n.Phrase{ZH: tell(i18n.Chinese), EN: tell(i18n.English)})
}
