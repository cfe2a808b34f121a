// Package handoffs stores which chats go on in a terminal.
//
// It does not know what a terminal is, or whether a process lives.
package handoffs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Store is a part of the database.
type Store struct {
	// Tx runs f in a write transaction that holds the lock of a chat, whichever bridge has that.
	Tx func(ctx context.Context, key chat.Key, f func(ctx context.Context, tx *sql.Tx) error) error
	// Readers are connections that see committed data.
	Readers *sql.DB
	Now     func() time.Time
	// Works reports whether an agent has begun something in a chat, and not ended it.
	Works func(ctx context.Context, tx *sql.Tx, key chat.Key) (bool, error)
	// Release has the questions of a chat wait no longer.
	Release func(ctx context.Context, tx *sql.Tx, key chat.Key) error
}

// Errors of [Store.Take].
var (
	ErrTaken = errors.New("the chat is in a terminal already")
	ErrBusy  = errors.New("the agent of the chat works")
)

// Lease says that a chat goes on in a terminal.
type Lease struct {
	Key      chat.Key
	Node     string // the machine of the terminal
	Epoch    int64  // of the conversation that goes on there
	Session  string
	Cwd      string // the working folder, symbolic links resolved
	Pid      int    // of the CLI; 0 = no terminal has taken the chat yet
	Started  string // when that process was started, as the system says it
	Found    bool   // somebody runs the CLI without having asked for the chat
	Recalled bool   // the chat is to be taken back
	Since    time.Time
}

const columns = `chat_key, node, epoch, session, cwd, pid, started, found, recalled, since`

const (
	selectOf  = `SELECT ` + columns + ` FROM handoffs WHERE chat_key = ?1`
	selectOn  = `SELECT ` + columns + ` FROM handoffs WHERE pid <> 0 AND (node = ?1 OR ?1 = '') ORDER BY chat_key`
	insertRow = `INSERT INTO handoffs (` + columns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
	recallRow = `UPDATE handoffs SET recalled = 1 WHERE chat_key = ?1`
	deleteRow = `DELETE FROM handoffs WHERE chat_key = ?1 AND since = ?2 AND pid = ?3`
)

func scan(row interface{ Scan(...any) error }) (l Lease, err error) {
	var key string
	var since int64
	err = row.Scan(&key, &l.Node, &l.Epoch, &l.Session, &l.Cwd, &l.Pid, &l.Started, &l.Found, &l.Recalled, &since)
	if err != nil {
		return l, err
	}
	l.Since = time.UnixMilli(since)
	l.Key, err = chat.ParseKey(key)
	return l, err
}

// Of is the lease of a chat, or false.
func (s Store) Of(ctx context.Context, key chat.Key) (l Lease, held bool, err error) {
	l, err = scan(s.Readers.QueryRowContext(ctx, selectOf, key.String()))
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, nil
	} else if err != nil {
		return l, false, fmt.Errorf("terminal of %v: %w", key, err)
	}
	return l, true, nil
}

// On lists the leases of a machine's terminals; without a name, of all. A lease that no terminal has taken yet is left out.
func (s Store) On(ctx context.Context, node string) ([]Lease, error) {
	return engine.All(ctx, s.Readers, "terminals of "+node, func(rows *sql.Rows) (Lease, error) { return scan(rows) }, selectOn, node)
}

// Take stores a lease, or gives one without a terminal to l's. It returns [ErrTaken] with the lease of another terminal, and
// [ErrBusy] while an agent works in the chat. From then on its questions find the lease.
func (s Store) Take(ctx context.Context, l Lease) (now Lease, err error) {
	err = s.Tx(ctx, l.Key, func(ctx context.Context, tx *sql.Tx) error {
		now = l
		was, err := scan(tx.QueryRowContext(ctx, selectOf, l.Key.String()))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			now.Since = time.UnixMilli(s.Now().UnixMilli())
			if works, err := s.Works(ctx, tx, l.Key); err != nil {
				return err
			} else if works && !l.Found {
				return ErrBusy
			}
		case err != nil:
			return err
		case was.Pid != 0 || l.Pid == 0:
			now = was
			return ErrTaken
		default:
			now.Since = was.Since // all else is l's: a session that begins has another ID each time
			if _, err := tx.ExecContext(ctx, deleteRow, l.Key.String(), was.Since.UnixMilli(), 0); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, insertRow, now.Key.String(), now.Node, now.Epoch, now.Session, now.Cwd, now.Pid, now.Started,
			now.Found, false, now.Since.UnixMilli())
		return err
	})
	if err != nil {
		return now, fmt.Errorf("hand %v to a terminal: %w", l.Key, err)
	}
	return now, nil
}

// Recall notes that a chat is to be taken back.
func (s Store) Recall(ctx context.Context, key chat.Key) error {
	err := s.Tx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, recallRow, key.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("take %v back from its terminal: %w", key, err)
	}
	return nil
}

// End removes a lease, so that the chat's questions wait no longer. It reports whether it was there.
func (s Store) End(ctx context.Context, l Lease) (ended bool, err error) {
	err = s.Tx(ctx, l.Key, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, deleteRow, l.Key.String(), l.Since.UnixMilli(), l.Pid)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if ended = n > 0; err != nil || !ended {
			return err
		}
		return s.Release(ctx, tx, l.Key)
	})
	if err != nil {
		return false, fmt.Errorf("take %v back from its terminal: %w", l.Key, err)
	}
	return ended, nil
}
