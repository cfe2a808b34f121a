package contextmgr

import (
	"maps"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
)

// given remembers which messages were put into the prompts of a session, so that a living process is not told the same
// again and again. It forgets those that were not used for the longest time.
type given struct {
	mu       sync.Mutex
	sessions *simplelru.LRU[string, map[int64]bool]
}

// livingSessions is more than there are processes.
const livingSessions = 256

func newGiven() *given {
	lru, _ := simplelru.NewLRU[string, map[int64]bool](livingSessions, nil) // fails for sizes below 1 only
	return &given{sessions: lru}
}

// add notes what a session was told.
func (g *given) add(session string, c Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.sessions.Get(session)
	if !ok {
		known = map[int64]bool{}
	}
	for _, list := range [][]chat.Message{c.Background, c.Recalled, c.History} {
		for _, m := range list {
			known[m.Seq] = true
		}
	}
	g.sessions.Add(session, known)
}

// to is what a session was told; the caller may change it.
func (g *given) to(session string) map[int64]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known, ok := g.sessions.Get(session); ok {
		return maps.Clone(known)
	}
	return map[int64]bool{}
}
