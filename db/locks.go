package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"magpie/internal/chat"
)

// A transaction reads what it decides from, so nobody else may change that until it commits. It takes one lock for this,
// before anything else: its chat. Two that take their locks in the same order never wait for each other. The order is:
// names, chats by key, all other rows.
//
// A transaction may run more than once. It begins with fresh values, and what it changes outside of the database it
// changes after the commit; only what an engine with one writer keeps in memory may follow it step by step.

// locks are what a transaction needs for itself.
type locks struct {
	own   chat.Key   // whose room this bridge must have; zero = none
	names []string   // of what belongs to no chat
	room  chat.Key   // a chat with all its topics, and those that would be new; zero = none
	chats []chat.Key // each with everything that has its key
}

// lockWords are the statements by which an engine locks until the end of a transaction. An engine with one writer has
// none. There, chats and topics are rows, which are never deleted.
type lockWords struct {
	name string // locks the name ?1
	chat string // locks the chat ?1, and returns its key if it is known
	room string // locks the chat ?1 and its topics in the order of their keys, and returns these
}

type txFunc = func(ctx context.Context, tx *sql.Tx) error

// tx runs f in a write transaction, as [engine.Engine] does, after taking its locks.
func (d *DB) tx(ctx context.Context, l locks, f txFunc) error {
	if l.own != (chat.Key{}) {
		if err := d.place.Require(ctx, l.own); err != nil {
			return err
		}
	}
	if d.locking == (lockWords{}) {
		return d.engine.Tx(ctx, f)
	}
	return d.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.lock(ctx, tx, l); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// chatTx is for what is written of one chat, by the bridge that has its room.
func (d *DB) chatTx(ctx context.Context, key chat.Key, f txFunc) error {
	return d.tx(ctx, locks{own: key, chats: []chat.Key{key}}, f)
}

// roomTx is for what is written of a chat and its topics. Meanwhile no topic is added.
func (d *DB) roomTx(ctx context.Context, key chat.Key, f txFunc) error {
	return d.tx(ctx, locks{own: key, room: key}, f)
}

// chatsTx is for what is written of several chats, or of one by whichever bridge.
func (d *DB) chatsTx(ctx context.Context, keys []chat.Key, f txFunc) error {
	return d.tx(ctx, locks{chats: keys}, f)
}

// namedTx is for what belongs to no chat.
func (d *DB) namedTx(ctx context.Context, name string, f txFunc) error {
	return d.tx(ctx, locks{names: []string{name}}, f)
}

// exec runs one statement in a transaction of its own.
func (d *DB) exec(ctx context.Context, l locks, query string, args ...any) (res sql.Result, err error) {
	err = d.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// chatExec is [DB.chatTx] for one statement.
func (d *DB) chatExec(ctx context.Context, key chat.Key, query string, args ...any) error {
	_, err := d.exec(ctx, locks{own: key, chats: []chat.Key{key}}, query, args...)
	return err
}

// namedExec is [DB.namedTx] for one statement.
func (d *DB) namedExec(ctx context.Context, name, query string, args ...any) (sql.Result, error) {
	return d.exec(ctx, locks{names: []string{name}}, query, args...)
}

// execFree runs one statement without a lock, because nothing is decided by what it changes, which is one row, and which
// may be as it was after a crash of the server.
func (d *DB) execFree(ctx context.Context, query string, args ...any) error {
	_, err := d.engine.Exec(ctx, query, args...)
	return err
}

// chatsAtOnce is how many chats are locked together where each could be alone: others wait for them, and each
// transaction costs a commit.
const chatsAtOnce = 50

// eachChat runs a statement for each of the chats that list names, in small transactions: ?1 is arg in both, and ?2 the
// chat. It returns how many rows were changed.
func (d *DB) eachChat(ctx context.Context, list, query string, arg any) (changed int, err error) {
	keys, err := chatKeys(ctx, d.read, list, arg)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(keys, chatsAtOnce) {
		n := 0
		err := d.chatsTx(ctx, some, func(ctx context.Context, tx *sql.Tx) error {
			n = 0
			for _, key := range some {
				res, err := tx.ExecContext(ctx, query, arg, key.String())
				if err != nil {
					return err
				}
				rows, err := res.RowsAffected()
				if err != nil {
					return err
				}
				n += int(rows)
			}
			return nil
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// lock takes locks at the beginning of a transaction. A chat that is not known yet is locked by the name of its room.
func (d *DB) lock(ctx context.Context, tx *sql.Tx, l locks) error {
	if d.locking == (lockWords{}) {
		return nil
	}
	names, keys := slices.Clone(l.names), slices.Clone(l.chats)
	if l.room != (chat.Key{}) {
		names, keys = append(names, roomName(l.room)), append(keys, l.room)
	}
	slices.SortFunc(keys, func(a, b chat.Key) int { return cmp.Compare(a.String(), b.String()) })
	keys = slices.Compact(keys)
	if len(keys) == 1 && len(names) == 0 { // what nearly all do
		if found, err := d.lockRows(ctx, tx, d.locking.chat, keys[0]); err != nil || found {
			return err
		}
	}
	for _, key := range keys {
		known, err := isKnownChat(ctx, tx, key)
		if err != nil {
			return err
		}
		if !known {
			names = append(names, roomName(key))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		// A query, so that the lock is there before anything else is sent.
		if _, err := queryAll(ctx, tx, scanText, d.locking.name, name); err != nil {
			return fmt.Errorf("lock %s: %w", name, err)
		}
	}
	for _, key := range keys {
		rows := d.locking.chat
		if key == l.room {
			rows = d.locking.room
		}
		if _, err := d.lockRows(ctx, tx, rows, key); err != nil {
			return err
		}
	}
	return nil
}

// lockRows runs a statement that locks chats, and reports whether there were any.
func (d *DB) lockRows(ctx context.Context, tx *sql.Tx, query string, key chat.Key) (bool, error) {
	found, err := queryAll(ctx, tx, scanText, query, key.String())
	if err != nil {
		return false, fmt.Errorf("lock %v: %w", key, err)
	}
	return len(found) > 0, nil
}

// roomName names a chat together with its topics.
func roomName(key chat.Key) string { return "room " + key.Parent().String() }

const knownChat = `SELECT 1 FROM chats WHERE key = ?1`

func isKnownChat(ctx context.Context, tx *sql.Tx, key chat.Key) (bool, error) {
	_, err := queryOne(ctx, tx, scanNumber, knownChat, key.String())
	if errors.Is(err, ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for %v: %w", key, err)
	}
	return true, nil
}
