package feishu

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
)

// maxCachedCards bounds the card cache. The least recently used card is dropped first; it can be restored from its
// durable id.
const maxCachedCards = 1000

// cardCache keeps cards by name. It is bounded because a turn that never ends would leave its card there forever.
type cardCache struct {
	*simplelru.LRU[string, *card]
}

func newCardCache() cardCache {
	kept, _ := simplelru.NewLRU[string, *card](maxCachedCards, nil) // fails for sizes below 1 only
	return cardCache{kept}
}

// firstMessage is the first message of the card that has a page on a message; if none has, the message itself. A linear
// search is fast enough: only quotes need it.
func (s cardCache) firstMessage(message string) string {
	for _, name := range s.Keys() {
		k, _ := s.Peek(name)
		if _, ok := k.messages.Load(message); ok {
			s.Get(name)
			return chat.FirstMessage(name)
		}
	}
	return message
}
