package contextmgr

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
)

// given remembers what was put into the prompts of a session, so that a living process is not told the same again and
// again. It forgets those that were not used for the longest time.
type given struct {
	mu       sync.Mutex
	sessions *simplelru.LRU[string, *known]
}

// known is what a session was told.
type known struct {
	messages map[int64]bool // by their seq
	memories map[Memory]bool
}

// livingSessions is more than there are processes.
const livingSessions = 256

func newGiven() *given {
	lru, _ := simplelru.NewLRU[string, *known](livingSessions, nil) // fails for sizes below 1 only
	return &given{sessions: lru}
}

// add notes what a session was told.
func (g *given) add(session string, c Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.sessions.Get(session)
	if !ok {
		k = &known{messages: map[int64]bool{}, memories: map[Memory]bool{}}
	}
	for _, list := range [][]chat.Message{c.Recalled, c.History} {
		for _, m := range list {
			k.messages[m.Seq] = true
		}
	}
	for _, m := range c.Memories {
		k.memories[m] = true
	}
	g.sessions.Add(session, k)
}

// to is which messages a session was told; the caller may change it.
func (g *given) to(session string) map[int64]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if k, ok := g.sessions.Get(session); ok {
		return maps.Clone(k.messages)
	}
	return map[int64]bool{}
}

// untold are those of the memories that a session was not told.
func (g *given) untold(session string, list []Memory) []Memory {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.sessions.Get(session)
	if !ok {
		return list
	}
	return slices.DeleteFunc(list, func(m Memory) bool { return k.memories[m] })
}
