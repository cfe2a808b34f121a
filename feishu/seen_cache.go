package feishu

import "sync"

// seenCache remembers the last ids that were put in.
type seenCache struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int // the place in ring that is written next
}

// remembered is how many ids are remembered: more than come while a connection is lost and made again.
const remembered = 4096

func (r *seenCache) add(id string) {
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
