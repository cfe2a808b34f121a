package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// heldCard asks about a question that arrived so late that it is answered only on request.
func heldCard(l i18n.Lang, age time.Duration) chat.Card {
	text := fmt.Sprintf(i18n.Late.In(l), lateBy(age, l))
	head := i18n.HeaderLate.In(l)
	return chat.Card{Title: head, State: chat.CardNeedsYou, Body: text, Summary: text, Buttons: []chat.Button{
		{Label: i18n.AnswerButton.In(l), Action: chat.Action{Do: turncard.DoContinue, Turn: chat.OwnTurn}},
		{Label: i18n.DropButton.In(l), Action: chat.Action{Do: turncard.DoDrop, Turn: chat.OwnTurn}},
	}}
}

// lateBy formats an age, which is known to a second or two: a message that came three hours late must not be said to be
// two hours late.
func lateBy(age time.Duration, l i18n.Lang) string {
	return i18n.RoughDuration(age.Round(time.Minute), l)
}

// Interrupted turns go on or are dropped, as anybody decides who may ask in the chat: they could ask or stop the same
// themselves. What the agent has asked its askers remains theirs.

// AwaitRecovery waits until what the previous run has left in a chat is recovered.
func (r *cutOffTurns) AwaitRecovery(ctx context.Context, key chat.Key) error {
	return r.turns.awaitRecovery(ctx, key)
}

// Wake starts work on the chat's turns.
func (r *cutOffTurns) Wake(key chat.Key) { r.turns.wake(key) }

// ContinuedCard is the card of an interrupted turn that another turn continues.
func (r *cutOffTurns) ContinuedCard(
	ctx context.Context, key chat.Key, turn int64, l i18n.Lang,
) (chat.Card, error) {
	return r.decidedCard(ctx, key, turn, l, i18n.GoesOn)
}

// continueNewest makes e continue the chat's interrupted turn, if there is one.
func (r *cutOffTurns) continueNewest(ctx context.Context, e *db.Inbound, l i18n.Lang) error {
	if err := r.turns.awaitRecovery(ctx, e.Key); err != nil {
		return err
	}
	t, err := r.db.Turns().Interrupted(ctx, e.Key, 0)
	if errors.Is(err, db.ErrNotFound) {
		return nil // an ordinary message
	} else if err != nil {
		return err
	}
	e.Continues = t.ID
	e.Over, err = r.ContinuedCard(ctx, e.Key, t.ID, l)
	return err
}

// decidedCard is the card of an interrupted turn after the decision.
func (r *cutOffTurns) decidedCard(
	ctx context.Context, key chat.Key, turn int64, l i18n.Lang, notice i18n.Phrase,
) (chat.Card, error) {
	v, err := r.view(ctx, key, turn, l)
	if err != nil {
		return chat.Card{}, err
	}
	return v.Finish(turncard.Outcome{State: convo.Done, Notice: notice}).Card(time.Now()), nil
}

// endWith adds to a command that ends the conversation what ends with it: the interrupted turns that wait for a
// decision.
func (r *cutOffTurns) endWith(ctx context.Context, o invocation, done commandResult) (commandResult, error) {
	life, err := r.db.Turns().Of(ctx, o.Key)
	for _, t := range life.In(convo.Late, convo.Interrupted) {
		over, err := r.decidedCard(ctx, o.Key, t.ID, o.lang, i18n.ConversationOver)
		if err != nil {
			return commandResult{}, err
		}
		done.effects = append(done.effects, db.Happens{Event: convo.Decides{Turn: t.ID}, Over: over})
	}
	return done, err
}

// endOutdated ends the interrupted turns of a chat that wait for a decision although their conversation has ended: it
// may have ended while they were being stored.
func (r *cutOffTurns) endOutdated(ctx context.Context, key chat.Key) error {
	c, err := r.db.Chats().Get(ctx, key)
	if err != nil {
		return err
	}
	life, err := r.db.Turns().Of(ctx, key)
	for _, t := range life.In(convo.Late, convo.Interrupted) {
		if t.Epoch == c.Epoch {
			continue
		}
		over, err := r.decidedCard(ctx, key, t.ID, r.cfg.langOf(c), i18n.ConversationOver)
		if err == nil {
			err = r.db.Turns().Decide(ctx, db.Decision{Key: key, Turn: t.ID, Over: over})
		}
		if err != nil && !errors.Is(err, db.ErrNotFound) { // somebody has dropped it just now
			return err
		}
		r.outbox.Wake(key)
	}
	return err
}

// view is what the agent of an interrupted turn had said.
func (r *cutOffTurns) view(
	ctx context.Context, key chat.Key, turn int64, l i18n.Lang,
) (v turncard.State, err error) {
	answer, err := r.db.Turns().Answer(ctx, key, turn)
	if err != nil {
		return v, err
	}
	parts, err := r.db.Turns().Parts(ctx, turn, answer)
	return turncard.New(turn, l, time.Now()).WithAnswer(parts...), err
}

// AskNoMore draws the card of an interrupted turn again, which waits for no decision after that of an approval has come
// too late. What an interrupted turn has said stays as it is, so the card still holds if the turn may still continue.
func (r *cutOffTurns) AskNoMore(ctx context.Context, a db.Approval, l i18n.Lang) error {
	t, err := r.db.Turns().Interrupted(ctx, a.Key, a.NeededBy)
	if err != nil {
		return err
	}
	v, err := r.view(ctx, t.Key, t.ID, l)
	if err != nil {
		return err
	}
	err = r.db.Turns().Redraw(ctx, t.Key, t.ID, a.ID, v.Finish(cutOutcome(t)).Card(time.Now()))
	if err == nil {
		r.outbox.Wake(t.Key)
	}
	return err
}

// decide handles the buttons of an interrupted turn.
func (r *cutOffTurns) decide(ctx context.Context, p chat.Press, l i18n.Lang) (string, error) {
	w := db.Decision{Key: p.Key, Turn: p.Action.Turn, Event: p.ID, GoOn: p.Action.Do == turncard.DoContinue}
	notice, toast := i18n.Dropped, i18n.Dropped
	if w.GoOn {
		notice, toast = i18n.GoesOn, i18n.GoingOn
		w.ContinueMessage = chat.Message{Actor: p.Actor, Text: i18n.ContinueWord.In(l), Time: time.Now()}
	}
	var err error
	w.Over, err = r.decidedCard(ctx, p.Key, w.Turn, l, notice)
	if errors.Is(err, db.ErrNotFound) {
		return i18n.StopOver.In(l), nil
	} else if err != nil {
		return "", err
	}
	// The database decides which press counts: two people may press at the same moment.
	switch err := r.db.Turns().Decide(ctx, w); {
	case errors.Is(err, db.ErrRepeated):
		return "", nil
	case errors.Is(err, db.ErrNotFound):
		return i18n.StopOver.In(l), nil
	case err != nil:
		return "", err
	}
	r.outbox.Wake(p.Key)
	r.turns.wake(p.Key)
	return toast.In(l), nil
}
