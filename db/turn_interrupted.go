package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// What becomes of an interrupted turn when somebody decides about it. Each is its Failure from then on.
const (
	continued = "continued"
	dropped   = "dropped"
)

// AnswerID is the message id of a turn's answer in the History.
func AnswerID(turn int64) string { return fmt.Sprintf("answer:%d", turn) }

// continueID is the message id of the wish to go on with a turn, when it was a pressed button: one of each turn counis.
func continueID(turn int64) string { return fmt.Sprintf(continuePrefix+"%d", turn) }

// cardIdem names one value of a turn's card.
func cardIdem(t Turn, what string) string {
	return fmt.Sprintf("card:%d:%d:%s", t.ID, t.Attempts, what)
}

// Interruptions is what people decide about turns that were cut off.
type Interruptions struct{ db *DB }

// Interruptions gives the turns that were cut off.
func (ts Turns) Interruptions() Interruptions { return Interruptions(ts) }

const interruptedTurn = `SELECT id FROM turns INDEXED BY turns_interrupted WHERE chat_key = ?1 AND state = 'interrupted' AND NOT EXISTS (
	SELECT 1 FROM messages m WHERE m.chat_key = ?1 AND m.turn_id > turns.id AND m.turn_id > 0) ORDER BY id DESC LIMIT 1`

// Newest returns the chat's newest turn if it was interrupted and nobody has decided about it yet, else
// [ErrNotFound].
func (is Interruptions) Newest(ctx context.Context, key chat.Key) (Turn, error) {
	var id int64
	if err := is.db.read.QueryRowContext(ctx, interruptedTurn, key.String()).Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return Turn{}, ErrNotFound
	} else if err != nil {
		return Turn{}, fmt.Errorf("newest turn of %v: %w", key, err)
	}
	return undecided(ctx, is.db.read, key, id)
}

// undecided loads a turn that waits for somebody to decide whether it goes on, or returns [ErrNotFound].
func undecided(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := loadTurn(ctx, q, key, id)
	if err != nil {
		return Turn{}, err
	}
	c, err := loadChat(ctx, q, key)
	if err != nil {
		return Turn{}, err
	}
	if t.State != Interrupted || t.Failure == continued || t.Failure == dropped || t.Epoch != c.Epoch {
		return Turn{}, ErrNotFound
	}
	return t, nil
}

const decideTurn = `UPDATE turns SET failure = ?2 WHERE id = ?1`

const wakeTurn = `UPDATE turns SET state = 'queued', failure = '' WHERE id = ?1`

const forgetPosts = `DELETE FROM outbox WHERE turn_id = ?1`

// resolve decides about an interrupted turn. A late one that is to go on is simply queued; it has never begun. The
// zero Turn comes back when there is nothing that another turn could go on with.
func resolve(ctx context.Context, tx *sql.Tx, key chat.Key, id int64, decision string) (Turn, error) {
	if id == 0 {
		return Turn{}, nil
	}
	t, err := undecided(ctx, tx, key, id)
	if errors.Is(err, ErrNotFound) {
		return Turn{}, nil
	} else if err != nil {
		return Turn{}, err
	}
	if t.Failure == Late && decision == continued {
		_, err = tx.ExecContext(ctx, wakeTurn, t.ID)
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetPosts, t.ID) // it draws its card itself
		}
		return Turn{}, err
	}
	_, err = tx.ExecContext(ctx, decideTurn, t.ID, decision)
	return t, err
}

// Decision is what somebody who pressed a button wants done about an interrupted turn.
type Decision struct {
	Key             chat.Key
	Turn            int64
	Event           string       // the platform's id of the press; each counts once
	GoOn            bool         // else it is dropped
	ContinueMessage chat.Message // the wish to go on, as the History shows it: who, when and in which words
	Over            chat.Card    // what the turn looks like from now on
}

// Decide carries out a decision. It returns [ErrNotFound] if there is nothing left to decide, and
// [ErrRepeated] if the press is known.
func (is Interruptions) Decide(ctx context.Context, w Decision) error {
	err := is.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := takeEvent(ctx, is.db, tx, w.Event); err != nil {
			return err
		}
		if !w.GoOn {
			return is.drop(ctx, tx, w.Key, w.Turn, w.Over)
		}
		t, err := undecided(ctx, tx, w.Key, w.Turn)
		if err != nil {
			return err
		}
		if t.Failure == Late {
			_, err := resolve(ctx, tx, w.Key, t.ID, continued)
			return err
		}
		return is.goOn(ctx, tx, t, Continuation{w.ContinueMessage, w.Over})
	})
	if err != nil {
		return fmt.Errorf("decide about turn %d: %w", w.Turn, err)
	}
	return nil
}

// drop ends the wait for a decision about an interrupted turn, or returns [ErrNotFound].
func (is Interruptions) drop(ctx context.Context, tx *sql.Tx, key chat.Key, id int64, over chat.Card) error {
	t, err := undecided(ctx, tx, key, id)
	if err != nil {
		return err
	}
	if _, err := resolve(ctx, tx, key, t.ID, dropped); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, forgetSteers, t.ID); err != nil {
		return fmt.Errorf("drop what turn %d has not read: %w", t.ID, err)
	}
	return is.db.Outbox().post(
		ctx, tx, Post{Key: key, Turn: t.ID, Idem: cardIdem(t, dropped), ReplyTo: t.ReplyTo, Card: &over},
	)
}

// goOn has a new turn go on with one that was interrupted.
func (is Interruptions) goOn(ctx context.Context, tx *sql.Tx, t Turn, how Continuation) error {
	m := how.ContinueMessage
	m.Key, m.ID, m.Role, m.Class = t.Key, continueID(t.ID), chat.User, chat.Talk
	if _, err := is.db.Messages().insert(ctx, tx, &m); err != nil {
		return err
	}
	_, err := is.db.Queue().enqueue(ctx, tx, m, Inbound{Continues: t.ID, Over: how.Over})
	return err
}

// decided has a turn go on because somebody has decided what it was waiting for. A turn that goes on already gets the
// decision as well. It returns [ErrNotFound] if the turn has ended, or another conversation has begun.
func (is Interruptions) decided(ctx context.Context, tx *sql.Tx, key chat.Key, turn int64, how Continuation) error {
	t, err := goingOn(ctx, tx, key, turn)
	if err == nil && t.State == Interrupted {
		return is.goOn(ctx, tx, t, how)
	}
	return err
}

// goingOn loads a turn that has not ended, or was interrupted and may go on. Otherwise it returns [ErrNotFound].
func goingOn(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := loadTurn(ctx, q, key, id)
	if err != nil || t.State == Queued || t.State == Running {
		return t, err
	}
	return undecided(ctx, q, key, id)
}
