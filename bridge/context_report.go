package bridge

import (
	"context"
	"errors"
	"fmt"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// How a turn got its session: see [db.ContextReport].
const (
	sessionLive    = "live"    // the process from an earlier turn of the chat was still running
	sessionResumed = "resumed" // a new process resumed an earlier session
	sessionBegun   = "begun"   // a new session
)

// reportOf summarizes for users what a prompt contained besides the question.
func reportOf(r contextmgr.Request, p contextmgr.Prompt, lost claude.LostCause) *db.ContextReport {
	t := &db.ContextReport{Session: sessionBegun, Lost: string(lost), Messages: p.Stats.Messages, Unread: p.Unread != nil}
	switch {
	case r.Live:
		t.Session = sessionLive
	case p.UseResume:
		t.Session, t.Incomplete, t.Unsure = sessionResumed, r.Incomplete, !r.Verified
	}
	return t
}

// lastReport is a line about the context of the chat's last turn; empty if unknown.
func (cs *commandSet) lastReport(ctx context.Context, c db.Chat) string {
	t, err := cs.db.Turns().LastReport(ctx, c.Key, c.Epoch)
	if err != nil {
		if !errors.Is(err, db.ErrNotFound) {
			cs.log.Error().Err(err).Stringer("chat", c.Key).Msg("context of the last turn not read")
		}
		return ""
	}
	l := cs.languages.Of(c)
	return "\n" + fmt.Sprintf(i18n.StatusContext.In(l), describe(t, l))
}

// describe tells users what context the agent had, and why it was limited.
func describe(t db.ContextReport, l i18n.Lang) string {
	// The most important first: a lost session explains everything else.
	if t.Lost != "" && t.Session == sessionBegun {
		why := lostText(claude.LostCause(t.Lost)).In(l)
		if t.Unread && t.Messages == 0 {
			return fmt.Sprintf(i18n.ContextUnavailable.In(l), why)
		}
		return i18n.ContextLost.Sprintf(l, why, t.Messages)
	}
	var way i18n.Phrase
	switch {
	case t.Session == sessionLive:
		way = i18n.ContextLive
	case t.Session == sessionBegun:
		way = i18n.ContextNewSession
	case t.Incomplete:
		way = i18n.ContextIncomplete
	case t.Unsure:
		way = i18n.ContextUnverified
	default:
		way = i18n.ContextResumed
	}
	text := way.In(l)
	if t.Messages > 0 {
		text += i18n.ContextHistory.Sprintf(l, t.Messages)
	}
	if t.Unread {
		text = fmt.Sprintf(i18n.ContextNoHistory.In(l), text)
	}
	return text
}

// lostText tells users why a session could not be resumed.
func lostText(c claude.LostCause) i18n.Phrase {
	switch c {
	case claude.LostMissing:
		return i18n.LostTranscript
	case claude.LostEmpty, claude.LostCorrupt:
		return i18n.LostDamaged
	case claude.LostElsewhere:
		return i18n.LostFolder
	case claude.LostMachine:
		return i18n.LostMachine
	case claude.LostForeign:
		return i18n.LostForeign
	case claude.LostTooLong:
		return i18n.LostTooLong
	case claude.LostRefused:
		return i18n.LostRefused
	}
	return i18n.LostUnknown
}
