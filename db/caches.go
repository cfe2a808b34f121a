package db

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
	"magpie/internal/convo"
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

// hotTurns is how many chats have their turns in memory. Most have none.
const hotTurns = 1000

// turnCache holds the turns of chats as the last decision about each has left them. Whatever else writes them has them
// forgotten: SQLite reports the rows of turns that it changes, who changes messages of a turn or begins a conversation
// says so, a transaction that is undone forgets all, and so does a change by another program. It follows transactions step
// by step, before they commit, so it is for an engine that runs one at a time, and each once. Without a cache, which is nil,
// all are read.
type turnCache struct {
	mu      sync.Mutex
	hot     *simplelru.LRU[chat.Key, convo.Chat]
	chats   map[int64]chat.Key // of the turns in it
	storing bool               // a decision is being stored: the rows become what is put here next
	next    int64              // the number that the next turn of any chat gets; 0 = unknown
}

func newTurnCache() *turnCache {
	t := &turnCache{chats: map[int64]chat.Key{}}
	// fails only for sizes below 1
	t.hot, _ = simplelru.NewLRU(hotTurns, func(_ chat.Key, c convo.Chat) {
		for _, turn := range c.Turns {
			delete(t.chats, turn.ID)
		}
	})
	return t
}

// get returns the turns of a chat, if they are known.
func (t *turnCache) get(key chat.Key) (convo.Chat, bool) {
	if t == nil {
		return convo.Chat{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.hot.Get(key)
	c.Next = t.next
	return c, ok && t.next != 0
}

// store has a decision stored, and keeps what it has made of the chat.
func (t *turnCache) store(key chat.Key, is convo.Chat, store func() error) error {
	if t == nil {
		return store()
	}
	t.setStoring(true)
	err := store()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storing = false
	t.hot.Remove(key)
	t.next = 0
	if err == nil {
		t.next = is.Next
		t.hot.Add(key, is)
		for _, turn := range is.Turns {
			t.chats[turn.ID] = key
		}
	}
	return err
}

func (t *turnCache) setStoring(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storing = yes
}

// turnChanged forgets the chat of a turn whose row has changed, unless a decision is being stored.
func (t *turnCache) turnChanged(turn int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key, ok := t.chats[turn]; ok && !t.storing {
		t.hot.Remove(key)
	}
}

// forget forgets a chat, because messages of its turns have changed, or its conversation.
func (t *turnCache) forget(key chat.Key) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot.Remove(key)
}

// forgetAll forgets all chats, because what was stored is undone, or others have stored something.
func (t *turnCache) forgetAll() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot.Purge()
	t.next = 0
}
