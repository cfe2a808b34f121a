package bridge

import (
	"context"
	"strings"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// notify is the command /notify. Everyone may use it: it only affects their own chat.
func (cs *commandSet) notify(_ context.Context, o invocation) (commandResult, error) {
	on, known := onOff[strings.ToLower(o.args)]
	switch {
	case o.args == "":
		now := i18n.NotifyOn
		if o.chat.Settings.Notify == db.NotifyOff {
			now = i18n.NotifyOff
		}
		return offer(now.In(o.lang), []chat.Button{
			turncard.CommandButton(i18n.OnButton.In(o.lang), "/notify on"),
			turncard.CommandButton(i18n.OffButton.In(o.lang), "/notify off"),
		})
	case !known:
		return o.say(i18n.NotifyUsage)
	case on:
		return o.set(func(s *db.Settings) { s.Notify = "" }, i18n.NotifyOn)
	}
	return o.set(func(s *db.Settings) { s.Notify = db.NotifyOff }, i18n.NotifyOff)
}

var onOff = map[string]bool{"on": true, "开": true, "开启": true, "off": false, "关": false, "关闭": false}

// notice notifies the askers of a turn that has ended; nil = no notification.
func (w historyWriter) notice(ctx context.Context, e db.TurnResult) *db.Notice {
	says := map[convo.Phase]i18n.Phrase{
		convo.Done: i18n.NoticeDone, convo.Failed: i18n.NoticeFailed, convo.Interrupted: i18n.NoticeInterrupted,
	}
	text, ok := says[e.State]
	if !ok || w.cfg.NotifyAfter <= 0 {
		return nil
	}
	return &db.Notice{After: w.cfg.NotifyAfter, Text: text.In(w.languages.OfChat(ctx, e.Turn.Key))}
}
