package cluster

import "time"

// bridges are those that serve the database, as this one saw them when it last renewed its place.
type bridges struct {
	living  int
	overdue int           // others that have not renewed theirs in time
	leads   bool          // this one has the lowest run
	at      time.Duration // before the renewal was sent, by [bootTime]
}

// Leads reports whether this bridge does what one bridge does for all chats: the living one that has joined first. Another
// one leads only after this one was declared dead, so what was seen at the last renewal is true for as long as that is valid.
func (p *Place) Leads() bool {
	if p == nil {
		return true
	}
	seen := p.seen.Load()
	return seen.leads && bootTime()-seen.at <= placeValid
}

// Living is how many bridges serve the database, as of the last renewal.
func (p *Place) Living() int {
	if p == nil {
		return 1
	}
	return p.seen.Load().living
}
