package feishu

import "sync"

// recent remembers the last ids that were put in.
type recent struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int // the place in ring that is written next
}

// remembered is how many ids are remembered: more than come while a connection is lost and made again.
const remembered = 4096

func (r *recent) add(id string) {
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

func (r *recent) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}
