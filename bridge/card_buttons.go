package bridge

import (
	"context"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// doGoOn is what a button does that asks the agent to go on, as whoever presses it.
const doGoOn = "go_on"

// askToGoOn is what pressing it comes to.
func askToGoOn(_ context.Context, o ordered) (order, error) {
	return order{ask: texts.ContinueWord.in(o.lang)}, nil
}

// offers are the buttons of a turn that is over: what a reader may want to do about it.
func (v view) offers() []chat.Button {
	again := orderButton(cardTexts.NewButton.in(v.lang), "/new")
	switch {
	case v.outcome.state == db.Done && v.outcome.notice == (phrase{}): // one with a notice was decided about later
		return []chat.Button{again}
	case v.outcome.state == db.Interrupted:
		return []chat.Button{v.button(texts.ContinueButton, doContinue), v.button(texts.DropButton, doDrop)}
	case v.outcome.failure == failGone:
		return nil
	case v.outcome.state == db.Cancelled && (len(v.steps) > 0 || v.answer() != ""):
		return []chat.Button{v.button(texts.ContinueButton, doGoOn)}
	case v.outcome.state != db.Failed:
		return nil
	}
	switch v.outcome.failure {
	case failDied, failSilent, failTurnEnd, string(claude.FailLimit):
		return []chat.Button{v.button(texts.ContinueButton, doGoOn)}
	case string(claude.FailTooLong), string(claude.FailRequest), string(claude.FailRefused):
		return []chat.Button{again}
	}
	return []chat.Button{orderButton(cardTexts.RetryButton.in(v.lang), "/retry")}
}
