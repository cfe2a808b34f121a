package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// heldCard says that a question came so late that it is run only on request.
func heldCard(turn int64, l lang, sent time.Time) chat.Card {
	text := fmt.Sprintf(texts.Late.in(l), span(time.Since(sent), l))
	return chat.Card{Body: text, Summary: text, Buttons: []chat.Button{
		{Label: texts.AnswerButton.in(l), Action: chat.Action{Do: doContinue, Turn: turn}},
		{Label: texts.DropButton.in(l), Action: chat.Action{Do: doDrop, Turn: turn}},
	}}
}

// span is a length of time for people.
func span(d time.Duration, l lang) string {
	switch hours := int(d.Hours()); {
	case hours < 1:
		return fmt.Sprintf(texts.Minutes.in(l), int(d.Minutes()))
	case hours < 48:
		return fmt.Sprintf(texts.Hours.in(l), hours)
	default:
		return fmt.Sprintf(texts.Days.in(l), hours/24)
	}
}

// continues makes e go on with the chat's interrupted turn, if there is one.
func (r recovery) continues(ctx context.Context, e *db.Inbound, l lang) error {
	if err := r.await(ctx); err != nil {
		return err
	}
	t, err := r.b.db.Turns().Interrupted(ctx, e.Key)
	if errors.Is(err, db.ErrNotFound) {
		return nil // an ordinary message
	} else if err != nil {
		return err
	}
	e.Continues = t.ID
	e.Over, err = r.over(ctx, e.Key, t.ID, l, texts.GoesOn)
	return err
}

// over is the card of an interrupted turn about which somebody has decided.
func (r recovery) over(ctx context.Context, key chat.Key, turn int64, l lang, notice phrase) (chat.Card, error) {
	answer, err := r.b.db.Turns().Answer(ctx, key, turn)
	if err != nil {
		return chat.Card{}, err
	}
	return newView(turn, l).saying(answer).end(outcome{state: db.Done, notice: notice}).card(time.Now()), nil
}

// decide does what the buttons of an interrupted turn order.
func (r recovery) decide(ctx context.Context, p chat.Press, l lang) (string, error) {
	w := db.Decision{Key: p.Key, Turn: p.Action.Turn, Event: p.ID, GoOn: p.Action.Do == doContinue}
	notice, toast := texts.Dropped, texts.Dropped
	if w.GoOn {
		notice, toast = texts.GoesOn, texts.GoingOn
		w.Wish = chat.Message{Actor: p.Actor, Text: texts.ContinueWord.in(l), Time: time.Now()}
	}
	var err error
	if w.Over, err = r.over(ctx, p.Key, w.Turn, l, notice); err != nil {
		return "", err
	}
	switch err := r.b.db.Turns().Decide(ctx, w); {
	case errors.Is(err, db.ErrRepeated):
		return "", nil
	case errors.Is(err, db.ErrNotFound):
		return texts.StopOver.in(l), nil
	case err != nil:
		return "", err
	}
	r.b.outbox.wake(p.Key)
	r.b.wake(p.Key)
	return toast.in(l), nil
}
