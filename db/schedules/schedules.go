// Package schedules stores what is to be asked in chats at a time, or when a program says so, and the daily digests.
//
// It does not know what time it is, nor who may order what.
package schedules

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/schedule"
)

// Store is a part of the database.
type Store struct {
	// Tx runs f in a write transaction that holds the lock of a chat.
	Tx func(ctx context.Context, key chat.Key, f func(ctx context.Context, tx *sql.Tx) error) error
	// Readers are connections that see committed data.
	Readers *sql.DB
	// Post has something shown in a chat.
	Post func(ctx context.Context, tx *sql.Tx, n Notice) error
}

// Notice is something to be shown in a chat: a text, or a card.
type Notice struct {
	To   chat.Ref // the message to reply to, or only the chat
	Idem string   // the idempotency key
	Text string
	Card *chat.Card // nil = a text
}

// Change is what becomes of the schedules of a chat, in one transaction. Of its parts some are set.
type Change struct {
	// A schedule becomes another one, with the same rule and name. If it is not as it was any more, that is [ErrChanged]. If it
	// was nothing, it is added, unless its number or its name is taken meanwhile.
	Was, Is  Schedule
	Digest   Digest // is ordered, or cancelled if it has no day
	Answered Call   // is forgotten
	Tells    Notice
}

// ErrChanged means that a schedule, or digest, is not as it was any more.
var ErrChanged = errors.New("the schedule was changed meanwhile")

// State is what becomes of a schedule.
type State string

// The states.
const (
	Proposed State = "proposed" // by an agent; it counts when somebody has confirmed it
	Active   State = "active"
	Paused   State = "paused"
	Over     State = "over" // done, or removed
)

// Schedule is what is to be asked in a chat, and when.
type Schedule struct {
	Key     chat.Key
	Number  int64 // in its chat, never used again
	State   State
	Rule    string // of package schedule; empty = a program says when
	Words   string // the time as its maker has written it
	Zone    string // of the rule
	Task    string // what is asked
	Name    string // by which programs call it; empty = they do not
	Maker   chat.Actor
	ReplyTo string    // the message below which it is answered; empty = none
	Next    time.Time // when it is due next; zero = not
	Offered time.Time // the missed time for which people may have it run; zero = none
}

// Times returns what gives the next time after another one at which it is due; zero = never. It fails if this machine
// does not know the zone.
func (s Schedule) Times() (next func(after time.Time) time.Time, err error) {
	rule, err := schedule.Parse(s.Rule)
	if err != nil {
		return nil, fmt.Errorf("schedule %d of %v: %w", s.Number, s.Key, err)
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return nil, fmt.Errorf("schedule %d of %v: %w", s.Number, s.Key, err)
	}
	return func(after time.Time) time.Time { return rule.Next(after.In(zone)) }, nil
}

// WithoutOffer is the schedule when people have had its missed time run, or skipped it.
func (s Schedule) WithoutOffer() Schedule {
	s.Offered = time.Time{}
	if rule, err := schedule.Parse(s.Rule); err == nil && rule.IsOnce() && s.State != Active {
		s.State, s.Next = Over, time.Time{}
	}
	return s
}

// Ref names the schedule among those of all chats, for good.
func (s Schedule) Ref() string { return fmt.Sprintf("%v/%d", s.Key, s.Number) }

// what its errors are about.
const what = "schedules"

const (
	columns = `chat_key, number, state, rule, words, zone, task, name, maker, maker_name, reply_to, next_at, offered_at`

	ofChat  = `SELECT ` + columns + ` FROM schedules WHERE chat_key = ?1 AND state <> 'over' ORDER BY number`
	waiting = `SELECT ` + columns + ` FROM schedules WHERE next_at > 0 AND state = 'active' ORDER BY next_at, chat_key, number`
	named   = `SELECT ` + columns + ` FROM schedules WHERE name = ?1 AND name <> '' AND state <> 'over' ORDER BY chat_key`

	nextNumber = `SELECT COALESCE(MAX(number), 0) + 1 FROM schedules WHERE chat_key = ?1`

	insert = `INSERT INTO schedules (` + columns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING`
	update = `UPDATE schedules SET state = ?3, task = ?4, maker = ?5, maker_name = ?6, reply_to = ?7, next_at = ?8, offered_at = ?9
		WHERE chat_key = ?1 AND number = ?2 AND state = ?10 AND next_at = ?11 AND offered_at = ?12`
)

// Of lists the schedules of a chat.
func (s Store) Of(ctx context.Context, key chat.Key) ([]Schedule, error) {
	return engine.All(ctx, s.Readers, what, scan, ofChat, key.String())
}

// Waiting lists the schedules of all chats that are due at some time, the next one first.
func (s Store) Waiting(ctx context.Context) ([]Schedule, error) {
	return engine.All(ctx, s.Readers, what, scan, waiting)
}

// Named lists the schedules that programs call by a name: a chat has at most one.
func (s Store) Named(ctx context.Context, name string) ([]Schedule, error) {
	return engine.All(ctx, s.Readers, what, scan, named, name)
}

// A question waits in a turn that has not begun.
const waits = `SELECT EXISTS (SELECT 1 FROM turns t JOIN messages m ON m.chat_key = t.chat_key AND m.turn_id = t.id
	WHERE t.chat_key = ?1 AND t.state = 'queued' AND m.message_id >= ?2 AND m.message_id < ?3)`

// Waits reports whether a question whose ID begins so waits to be asked in a chat.
func (s Store) Waits(ctx context.Context, key chat.Key, id string) (yes bool, err error) {
	if err := s.Readers.QueryRowContext(ctx, waits, key.String(), id, id+"\x7f").Scan(&yes); err != nil {
		return false, fmt.Errorf("whether a question waits in %v: %w", key, err)
	}
	return yes, nil
}

// NextNumber is that of the next schedule of a chat.
func (s Store) NextNumber(ctx context.Context, key chat.Key) (n int64, err error) {
	if err := s.Readers.QueryRowContext(ctx, nextNumber, key.String()).Scan(&n); err != nil {
		return 0, fmt.Errorf("number a schedule: %w", err)
	}
	return n, nil
}

// Make makes a change.
func (s Store) Make(ctx context.Context, key chat.Key, c Change) error {
	return s.Tx(ctx, key, func(ctx context.Context, tx *sql.Tx) error { return s.MakeIn(ctx, tx, c) })
}

// MakeIn makes a change in a transaction that holds the lock of its chat.
func (s Store) MakeIn(ctx context.Context, tx *sql.Tx, c Change) (err error) {
	is := c.Is
	if is.State == Over {
		is.Task, is.Next = "", time.Time{} // of which nobody needs to know any more
	}
	switch {
	case is.Number != 0 && c.Was.Number == 0:
		err = changed(tx.ExecContext(ctx, insert, is.Key.String(), is.Number, is.State, is.Rule, is.Words, is.Zone, is.Task, is.Name,
			is.Maker.ID, is.Maker.Name, is.ReplyTo, engine.Millis(is.Next), engine.Millis(is.Offered)))
	case is.Number != 0:
		err = changed(tx.ExecContext(ctx, update, is.Key.String(), is.Number, is.State, is.Task, is.Maker.ID, is.Maker.Name,
			is.ReplyTo, engine.Millis(is.Next), engine.Millis(is.Offered), c.Was.State, engine.Millis(c.Was.Next), engine.Millis(c.Was.Offered)))
	}
	if err == nil && c.Digest.Key != (chat.Key{}) {
		err = c.Digest.order(ctx, tx)
	}
	if err == nil && c.Answered.ID != "" {
		_, err = tx.ExecContext(ctx, deleteCall, c.Answered.Key.String(), c.Answered.Number, c.Answered.ID)
	}
	if err == nil && c.Tells.Idem != "" {
		err = s.Post(ctx, tx, c.Tells)
	}
	return err
}

// changed is an error unless a row was changed.
func changed(res sql.Result, err error) error {
	n := int64(0)
	if err == nil {
		n, err = res.RowsAffected()
	}
	if err != nil {
		return fmt.Errorf("change a schedule: %w", err)
	} else if n == 0 {
		return ErrChanged
	}
	return nil
}

func scan(rows *sql.Rows) (Schedule, error) { return scanAfter(rows) }

// scanAfter reads the columns of a schedule, and those before them into first.
func scanAfter(rows *sql.Rows, first ...any) (a Schedule, err error) {
	var key string
	var next, offered int64
	err = rows.Scan(append(first, &key, &a.Number, &a.State, &a.Rule, &a.Words, &a.Zone, &a.Task, &a.Name, &a.Maker.ID, &a.Maker.Name,
		&a.ReplyTo, &next, &offered)...)
	if err == nil {
		a.Key, err = chat.ParseKey(key)
	}
	a.Next, a.Offered = engine.FromMillis(next), engine.FromMillis(offered)
	return a, err
}
