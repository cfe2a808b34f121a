package feishu

import (
	"time"

	"magpie/internal/chat"
)

// maxCachedCards bounds the card cache. The least recently used card is dropped first; it can be restored from its
// durable id.
const maxCachedCards = 1000

// cardCache keeps cards by name. It is bounded because a turn that never ends would leave its card there forever.
type cardCache map[string]*cachedCard

type cachedCard struct {
	card *card
	used time.Time
}

func (s *cardCache) put(name string, k *card) {
	if *s == nil {
		*s = make(cardCache)
	}
	// Only a new card may evict another; replacing one does not make the cache larger.
	if len(*s) >= maxCachedCards && (*s)[name] == nil {
		s.dropOldest()
	}
	(*s)[name] = &cachedCard{k, time.Now()}
}

func (s *cardCache) get(name string) *card {
	e := (*s)[name]
	if e == nil {
		return nil
	}
	e.used = time.Now()
	return e.card
}

// firstMessage is the first message of the card that has a page on a message; if none has, the message itself. A linear
// search is fast enough: only quotes need it.
func (s *cardCache) firstMessage(message string) string {
	for name, e := range *s {
		if _, ok := e.card.messages.Load(message); ok {
			e.used = time.Now()
			return chat.FirstMessage(name)
		}
	}
	return message
}

func (s *cardCache) drop(name string) { delete(*s, name) }

// A linear search is fast enough for a thousand entries, and happens only when the cache is full.
func (s *cardCache) dropOldest() {
	var oldest string
	for name, e := range *s {
		if oldest == "" || e.used.Before((*s)[oldest].used) {
			oldest = name
		}
	}
	s.drop(oldest)
}
