package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// AnswerID is the message ID of a turn's answer in the History.
func AnswerID(turn int64) string { return fmt.Sprintf("answer:%d", turn) }

// continueID is the message ID of the request to continue a turn by a button: one per turn counts.
func continueID(turn int64) string { return fmt.Sprintf(continuePrefix+"%d", turn) }

// cardIdem identifies one state of a turn's card.
func cardIdem(t Turn, what string) string {
	return fmt.Sprintf("card:%d:%d:%s", t.ID, t.Attempts, what)
}

// undecided matches the interrupted turns that wait for a decision.
const undecided = `state = 'interrupted' AND failure NOT IN ('` + continued + `', '` + dropped + `')`

const interruptedTurn = `SELECT id FROM turns INDEXED BY turns_interrupted WHERE chat_key = ?1
	AND state = 'interrupted' AND NOT EXISTS (
	SELECT 1 FROM messages m WHERE m.chat_key = ?1 AND m.turn_id > turns.id AND m.turn_id > 0) ORDER BY id DESC LIMIT 1`

// Interrupted returns an interrupted turn that may still continue, otherwise [ErrNotFound]. Turn 0 is the chat's newest
// turn.
func (ts Turns) Interrupted(ctx context.Context, key chat.Key, turn int64) (Turn, error) {
	if turn == 0 {
		newest, err := queryOne(ctx, ts.db.read, scanNumber, interruptedTurn, key.String())
		if errors.Is(err, ErrNotFound) {
			return Turn{}, ErrNotFound
		} else if err != nil {
			return Turn{}, fmt.Errorf("newest turn of %v: %w", key, err)
		}
		turn = newest
	}
	return loadUndecided(ctx, ts.db.read, key, turn)
}

// loadUndecided loads an interrupted turn that may still continue: one without a decision, of the conversation that
// goes on. Otherwise it returns [ErrNotFound].
func loadUndecided(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := loadTurn(ctx, q, key, id)
	if err != nil {
		return Turn{}, err
	}
	c, err := loadChat(ctx, q, key)
	if err != nil {
		return Turn{}, err
	}
	if t.State != convo.Interrupted && t.State != convo.Late || t.Epoch != c.Epoch {
		return Turn{}, ErrNotFound
	}
	return t, nil
}

const forgetPosts = `DELETE FROM outbox WHERE turn_id = ?1`

// Decision is the effect of a pressed button on a turn that was interrupted, or that has failed before it did anything.
type Decision struct {
	Key             chat.Key
	Turn            int64
	Event           string       // the platform's ID of the press; each counts once
	GoOn            bool         // otherwise the turn is dropped
	ContinueMessage chat.Message // the request to continue, as shown in the History: who, when and in which words
	Over            chat.Card    // the final card of the turn, or that of one that has failed while it waits
	Until           time.Time    // a turn that has failed is not asked again before; zero = at once
	// the approval whose decision no agent was told, because of which a start of the program continues the turn; this is
	// counted. Empty = none
	Approval string
}

const countContinued = `UPDATE approvals SET continued = continued + 1 WHERE id = ?1`

// Decide carries out a decision. It returns [ErrNotFound] if there is nothing left to decide, and [ErrRepeated] if the
// press is known.
func (ts Turns) Decide(ctx context.Context, w Decision) error {
	l := locks{own: w.Key, chats: []chat.Key{w.Key}}
	if !w.Until.IsZero() { // as in Postpone
		l.names = []string{theLimits}
	}
	err := ts.db.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) error {
		if err := takeEvent(ctx, ts.db, tx, w.Event); err != nil {
			return err
		}
		if !w.GoOn {
			return ts.drop(ctx, tx, w.Key, w.Turn, w.Over)
		}
		t, err := loadTurn(ctx, tx, w.Key, w.Turn)
		if err != nil {
			return err
		}
		if t.State == convo.Failed {
			return ts.askAgain(ctx, tx, t, w)
		}
		if t, err = loadUndecided(ctx, tx, w.Key, w.Turn); err != nil {
			return err
		}
		if t.State == convo.Late {
			if _, err := ts.db.decide(ctx, tx, w.Key, convo.Decides{Turn: t.ID, GoesOn: true}); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, forgetPosts, t.ID) // it draws its card itself
			return err
		}
		if _, err := tx.ExecContext(ctx, countContinued, w.Approval); err != nil {
			return err
		}
		return ts.continueTurn(ctx, tx, t, w)
	})
	if err != nil {
		return fmt.Errorf("decide about turn %d: %w", w.Turn, err)
	}
	return nil
}

// Redraw enqueues another card for an interrupted turn that may still continue, but about which nobody is asked any
// more. Otherwise it returns [ErrNotFound]. After each approval of the turn there is one such card.
func (ts Turns) Redraw(ctx context.Context, key chat.Key, turn int64, approval string, card chat.Card) error {
	err := ts.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		t, err := loadUndecided(ctx, tx, key, turn)
		if err != nil {
			return err
		}
		var asks bool
		if err := tx.QueryRowContext(ctx, unansweredApproval, turn).Scan(&asks); err != nil {
			return err
		} else if asks {
			return ErrNotFound
		}
		return ts.db.Outbox().post(ctx, tx, Post{
			Key: key, Turn: t.ID, Idem: cardIdem(t, "unasked:"+approval), ReplyTo: t.ReplyTo, Card: &card,
		})
	})
	if err != nil {
		return fmt.Errorf("redraw turn %d: %w", turn, err)
	}
	return nil
}

// drop drops an interrupted turn, even of an ended conversation, or returns [ErrNotFound].
func (ts Turns) drop(ctx context.Context, tx *sql.Tx, key chat.Key, id int64, over chat.Card) error {
	effects, err := ts.db.decide(ctx, tx, key, convo.Decides{Turn: id})
	if err == nil && len(effects) == 0 {
		return ErrNotFound
	} else if err != nil {
		return err
	}
	return ts.db.postSettled(ctx, tx, key, effects[0].(convo.Settled), over)
}

// continueTurn creates a turn that continues an interrupted one.
func (ts Turns) continueTurn(ctx context.Context, tx *sql.Tx, t Turn, how Decision) error {
	m := how.ContinueMessage
	m.Key, m.ID, m.Role, m.Class = t.Key, continueID(t.ID), chat.User, chat.Talk
	if _, _, err := ts.db.Messages().insert(ctx, tx, &m); err != nil {
		return err
	}
	_, err := ts.ask(ctx, tx, new(AcceptResult), m, Inbound{Continues: t.ID, Over: how.Over})
	return err
}

// continueAfterDecision continues a turn after the decision that it waited for. A turn that already continues gets the
// decision as well. It returns [ErrNotFound] if the turn has ended, or another conversation has begun.
func (ts Turns) continueAfterDecision(
	ctx context.Context, tx *sql.Tx, key chat.Key, turn int64, how Decision,
) error {
	t, err := loadContinuable(ctx, tx, key, turn)
	if err == nil && t.State != convo.Queued && t.State != convo.Running {
		return ts.continueTurn(ctx, tx, t, how)
	}
	return err
}

// loadContinuable loads a turn that has not ended, or was interrupted and may continue. Otherwise it returns
// [ErrNotFound].
func loadContinuable(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := loadTurn(ctx, q, key, id)
	if err != nil || t.State == convo.Queued || t.State == convo.Running {
		return t, err
	}
	return loadUndecided(ctx, q, key, id)
}
