package bridge

import (
	"context"
	"errors"
	"fmt"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
)

// reportOf is what a prompt tells the agent beside the question.
func reportOf(r contextmgr.Request, p contextmgr.Prompt, lost claude.LostCause) *db.ContextReport {
	t := &db.ContextReport{Session: db.Begun, Lost: string(lost), Messages: p.Stats.Messages, Unread: p.Unread}
	switch {
	case r.Live:
		t.Session = db.Live
	case p.UseResume:
		t.Session, t.Behind, t.Unsure = db.Resumed, r.Behind, !r.Verified
	}
	return t
}

// lastReport is a line about the context of the chat's last turn; empty when nothing is known.
func lastReport(ctx context.Context, b *Bridge, c db.Chat) string {
	t, err := b.db.Turns().LastReport(ctx, c.Key, c.Epoch)
	if err != nil {
		if !errors.Is(err, db.ErrNotFound) {
			b.log.Error().Err(err).Stringer("chat", c.Key).Msg("context of the last turn not read")
		}
		return ""
	}
	l := b.cfg.langOf(c)
	return "\n" + fmt.Sprintf(texts.StatusTold.in(l), describe(t, l))
}

// describe says what the agent was told, and why not more.
func describe(t db.ContextReport, l lang) string {
	if t.Lost != "" && t.Session == db.Begun {
		why := lostText(claude.LostCause(t.Lost)).in(l)
		if t.Unread && t.Messages == 0 {
			return fmt.Sprintf(texts.ToldNeither.in(l), why)
		}
		return fmt.Sprintf(texts.ToldLost.in(l), why, t.Messages)
	}
	var way phrase
	switch {
	case t.Session == db.Live:
		way = texts.ToldLive
	case t.Session == db.Begun:
		way = texts.ToldBegun
	case t.Behind:
		way = texts.ToldBehind
	case t.Unsure:
		way = texts.ToldUnsure
	default:
		way = texts.ToldResumed
	}
	text := way.in(l)
	if t.Messages > 0 {
		text += fmt.Sprintf(texts.ToldHistory.in(l), t.Messages)
	}
	if t.Unread {
		text = fmt.Sprintf(texts.ToldUnread.in(l), text)
	}
	return text
}

// lostText says for people why a session was given up.
func lostText(c claude.LostCause) phrase {
	switch c {
	case claude.LostMissing:
		return texts.LostTranscript
	case claude.LostEmpty, claude.LostCorrupt:
		return texts.LostDamaged
	case claude.LostElsewhere:
		return texts.LostFolder
	case claude.LostMachine:
		return texts.LostMachine
	case claude.LostForeign:
		return texts.LostForeign
	case claude.LostTooLong:
		return texts.LostTooLong
	}
	return texts.LostUnknown
}
