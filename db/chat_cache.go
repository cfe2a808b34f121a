package db

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
)

// hotChats is how many chats are kept in memory; each takes some 300 bytes.
const hotChats = 10_000

// chatCache caches recently read chats. It is never stale: SQLite's update hook reports which rows of the chats table a
// write changes. Such a row is neither returned nor stored until the write has ended, and a reader that started before
// that cannot store its result. The hook misses rows deleted by REPLACE or by DELETE without WHERE, and writes of other
// programs; but chats are never deleted, and the lock keeps other programs out.
type chatCache struct {
	mu         sync.Mutex
	hot        *simplelru.LRU[chat.Key, hotChat]
	keys       map[int64]chat.Key // cached chats, by row
	changing   map[int64]bool     // rows changed by writes that have not finished
	generation uint64             // number of finished write groups that changed a chat
}

// hotChat is a cached chat with its row number, which SQLite's update hook reports.
type hotChat struct {
	Chat
	row int64
}

func newChatCache(size int) *chatCache {
	c := &chatCache{keys: map[int64]chat.Key{}, changing: map[int64]bool{}}
	// fails only for sizes below 1
	c.hot, _ = simplelru.NewLRU(size, func(_ chat.Key, h hotChat) { delete(c.keys, h.row) })
	return c
}

// get returns the chat if it is cached, and otherwise the value to pass to put.
func (c *chatCache) get(key chat.Key) (_ Chat, hot bool, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.hot.Get(key)
	return h.Chat, ok, c.generation
}

// put stores a chat that was read after get returned generation.
func (c *chatCache) put(ch Chat, row int64, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generation && !c.changing[row] {
		c.hot.Add(ch.Key, hotChat{ch, row})
		c.keys[row] = ch.Key
	}
}

// markChanging records that a running write has changed a row.
func (c *chatCache) markChanging(row int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changing[row] = true
	if key, ok := c.keys[row]; ok {
		c.hot.Remove(key)
	}
}

// publishGroup records that all running writes are committed or rolled back.
func (c *chatCache) publishGroup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changing) > 0 {
		clear(c.changing)
		c.generation++
	}
}
