package cluster

import "context"

// bridges are those that serve the database, as this one saw them when it last renewed its place.
type bridges struct {
	living  int
	overdue int  // others that have not renewed theirs in time, and those that were declared dead but not ended
	leads   bool // this one has the lowest run
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

const sweepNodes = `DELETE FROM nodes WHERE dead = 2 AND until < clock_timestamp() - make_interval(days => 30)`

// Sweep forgets the bridges that are gone for long. Rooms that one of them has are free without it, too.
func (p *Place) Sweep(ctx context.Context) error {
	if p == nil {
		return nil
	}
	_, err := p.server.Do(ctx, sweepNodes)
	return err
}
