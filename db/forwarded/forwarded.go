// Package forwarded keeps what arrived at a bridge for the bridge that has the room: another one handles it. A room is a
// chat with all its topics. Only PostgreSQL has several bridges.
//
// It does not know what an event is.
package forwarded

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Queue keeps events in PostgreSQL until they are handled.
type Queue struct {
	// Tx runs f in a write transaction that holds the lock of a name.
	Tx func(ctx context.Context, name string, f func(ctx context.Context, tx *sql.Tx) error) error
	// Readers are connections that see committed data.
	Readers *sql.DB
	// Listen calls heard for each notification in a channel, and when some may have been missed, until ctx is done.
	Listen func(ctx context.Context, channel string, heard func())
}

// Event is something that arrived.
type Event struct {
	ID      int64 // in the order of arrival within the room
	Kind    string
	Payload []byte
	Age     time.Duration // since it arrived
}

// channel is that in which bridges are told of new events. What they are is in the table.
const channel = "forwarded"

const (
	insertEvent = `INSERT INTO forwarded (room, kind, payload) VALUES (?1, ?2, ?3)`
	notify      = `SELECT pg_notify(?1, '')`
	hasEvent    = `SELECT EXISTS (SELECT 1 FROM forwarded WHERE room = ?1)`
	deleteEvent = `DELETE FROM forwarded WHERE id = ?1`

	selectBacklog = `SELECT COUNT(*), COALESCE((EXTRACT(EPOCH FROM clock_timestamp() - MIN(arrived_at)) * 1000000)::bigint, 0)
		FROM forwarded`
	selectRooms  = `SELECT room FROM forwarded GROUP BY room ORDER BY MIN(id)`
	selectEvents = `SELECT id, kind, payload, (EXTRACT(EPOCH FROM clock_timestamp() - arrived_at) * 1000000)::bigint
		FROM forwarded WHERE room = ?1 AND id > ?2 ORDER BY id LIMIT 50`
)

// Add keeps an event for whoever has the room of a chat. Numbers are given before the commit, so those of a room are given
// one after the other.
func (q Queue) Add(ctx context.Context, key chat.Key, kind string, payload []byte) error {
	room := key.Parent().String()
	err := q.Tx(ctx, lockOf(room), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insertEvent, room, kind, payload); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, notify, channel)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep an event for the bridge that has %s: %w", room, err)
	}
	return nil
}

func lockOf(room string) string { return "forwarded " + room }

// Has reports whether events are kept for the room of a chat.
func (q Queue) Has(ctx context.Context, key chat.Key) (has bool, err error) {
	if err = q.Readers.QueryRowContext(ctx, hasEvent, key.Parent().String()).Scan(&has); err != nil {
		return false, fmt.Errorf("look for events of %v: %w", key.Parent(), err)
	}
	return has, nil
}

// Backlog is how many events wait, and since when the oldest does.
func (q Queue) Backlog(ctx context.Context) (events int, age time.Duration, err error) {
	if err = q.Readers.QueryRowContext(ctx, selectBacklog).Scan(&events, &age); err != nil {
		return 0, 0, fmt.Errorf("count kept events: %w", err)
	}
	return events, age * time.Microsecond, nil
}

// Rooms are those with events, the one that waits longest first.
func (q Queue) Rooms(ctx context.Context) ([]chat.Key, error) {
	return engine.All(ctx, q.Readers, "read kept events", func(rows *sql.Rows) (chat.Key, error) {
		var room string
		if err := rows.Scan(&room); err != nil {
			return chat.Key{}, err
		}
		return chat.ParseKey(room)
	}, selectRooms)
}

// Events are some of a room's that come after one, oldest first.
func (q Queue) Events(ctx context.Context, room chat.Key, after int64) ([]Event, error) {
	return engine.All(ctx, q.Readers, "read kept events", func(rows *sql.Rows) (e Event, err error) {
		var age int64
		err = rows.Scan(&e.ID, &e.Kind, &e.Payload, &age)
		e.Age = time.Duration(age) * time.Microsecond
		return e, err
	}, selectEvents, room.String(), after)
}

// Remove removes an event that was handled.
func (q Queue) Remove(ctx context.Context, room chat.Key, id int64) error {
	err := q.Tx(ctx, lockOf(room.String()), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, deleteEvent, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove event %d of %v: %w", id, room, err)
	}
	return nil
}

// Wait calls heard for each new event, and when some may have been missed, until ctx is done. It is a hint: it may not
// come, or come late.
func (q Queue) Wait(ctx context.Context, heard func()) { q.Listen(ctx, channel, heard) }
