package feishu

import "sync"

// seenCache remembers the latest message IDs: those delivered by events, which a backfill skips, or those sent by the
// bot, whose updates are ignored.
type seenCache struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int // index in ring that is overwritten next
}

// remembered is the number of IDs kept: more than arrive between two connections.
const remembered = 4096

func (r *seenCache) markSeen(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids, r.ring = make(map[string]bool), make([]string, remembered)
	}
	if r.ids[id] {
		return
	}
	delete(r.ids, r.ring[r.next])
	r.ids[id], r.ring[r.next] = true, id
	r.next = (r.next + 1) % len(r.ring)
}

func (r *seenCache) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}
