package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// bridges are those that serve the database, as this one saw them when it last renewed its place.
type bridges struct {
	living  int
	overdue int   // others that have not renewed theirs in time, and those that were declared dead but not ended
	leads   bool  // this one has the lowest run
	reloads int64 // how often others have asked this one to reload its configuration
}

// Leads reports whether this bridge does what one bridge does for all chats: the living one that has joined first. Another
// one leads only when this one has left or was declared dead, and then this one writes nothing any more.
func (p *Place) Leads() bool {
	return p == nil || p.seen.Load().leads
}

// Living is how many bridges serve the database, as of the last renewal.
func (p *Place) Living() int {
	if p == nil {
		return 1
	}
	return p.seen.Load().living
}

const livesOneOf = `SELECT EXISTS (SELECT 1 FROM nodes WHERE dead = 0 AND name IN (SELECT value FROM json_each(?1)))`

// Lives reports whether a bridge on one of these machines lives.
func (p *Place) Lives(ctx context.Context, names []string) (lives bool, err error) {
	list, err := json.Marshal(names)
	if err == nil {
		err = p.server.Row(ctx, livesOneOf, string(list)).Scan(&lives)
	}
	if err != nil {
		return false, fmt.Errorf("look for the bridges on %q: %w", names, p.server.Explain(err))
	}
	return lives, nil
}

const sweepNodes = `DELETE FROM nodes WHERE dead = 2 AND until < clock_timestamp() - make_interval(days => 30)
	AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.run = nodes.run)`

// Sweep forgets the bridges that are gone for long, unless a room is known to be free by them.
func (p *Place) Sweep(ctx context.Context) error {
	if p == nil {
		return nil
	}
	_, err := p.server.Do(ctx, sweepNodes)
	return err
}

// Bridge is a bridge of a database.
type Bridge struct {
	Name   string    // of its machine
	Since  time.Time // by that machine's clock
	Until  time.Time // when its place ends unless it is renewed, or has ended
	Living bool
	Rooms  int // that it has, chats together with their topics
}

const selectBridges = `SELECT name, joined_at, until, dead = 0, (SELECT COUNT(*) FROM leases WHERE leases.run = nodes.run)
	FROM nodes WHERE dead = 0 OR until > clock_timestamp() - make_interval(days => 1) ORDER BY dead <> 0, run`

// Bridges lists the bridges that live, the one that leads first, and those that have ended within a day.
func Bridges(ctx context.Context, q querier) (list []Bridge, err error) {
	rows, err := q.QueryContext(ctx, selectBridges)
	if err != nil {
		return nil, fmt.Errorf("list the bridges: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var b Bridge
		var since int64
		if err := rows.Scan(&b.Name, &since, &b.Until, &b.Living, &b.Rooms); err != nil {
			return nil, fmt.Errorf("read a bridge: %w", err)
		}
		b.Since = time.UnixMilli(since)
		list = append(list, b)
	}
	return list, rows.Err()
}
