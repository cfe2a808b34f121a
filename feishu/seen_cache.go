package feishu

import lru "github.com/hashicorp/golang-lru/v2"

// seenCache remembers the latest message IDs: those delivered by events, which a backfill skips, or those sent by the
// bot, whose updates are ignored.
type seenCache struct {
	ids *lru.Cache[string, struct{}]
}

// remembered is the number of IDs kept: more than arrive between two connections.
const remembered = 4096

func newSeenCache() seenCache {
	ids, _ := lru.New[string, struct{}](remembered) // fails for sizes below 1 only
	return seenCache{ids}
}

func (r seenCache) markSeen(id string) { r.ids.ContainsOrAdd(id, struct{}{}) }

func (r seenCache) has(id string) bool { return r.ids.Contains(id) }
