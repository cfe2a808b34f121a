package contextmgr

import (
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/internal/chat"
)

// rememberedChats is for how many chats it is known what their processes were told. A chat that is not among them is told again.
const rememberedChats = 1000

// told knows which memories each chat's process was told.
type told struct {
	mu    sync.Mutex
	chats *lru.Cache[chat.Key, []Memory]
}

func newTold() *told {
	chats, err := lru.New[chat.Key, []Memory](rememberedChats)
	if err != nil {
		panic(err) // it says that the size is not positive
	}
	return &told{chats: chats}
}

// untold are the memories of list that the chat's living process does not know.
func (t *told) untold(key chat.Key, list []Memory) []Memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, _ := t.chats.Get(key)
	return slices.DeleteFunc(list, func(m Memory) bool { return slices.Contains(known, m) })
}

// Sent notes what a chat's process is told, when a prompt is sent to it: it is not told the same again for as long as it lives.
func (m *Manager) Sent(key chat.Key, p Prompt, live bool) {
	m.told.mu.Lock()
	defer m.told.mu.Unlock()
	var known []Memory
	if live {
		known, _ = m.told.chats.Get(key)
	}
	m.told.chats.Add(key, slices.Concat(known, p.Memories))
}
