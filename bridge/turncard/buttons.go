package turncard

import (
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// DoGoOn is what a button does that asks the agent to go on, as whoever presses it.
const DoGoOn = "go_on"

// DoAsk is what a button does that asks what was suggested, as whoever presses it: the question is the action's ID.
const DoAsk = "ask"

// buttons are the buttons of a turn that is over: what a reader may want to do about it.
func (v State) buttons() []chat.Button {
	again := CommandButton(i18n.CardNewButton.In(v.Lang), "/new")
	switch {
	case v.outcome.State == db.Done && v.outcome.Notice == (i18n.Phrase{}): // one with a notice was decided about later
		if v.suggests == "" {
			return []chat.Button{again}
		}
		ask := chat.Action{Do: DoAsk, Turn: v.turn, ID: v.suggests}
		return []chat.Button{{Label: v.suggests, Action: ask}, again}
	case v.outcome.State == db.Interrupted:
		return []chat.Button{
			turnButton(v.turn, v.Lang, i18n.ContinueButton, DoContinue), turnButton(v.turn, v.Lang, i18n.DropButton, DoDrop),
		}
	case v.outcome.Failure == FailRecalled:
		return nil
	case v.outcome.State == db.Cancelled && (len(v.steps) > 0 || v.Answer() != ""):
		return []chat.Button{turnButton(v.turn, v.Lang, i18n.ContinueButton, DoGoOn)}
	case v.outcome.State != db.Failed:
		return nil
	}
	switch v.outcome.Failure {
	case FailDied, FailSilent, FailTurnEnd, string(claude.FailLimit):
		return []chat.Button{turnButton(v.turn, v.Lang, i18n.ContinueButton, DoGoOn)}
	case string(claude.FailTooLong), string(claude.FailRequest), string(claude.FailRefused):
		return []chat.Button{again}
	}
	return []chat.Button{CommandButton(i18n.CardRetryButton.In(v.Lang), "/retry")}
}

// DoCommand is what a button does that gives a command: its line is the action's ID.
const DoCommand = "order"

// CommandButton gives a command when it is pressed, as whoever presses it.
func CommandButton(label, line string) chat.Button {
	return chat.Button{Label: label, Action: chat.Action{Do: DoCommand, ID: line}}
}
