package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Postpone puts a claimed turn back that has not begun, until a time. Its card says so.
func (ts Turns) Postpone(ctx context.Context, t Turn, until time.Time, card chat.Card) error {
	err := ts.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return ts.wait(ctx, tx, t, convo.PutBack{Turn: t.ID, Until: dueAt(until)}, until, card)
	})
	if err != nil {
		return fmt.Errorf("postpone turn %d: %w", t.ID, err)
	}
	return nil
}

// dueAt is a time until which a turn waits, as it is stored: never none.
func dueAt(until time.Time) time.Time { return fromMillis(max(millis(until), 1)) }

// wait carries out a change that makes a turn wait, and shows it.
func (ts Turns) wait(
	ctx context.Context, tx *sql.Tx, t Turn, change convo.Event, until time.Time, card chat.Card,
) error {
	effects, err := ts.db.decide(ctx, tx, t.Key, change)
	if err == nil && len(effects) == 0 {
		return ErrNotFound
	} else if err != nil {
		return err
	}
	return ts.db.Outbox().post(ctx, tx, Post{
		Key: t.Key, Turn: t.ID, Idem: cardIdem(t, fmt.Sprintf("due:%d", millis(until))), ReplyTo: t.ReplyTo, Card: &card,
	})
}

// askAgain queues a failed turn once more, or returns [ErrNotFound] if that is not possible any more.
func (ts Turns) askAgain(ctx context.Context, tx *sql.Tx, t Turn, w Decision) error {
	old, err := loadOver(ctx, tx, t.Key, t.ID)
	if err != nil {
		return err
	}
	return ts.wait(ctx, tx, t, convo.AskedAgain{Turn: old, Until: dueAt(w.Until)}, w.Until, w.Over)
}

const nextDue = `SELECT COALESCE(MIN(due_at), 0) FROM turns INDEXED BY turns_due
	WHERE due_at > 0 AND due_at > ?1`

const dueChats = `SELECT DISTINCT chat_key FROM turns INDEXED BY turns_due WHERE due_at > 0 AND due_at <= ?1
	AND state = 'queued'`

// Due lists the chats with turns whose wait is over, and says when that of the next one ends; zero = none waits.
func (ts Turns) Due(ctx context.Context) (keys []chat.Key, next time.Time, err error) {
	now := millis(ts.db.now())
	if keys, err = chatKeys(ctx, ts.db.read, dueChats, now); err != nil {
		return nil, next, err
	}
	at, err := queryOne(ctx, ts.db.read, scanNumber, nextDue, now)
	if err != nil {
		return nil, next, fmt.Errorf("next turn that is due: %w", err)
	}
	if at > 0 {
		next = fromMillis(at)
	}
	return keys, next, nil
}
