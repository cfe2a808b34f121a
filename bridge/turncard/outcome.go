package turncard

import (
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// Classes of failures in addition to those of [claude.Failure].
const (
	FailSilent   = "silent"
	FailTurnEnd  = "turn_timeout"
	FailDied     = "died"
	FailBudget   = "budget"
	FailRecalled = "recalled" // not a failure: the question was recalled
	FailOver     = "over"     // not a failure: its conversation has ended
)

// Outcome is how a turn ended.
type Outcome struct {
	State   convo.Phase
	Failure string
	Notice  i18n.Phrase // for the user; zero on success
	Words   string      // what the server of the model said, or the hook; empty = unknown
	Until   string      // the time until which the model is limited, for readers; empty = it is not
	Away    bool        // the chat is in a terminal, for which the turn waits
	LogIn   bool        // whoever asked can log the agent in, here
}

// OutcomeOf is the outcome of a turn whose agent has finished.
func OutcomeOf(f claude.Failure) Outcome {
	if f == "" {
		return Outcome{State: convo.Done}
	}
	notice, ok := map[claude.Failure]i18n.Phrase{
		claude.FailAuth: i18n.FailAuth, claude.FailKey: i18n.FailKey, claude.FailDenied: i18n.FailDenied,
		claude.FailAddress: i18n.FailAddress, claude.FailBilling: i18n.FailBilling, claude.FailRateLimit: i18n.FailRateLimit,
		claude.FailOverloaded: i18n.FailOverloaded, claude.FailServer: i18n.FailServer, claude.FailNetwork: i18n.FailNetwork,
		claude.FailModel: i18n.FailModel, claude.FailRequest: i18n.FailRequest, claude.FailRefused: i18n.FailRefused,
		claude.FailTooLong: i18n.FailTooLong, claude.FailLimit: i18n.FailLimit, claude.FailAborted: i18n.Stopped,
		claude.FailHook: i18n.FailHook, claude.FailHookStop: i18n.FailHookStop,
	}[f]
	if !ok {
		notice = i18n.FailUnknown
	}
	return Outcome{State: convo.Failed, Failure: string(f), Notice: notice}
}

// IsForOperators reports whether only those who run the bot can mend the failure.
func (o Outcome) IsForOperators() bool {
	switch claude.Failure(o.Failure) {
	case claude.FailAuth, claude.FailKey, claude.FailDenied, claude.FailAddress, claude.FailBilling:
		return true
	}
	return false
}

// Followed returns the outcome with another sentence after its notice.
func (o Outcome) Followed(by i18n.Phrase) Outcome {
	o.Notice = i18n.Phrase{ZH: o.Notice.ZH + by.ZH, EN: o.Notice.EN + " " + by.EN}
	return o
}
