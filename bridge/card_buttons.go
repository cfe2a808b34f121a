package bridge

import (
	"context"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// doGoOn is what a button does that asks the agent to go on, as whoever presses it.
const doGoOn = "go_on"

// askToGoOn is what pressing it comes to.
func askToGoOn(_ context.Context, o ordered) (order, error) {
	return order{ask: i18n.ContinueWord.In(o.lang)}, nil
}

// offers are the buttons of a turn that is over: what a reader may want to do about it.
func (v view) offers() []chat.Button {
	again := orderButton(i18n.CardNewButton.In(v.lang), "/new")
	switch {
	case v.outcome.state == db.Done && v.outcome.notice == (i18n.Phrase{}): // one with a notice was decided about later
		return []chat.Button{again}
	case v.outcome.state == db.Interrupted:
		return []chat.Button{v.button(i18n.ContinueButton, doContinue), v.button(i18n.DropButton, doDrop)}
	case v.outcome.failure == failGone:
		return nil
	case v.outcome.state == db.Cancelled && (len(v.steps) > 0 || v.answer() != ""):
		return []chat.Button{v.button(i18n.ContinueButton, doGoOn)}
	case v.outcome.state != db.Failed:
		return nil
	}
	switch v.outcome.failure {
	case failDied, failSilent, failTurnEnd, string(claude.FailLimit):
		return []chat.Button{v.button(i18n.ContinueButton, doGoOn)}
	case string(claude.FailTooLong), string(claude.FailRequest), string(claude.FailRefused):
		return []chat.Button{again}
	}
	return []chat.Button{orderButton(i18n.CardRetryButton.In(v.lang), "/retry")}
}
