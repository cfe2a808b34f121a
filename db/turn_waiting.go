package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Limit is what is known of one limit on the use of the model.
type Limit struct {
	Model string  // as chosen; empty = the default one
	Kind  string  // the CLI's name of its window, such as five_hour; empty = it has named none
	Used  float64 // the share that is used, up to 1; negative = unknown
	// a question was refused because of it
	Reached bool
	Ends    time.Time
	noted   time.Time
}

// What was not said of a window stays as it was, unless it is about a later one.
const noteLimit = `INSERT INTO limits (model, kind, used, reached, ends_at, noted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
	ON CONFLICT (model, kind) DO UPDATE SET ends_at = excluded.ends_at,
	reached = CASE WHEN limits.ends_at = excluded.ends_at AND limits.reached = 1 THEN 1 ELSE excluded.reached END,
	used = CASE WHEN limits.ends_at = excluded.ends_at AND excluded.used < 0 THEN limits.used ELSE excluded.used END,
	noted_at = excluded.noted_at`

// theLimits names the limits.
const theLimits = "limits"

// NoteLimits stores what was reported of limits.
func (ts Turns) NoteLimits(ctx context.Context, list ...Limit) error {
	err := ts.db.namedTx(ctx, theLimits, func(ctx context.Context, tx *sql.Tx) error {
		for _, l := range list {
			if _, err := tx.ExecContext(
				ctx, noteLimit, l.Model, l.Kind, l.Used, l.Reached, millis(l.Ends), millis(ts.db.now()),
			); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note limits: %w", err)
	}
	return nil
}

const reachedLimit = `SELECT model, kind, used, reached, ends_at, noted_at FROM limits
	WHERE model = ?1 AND reached = 1 AND ends_at > ?2 ORDER BY ends_at DESC LIMIT 1`

// LimitReached returns the limit that a model has reached and that ends last, or [ErrNotFound].
func (ts Turns) LimitReached(ctx context.Context, model string) (Limit, error) {
	l, err := queryOne(ctx, ts.db.read, scanLimit, reachedLimit, model, millis(ts.db.now()))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Limit{}, fmt.Errorf("limit of %q: %w", model, err)
	}
	return l, err
}

// A window is the same for all models; the newest report counts.
const currentLimits = `SELECT model, kind, used, reached, ends_at, noted_at FROM limits
	WHERE ends_at > ?1 AND NOT EXISTS (SELECT 1 FROM limits l WHERE l.kind = limits.kind AND l.ends_at > ?1
		AND (l.noted_at > limits.noted_at OR l.noted_at = limits.noted_at AND l.model > limits.model))
	ORDER BY ends_at`

// Limits lists the limits whose windows have not ended, as last reported, the one that ends first before the others.
func (ts Turns) Limits(ctx context.Context) ([]Limit, error) {
	list, err := queryAll(ctx, ts.db.read, scanLimit, currentLimits, millis(ts.db.now()))
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	return list, nil
}

func scanLimit(scan scanner) (l Limit, err error) {
	var ends, noted int64
	err = scan(&l.Model, &l.Kind, &l.Used, &l.Reached, &ends, &noted)
	l.Ends, l.noted = fromMillis(ends), fromMillis(noted)
	return l, err
}

const liftLimits = `UPDATE limits SET reached = 0 WHERE reached = 1 AND (?1 = 1 OR model = ?2) AND noted_at < ?3`

// Lift ends the wait for the limits that a model had reached before a time, because it answers again; without a time it
// does so for all models: the agents have another login. It reports whether there was one; then the turns that wait are
// due.
func (ts Turns) Lift(ctx context.Context, model string, before time.Time) (lifted bool, err error) {
	all := before.IsZero()
	if all {
		before = ts.db.now().Add(time.Hour)
	}
	err = ts.db.namedTx(ctx, theLimits, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, liftLimits, all, model, millis(before))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if lifted = n > 0; err != nil || !lifted {
			return err
		}
		keys, err := chatKeys(ctx, tx, dueChats, math.MaxInt64)
		if err != nil {
			return err
		}
		if err := ts.db.lock(ctx, tx, locks{chats: keys}); err != nil {
			return err
		}
		for _, key := range keys {
			if _, err := ts.db.decide(ctx, tx, key, convo.Due{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("lift limits: %w", err)
	}
	return lifted, nil
}

// Postpone puts a claimed turn back that has not begun, until a time. Its card says so.
func (ts Turns) Postpone(ctx context.Context, t Turn, until time.Time, card chat.Card) error {
	// Otherwise it could miss that the limit is lifted meanwhile, and wait for nothing.
	l := locks{own: t.Key, names: []string{theLimits}, chats: []chat.Key{t.Key}}
	err := ts.db.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) error {
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
	if keys, err = ts.db.ownKeys(ctx, dueChats, now); err != nil {
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
