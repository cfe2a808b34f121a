package turncard

import (
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// DoGoOn is the action that asks the agent to continue, on behalf of whoever presses the button.
const DoGoOn = "go_on"

// DoAsk is the action that asks a suggested question, on behalf of whoever presses the button. The question is the
// action's ID.
const DoAsk = "ask"

// DoAskAgain is the action that asks a refused question once more, when the model's limit has ended.
const DoAskAgain = "ask_again"

// TakeBack is the command that takes a chat back from its terminal.
const TakeBack = "/handoff back"

// buttons are the buttons of an ended turn.
func (v State) buttons() []chat.Button {
	again := CommandButton(i18n.CardNewButton.In(v.Lang), "/new")
	again.Action.Turn, again.Newest = v.turn, true
	switch {
	case v.outcome.State == convo.Done && v.outcome.Notice == (i18n.Phrase{}): // a turn with a notice was decided later
		if v.suggests == "" {
			return []chat.Button{again}
		}
		ask := chat.Action{Do: DoAsk, Turn: v.turn, ID: v.suggests}
		return []chat.Button{{Label: v.suggests, Newest: true, Action: ask}, again}
	case v.outcome.State == convo.Queued && v.outcome.Away:
		return []chat.Button{
			CommandButton(i18n.TakeBackButton.In(v.Lang), TakeBack), turnButton(v.turn, v.Lang, i18n.CancelButton, DoStop),
		}
	case v.outcome.State == convo.Queued && v.outcome.Until != "":
		return []chat.Button{turnButton(v.turn, v.Lang, i18n.CancelButton, DoStop)}
	case v.outcome.State == convo.Interrupted:
		return []chat.Button{
			turnButton(v.turn, v.Lang, i18n.ContinueButton, DoContinue),
			turnButton(v.turn, v.Lang, i18n.DropButton, DoDrop),
		}
	case v.outcome.Failure == FailRecalled || v.outcome.Failure == FailOver:
		return nil
	case v.outcome.State == convo.Cancelled && (len(v.steps) > 0 || v.Answer() != ""):
		return []chat.Button{turnButton(v.turn, v.Lang, i18n.ContinueButton, DoGoOn)}
	case v.outcome.State != convo.Failed:
		return nil
	}
	// What waits is asked at that time; a question that was refused at once need not be said again.
	if at := v.outcome.Until; at != "" && len(v.steps) == 0 && v.Answer() == "" {
		label := i18n.AskAgainButton.Sprintf(v.Lang, at)
		return []chat.Button{{Label: label, Action: chat.Action{Do: DoAskAgain, Turn: v.turn}}}
	} else if at != "" {
		label := i18n.ContinueAtButton.Sprintf(v.Lang, at)
		return []chat.Button{{Label: label, Action: chat.Action{Do: DoGoOn, Turn: v.turn}}}
	}
	switch v.outcome.Failure {
	case FailDied, FailSilent, FailTurnEnd, string(claude.FailLimit), string(claude.FailHookStop):
		return []chat.Button{turnButton(v.turn, v.Lang, i18n.ContinueButton, DoGoOn)}
	case string(claude.FailTooLong), string(claude.FailRequest), string(claude.FailRefused):
		return []chat.Button{again}
	}
	retry := CommandButton(i18n.CardRetryButton.In(v.Lang), "/retry")
	if v.outcome.LogIn {
		return []chat.Button{CommandButton(i18n.LoginButton.In(v.Lang), "/login"), retry}
	}
	return []chat.Button{retry}
}

// DoCommand is the action that gives a command.
const DoCommand = chat.DoCommand

// CommandButton makes a button that gives a command on behalf of whoever presses it.
func CommandButton(label, line string) chat.Button {
	return chat.Button{Label: label, Action: chat.Action{Do: DoCommand, ID: line}}
}
