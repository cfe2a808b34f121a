package contextmgr

import (
	"maps"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/internal/chat"
)

// rememberedChats limits the cache. A chat that was evicted is sent its memories again, which is harmless.
const rememberedChats = 1000

// sentContext remembers what was sent to each chat's process.
type sentContext struct {
	mu    sync.Mutex
	chats *lru.Cache[chat.Key, sentParts]
}

// sentParts is what one process was sent. It is immutable; an update replaces it.
type sentParts struct {
	memories []Memory
	messages map[int64]bool // by seq
}

func newSentContext() *sentContext {
	chats, err := lru.New[chat.Key, sentParts](rememberedChats)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &sentContext{chats: chats}
}

// get returns what the chat's process was sent; empty if unknown.
func (t *sentContext) get(key chat.Key) sentParts {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.chats.Get(key)
	return known
}

// unsent are the memories in list that the chat's live process was not sent yet.
func (t *sentContext) unsent(key chat.Key, list []Memory) []Memory {
	known := t.get(key).memories
	return slices.DeleteFunc(list, func(m Memory) bool { return slices.Contains(known, m) })
}

// RecordSent records that a prompt was sent to a chat's process. The process is not sent the same memories again while
// it lives, nor the same messages while its session continues.
func (m *Manager) RecordSent(key chat.Key, p Prompt, live bool) {
	m.sent.mu.Lock()
	defer m.sent.mu.Unlock()
	known, _ := m.sent.chats.Get(key)
	if !live {
		known.memories = nil
	}
	if !live && !p.UseResume {
		known.messages = nil // it is another session
	}
	all := seqSet(p.Retrieved)
	maps.Copy(all, seqSet(p.History))
	maps.Copy(all, seqSet(p.Overheard))
	maps.Copy(all, known.messages)
	m.sent.chats.Add(key, sentParts{slices.Concat(known.memories, p.Memories), all})
}
