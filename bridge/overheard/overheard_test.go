package overheard

import (
	"fmt"
	"testing"
	"time"

	"magpie/contextmgr"
	"magpie/internal/chat"
)

// With very many groups, those in which the bot was not addressed for longest are forgotten first.
func TestFullCachesOfGroupsKeepTheRecentOnes(t *testing.T) {
	t.Parallel()
	b := New(nil, nil, nil, contextmgr.Config{}, 0, nil)
	group := func(i int) chat.Key { return chat.FeishuChat(fmt.Sprint("oc_", i)) }
	for i := range maxGroups + 1 {
		b.markComplete(group(i))
		b.markPending(group(i), time.Unix(int64(i), 0))
	}
	recent, oldest := group(maxGroups-1), group(0)
	if _, ok := b.asked.Peek(recent); !ok || !b.fetchSince(recent, time.Now()).Before(time.Now().Add(-time.Hour)) {
		t.Error("a group in which the bot was addressed recently is forgotten")
	}
	if b.asked.Contains(oldest) || b.pending.Contains(oldest) {
		t.Error("nothing is forgotten")
	}
}
