package contextmgr

import (
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/db"
	"magpie/internal/chat"
)

// rememberedChats is for how many chats it is known what their processes were told. A chat that is not among them is told again.
const rememberedChats = 1000

// told knows which memories, in which version, each chat's process was told.
type told struct {
	mu    sync.Mutex
	chats *lru.Cache[chat.Key, map[string]int]
}

func newTold() *told {
	chats, err := lru.New[chat.Key, map[string]int](rememberedChats)
	if err != nil {
		panic(err) // it says that the size is not positive
	}
	return &told{chats: chats}
}

// untold are the memories of list that the agent of the turn does not know yet. It is taken as told from then on.
func (t *told) untold(r Request, list []db.Memory) []db.Memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.chats.Get(r.Key)
	if !ok || !r.Live {
		known = map[string]int{}
		t.chats.Add(r.Key, known)
	}
	list = slices.DeleteFunc(list, func(m db.Memory) bool { return known[m.ID] == m.Version })
	for _, m := range list {
		known[m.ID] = m.Version
	}
	return list
}
