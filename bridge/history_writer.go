package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/bridge/delivery"
	"magpie/bridge/language"
	"magpie/bridge/login"
	"magpie/bridge/turncard"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// historyWriter adds messages and answers to the History, without the private data and secrets that must stay out of
// it.
type historyWriter struct {
	cfg       *Config
	db        *db.DB
	languages language.Chooser
	zone      *time.Location // for the times in file names
}

// redactForHistory redacts a text for the History. Commands lose all private data, whatever the configuration says:
// only their effects are needed later, and those are redacted too.
func (cfg Config) redactForHistory(text string) string {
	p := cfg.Redact
	if _, name, _ := parseCommand(strings.TrimSpace(text)); name != "" && questionIn(text) == text {
		p = redact.All()
	}
	return cfg.Secrets.Text(redact.Text(login.WithoutCodes(text), p))
}

// accept stores a message and its effects.
func (w historyWriter) accept(ctx context.Context, e db.Inbound) (db.AcceptResult, error) {
	return w.db.Messages().Accept(ctx, w.redacted(ctx, e))
}

// edit stores the new version of an edited message.
func (w historyWriter) edit(ctx context.Context, e db.Inbound) (db.AcceptResult, error) {
	return w.db.Messages().Edit(ctx, w.redacted(ctx, e))
}

// maxSaid is how much of a message the chat's own door shows that came through another one, in runes.
const maxSaid = 200

func (w historyWriter) redacted(ctx context.Context, e db.Inbound) db.Inbound {
	secrets := w.cfg.Secrets
	e.Text, e.Reply = w.cfg.redactForHistory(e.Text), secrets.Text(e.Reply)
	if at := (chat.Ref{Key: e.Key, ID: e.ID}); at.IsElsewhere() && !db.IsPressID(e.ID) {
		l := w.languages.LanguageFor(ctx, e.Key, e.Lang)
		e.Said = i18n.SaidElsewhere.Sprintf(l, i18n.PersonName(e.Actor.Name, e.Actor.ID), w.cfg.DoorName(at.Channel()).In(l),
			i18n.Excerpt(e.Text, maxSaid))
	}
	for _, card := range []**chat.Card{&e.Card, &e.Held} {
		if *card != nil {
			*card = new(delivery.RedactCard(**card, secrets))
		}
	}
	return e
}

// finish stores how a turn ends: e, its answer, and what people see of it. The answer is redacted for the History; the card is not, because its readers asked
// for the answer.
func (w historyWriter) finish(ctx context.Context, e db.TurnResult, view turncard.State, end turncard.Outcome) error {
	e.State, e.Failure, e.Answer = end.State, end.Failure, w.cfg.redactForHistory(e.Answer)
	e.Card = delivery.RedactCard(view.Finish(end).Card(time.Now()), w.cfg.Secrets)
	if long := w.cfg.LongAnswer; long > 0 && e.State == convo.Done && utf8.RuneCountInString(e.Answer) > long {
		l, now := w.languages.OfChat(ctx, e.Turn.Key), time.Now().In(w.zone)
		e.FileName = fmt.Sprintf(i18n.AnswerFile.In(l), now.Format("20060102-150405"))
		e.FileText = delivery.Shown(e.Answer, w.cfg.Secrets)
	}
	e.Notice = w.notice(ctx, e)
	return w.db.Turns().Finish(ctx, e)
}

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

// storeQuestion stores a question. If the chat is idle, its turn is claimed in the same transaction, unless the
// question is only files and its text may follow. In any case the caller must call run in the end, which starts the
// turn.
func (rc *receiver) storeQuestion(
	ctx context.Context, e db.Inbound, wordless bool,
) (got db.AcceptResult, run func(), err error) {
	if e.Held != nil || wordless || !rc.turns.reserve(e.Key) {
		got, err = rc.history.accept(ctx, e)
		return got, func() {
			switch {
			case err != nil || !got.Fresh:
			case wordless: // during shutdown it stays in the queue
				waits := rc.cfg.Waits
				time.AfterFunc(cmp.Or(waits.Words, wordsWait), func() { rc.turns.wake(e.Key) })
			default:
				rc.turns.wake(e.Key)
			}
		}, err
	}
	start, queued, unsure := rc.turns.startParams(), e, false
	e.Start = &start
	if got, err = rc.history.accept(ctx, e); err != nil {
		unsure = isUnsure(err)
		if ctx.Err() == nil {
			// If the turn cannot be claimed, the message must be stored anyway.
			got, err = rc.history.accept(ctx, queued)
		}
	}
	if unsure {
		return got, func() { rc.turns.findReserved(e.Key, start) }, err
	}
	if c := got.Claim; c != nil {
		rc.busy.claimed(e.Key, c.Turn.ID)
	}
	return got, func() {
		rc.turns.runReserved(e.Key, got.Claim)
		if err == nil && got.Fresh && got.Claim == nil {
			rc.turns.wake(e.Key)
		}
	}, err
}
