package cluster

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"magpie/internal/chat"
)

// What happens in a chat and its topics, its room, is handled by one bridge. It keeps a room until it stops or is declared
// dead: its connections are ended before others take its rooms, so it need not ask again for each write whether a room is
// still its own.

// rooms are those that this bridge has.
type rooms struct {
	mu     sync.Mutex
	own    map[string]bool
	taking singleflight.Group
	taken  func(ctx context.Context, rooms ...chat.Key) error // see [Place.OnTake]
	may    atomic.Pointer[func(ctx context.Context, room chat.Key) (bool, error)]
}

func (r *rooms) has(room string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own[room]
}

// add adds a room, unless something is to be done first, which it returns: see [Place.OnTake].
func (r *rooms) add(room string, done bool) (first func(ctx context.Context, rooms ...chat.Key) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken != nil && !done {
		return r.taken
	}
	if r.own == nil {
		r.own = map[string]bool{}
	}
	r.own[room] = true
	return nil
}

// takeRoom returns nothing if a bridge has the room that is not gone, or of which this statement does not know yet.
const takeRoom = `INSERT INTO leases (room, run, fence) VALUES (?1, ?2, 1) ON CONFLICT (room) DO UPDATE SET run = excluded.run,
	fence = leases.fence + CASE WHEN leases.run = excluded.run THEN 0 ELSE 1 END
	WHERE leases.run = excluded.run OR EXISTS (SELECT 1 FROM nodes WHERE nodes.run = leases.run AND nodes.dead = 2)
	RETURNING fence`

// OnTake sets what is done when this bridge takes a room, before anything is written there: an earlier bridge may have left
// something. It returns the rooms that were taken before, in which that is still to be done.
func (p *Place) OnTake(f func(ctx context.Context, rooms ...chat.Key) error) (before []chat.Key, err error) {
	if p == nil {
		return nil, nil
	}
	p.rooms.mu.Lock()
	defer p.rooms.mu.Unlock()
	p.rooms.taken = f
	for room := range p.rooms.own {
		key, err := chat.ParseKey(room)
		if err != nil {
			return nil, err
		}
		before = append(before, key)
	}
	return before, nil
}

// TakeOnly sets which rooms this bridge may take; otherwise all.
func (p *Place) TakeOnly(may func(ctx context.Context, room chat.Key) (bool, error)) {
	if p != nil {
		p.rooms.may.Store(&may)
	}
}

// TakeNoMore has this bridge, which stops, take no further rooms: those that live would wait for its end.
func (p *Place) TakeNoMore() {
	p.TakeOnly(func(context.Context, chat.Key) (bool, error) { return false, nil })
}

func (r *rooms) mayTake(ctx context.Context, room chat.Key) (bool, error) {
	if may := r.may.Load(); may != nil {
		return (*may)(ctx, room)
	}
	return true, nil
}

// Take takes the room of a chat for this bridge, and reports whether it has it: another living bridge may, or this one
// may not take it. With SQLite it has all.
func (p *Place) Take(ctx context.Context, key chat.Key) (mine bool, err error) {
	if p == nil {
		return true, nil
	}
	room := key.Parent()
	if p.rooms.has(room.String()) {
		return true, nil
	}
	taken, err, _ := p.rooms.taking.Do(room.String(), func() (any, error) {
		if p.rooms.has(room.String()) {
			return true, nil
		}
		if may, err := p.rooms.mayTake(ctx, room); err != nil || !may {
			return false, err
		}
		_, err := p.claim(ctx, room)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if first := p.rooms.add(room.String(), false); first != nil {
			if err := first(ctx, room); err != nil {
				return false, err
			}
			p.rooms.add(room.String(), true)
		}
		return true, nil
	})
	if err != nil {
		return false, fmt.Errorf("take %v: %w", room, err)
	}
	return taken.(bool), nil
}

// Has reports whether this bridge has taken the room of a chat.
func (p *Place) Has(key chat.Key) bool { return p == nil || p.rooms.has(key.Parent().String()) }

// claim returns how often the room was taken over, or [sql.ErrNoRows].
func (p *Place) claim(ctx context.Context, room chat.Key) (fence int64, err error) {
	err = p.server.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, takeRoom, room.String(), p.run).Scan(&fence)
	})
	return fence, err
}

// Require returns [chat.ErrElsewhere] unless this bridge has the room of a chat, or takes it now. It takes none of another
// machine's terminal.
func (p *Place) Require(ctx context.Context, key chat.Key) error {
	if !p.Has(key) && chat.IsLocal(key.Channel) {
		if free, err := p.Free(ctx, []chat.Key{key}); err != nil || len(free) == 0 {
			return cmp.Or(err, chat.ErrElsewhere)
		}
	}
	mine, err := p.Take(ctx, key)
	if err == nil && !mine {
		err = chat.ErrElsewhere
	}
	return err
}

const roomsElsewhere = `SELECT room FROM leases JOIN nodes ON nodes.run = leases.run
	WHERE room IN (SELECT value FROM json_each(?1)) AND leases.run <> ?2
		AND (nodes.dead < 2 OR nodes.name <> ?3 AND room IN (SELECT value FROM json_each(?4)))`

// Elsewhere finds out which of the rooms of chats another bridge has. Those of a terminal wait for the bridge of their machine:
// nobody would see there what another one answers.
func (p *Place) Elsewhere(ctx context.Context, keys []chat.Key) (rooms []string, err error) {
	if p == nil {
		return nil, nil
	}
	unknown, local := []string{}, []string{}
	for _, key := range keys {
		if room := key.Parent().String(); !p.rooms.has(room) {
			unknown = append(unknown, room)
			if chat.IsLocal(key.Channel) {
				local = append(local, room)
			}
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(unknown)
	if err != nil {
		return nil, err
	}
	locals, err := json.Marshal(local)
	if err != nil {
		return nil, err
	}
	rooms, err = texts(ctx, p.server.Readers(), roomsElsewhere, string(list), p.run, p.name, string(locals))
	if err != nil {
		return nil, fmt.Errorf("chats of other bridges: %w", err)
	}
	return rooms, nil
}

// Free leaves out the chats that another bridge has, or that this one may not take.
func (p *Place) Free(ctx context.Context, keys []chat.Key) ([]chat.Key, error) {
	elsewhere, err := p.Elsewhere(ctx, keys)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(key chat.Key) bool {
		room := key.Parent()
		if p.Has(room) {
			return false
		}
		if slices.Contains(elsewhere, room.String()) {
			return true
		}
		may, failed := p.rooms.mayTake(ctx, room)
		err = errors.Join(err, failed)
		return !may
	}), err
}
