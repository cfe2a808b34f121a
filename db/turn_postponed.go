package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Postponed stores the turns that wait until a time.
type Postponed struct{ db *DB }

// Postponed returns the turns that wait until a time.
func (q Queue) Postponed() Postponed { return Postponed(q) }

// Attempts are counted because of crashes, which did not happen.
const postponeTurn = `UPDATE turns SET state = 'queued', session_id = '', ` + askedBefore + `, prompt_id = '',
	started_at = 0, attempts = 1, due_at = ?2 WHERE id = ?1 AND state = 'running'`

// Postpone puts a claimed turn back that has not begun, until a time. Its card says so.
func (ps Postponed) Postpone(ctx context.Context, t Turn, until time.Time, card chat.Card) error {
	err := ps.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return ps.wait(ctx, tx, t, postponeTurn, until, card)
	})
	if err != nil {
		return fmt.Errorf("postpone turn %d: %w", t.ID, err)
	}
	return nil
}

// wait carries out a change that makes a turn wait, and shows it.
func (ps Postponed) wait(
	ctx context.Context, tx *sql.Tx, t Turn, change string, until time.Time, card chat.Card,
) error {
	res, err := tx.ExecContext(ctx, change, t.ID, max(millis(until), 1))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNotFound)
	}
	return ps.db.Outbox().post(ctx, tx, Post{
		Key: t.Key, Turn: t.ID, Idem: cardIdem(t, fmt.Sprintf("due:%d", millis(until))), ReplyTo: t.ReplyTo, Card: &card,
	})
}

// AskAgain is the effect of a pressed button on a turn that has failed before it did anything.
type AskAgain struct {
	Key   chat.Key
	Turn  int64
	Event string    // the platform's ID of the press; each counts once
	Until time.Time // zero = at once
	Card  chat.Card // of the turn while it waits
}

const askTurnAgain = `UPDATE turns SET state = 'queued', failure = '', session_id = '', ` + askedBefore + `, prompt_id = '',
	started_at = 0, ended_at = 0, due_at = ?2
	WHERE id = ?1 AND state = 'failed' AND acted = 0 AND stopped = 0`

// AskAgain queues a failed turn once more. It returns [ErrNotFound] if that is not possible any more, and [ErrRepeated]
// if the press is known.
func (ps Postponed) AskAgain(ctx context.Context, w AskAgain) error {
	err := ps.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := takeEvent(ctx, ps.db, tx, w.Event); err != nil {
			return err
		}
		t, err := loadTurn(ctx, tx, w.Key, w.Turn)
		if err != nil {
			return err
		}
		c, err := loadChat(ctx, tx, w.Key)
		if err != nil {
			return err
		}
		left, _, err := countQuestions(ctx, tx, w.Key, t.ID)
		if err != nil {
			return err
		} else if t.Epoch != c.Epoch || left == 0 { // another conversation, or its questions were recalled
			return ErrNotFound
		}
		return ps.wait(ctx, tx, t, askTurnAgain, w.Until, w.Card)
	})
	if err != nil {
		return fmt.Errorf("ask turn %d again: %w", w.Turn, err)
	}
	return nil
}

const dueNow = `UPDATE turns SET due_at = 1 WHERE chat_key = ?1 AND due_at > 1 AND state = 'queued'`

// Release makes the chat's waiting turns due.
func (ps Postponed) Release(ctx context.Context, key chat.Key) error {
	if _, err := ps.db.engine.Exec(ctx, dueNow, key.String()); err != nil {
		return fmt.Errorf("end the wait in %v: %w", key, err)
	}
	return nil
}

const nextDue = `SELECT COALESCE(MIN(due_at), 0) FROM turns INDEXED BY turns_due
	WHERE due_at > 0 AND due_at > ?1`

const dueChats = `SELECT DISTINCT chat_key FROM turns INDEXED BY turns_due WHERE due_at > 0 AND due_at <= ?1
	AND state = 'queued'`

// Due lists the chats with turns whose wait is over, and says when that of the next one ends; zero = none waits.
func (ps Postponed) Due(ctx context.Context) (keys []chat.Key, next time.Time, err error) {
	now := millis(ps.db.now())
	if keys, err = chatKeys(ctx, ps.db.read, dueChats, now); err != nil {
		return nil, next, err
	}
	at, err := queryOne(ctx, ps.db.read, scanNumber, nextDue, now)
	if err != nil {
		return nil, next, fmt.Errorf("next turn that is due: %w", err)
	}
	if at > 0 {
		next = fromMillis(at)
	}
	return keys, next, nil
}
