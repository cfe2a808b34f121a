package contextmgr

import (
	"maps"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/internal/chat"
)

// rememberedChats is for how many chats it is known what their processes were told. A chat that is not among them is
// told again.
const rememberedChats = 1000

// sentContext knows what each chat's process was sentContext.
type sentContext struct {
	mu    sync.Mutex
	chats *lru.Cache[chat.Key, sent]
}

// sent is what a process was told. It is never changed, only replaced.
type sent struct {
	memories []Memory
	messages map[int64]bool // by seq
}

func newSentContext() *sentContext {
	chats, err := lru.New[chat.Key, sent](rememberedChats)
	if err != nil {
		panic(err) // it says that the size is not positive
	}
	return &sentContext{chats: chats}
}

func (t *sentContext) of(key chat.Key) sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.chats.Get(key)
	return known
}

// untold are the memories of list that the chat's living process does not know.
func (t *sentContext) untold(key chat.Key, list []Memory) []Memory {
	known := t.of(key).memories
	return slices.DeleteFunc(list, func(m Memory) bool { return slices.Contains(known, m) })
}

// Sent notes what a chat's process is told, when a prompt is sent to it: it is not told the same memories again for as
// long as it lives, nor the same messages for as long as its session is gone on with.
func (m *Manager) Sent(key chat.Key, p Prompt, live bool) {
	m.told.mu.Lock()
	defer m.told.mu.Unlock()
	known, _ := m.told.chats.Get(key)
	if !live {
		known.memories = nil
	}
	if !live && !p.UseResume {
		known.messages = nil // it is another session
	}
	all := seqs(p.Recalled)
	maps.Copy(all, seqs(p.History))
	maps.Copy(all, seqs(p.Background))
	maps.Copy(all, known.messages)
	m.told.chats.Add(key, sent{slices.Concat(known.memories, p.Memories), all})
}
