package db

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// hotTurns is how many chats have their turns in memory. Most have none.
const hotTurns = 1000

// turnCache holds the turns of chats as the last decision about each has left them. Whatever else writes them has them
// forgotten: SQLite reports the rows of turns that it changes, who changes messages of a turn says so, a transaction
// that is undone forgets all, and so does a change by another program.
type turnCache struct {
	mu      sync.Mutex
	hot     *simplelru.LRU[chat.Key, convo.Chat]
	chats   map[int64]chat.Key // of the turns in it
	storing bool               // a decision is being stored: the rows become what is put here next
	version int64              // of the file, as other programs have left it
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

// get returns the turns of a chat, if they are known in this version of the file.
func (t *turnCache) get(key chat.Key, version int64) (convo.Chat, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if version != t.version {
		t.hot.Purge()
		t.version = version
	}
	return t.hot.Get(key)
}

// store has a decision stored, and keeps what it has made of the chat.
func (t *turnCache) store(key chat.Key, is convo.Chat, store func() error) error {
	t.setStoring(true)
	err := store()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storing = false
	t.hot.Remove(key)
	if err == nil {
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

// forget forgets a chat, because messages of its turns have changed.
func (t *turnCache) forget(key chat.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot.Remove(key)
}

// forgetAll forgets all chats, because what was stored is undone.
func (t *turnCache) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot.Purge()
}
