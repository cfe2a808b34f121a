package main

import (
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// A bridge that starts has no processes ready for chats in which another one answers by now.
func TestNoProcessStartsAgainForChatsOfOthers(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t, severalBridges)
	free := a.sim.PrivateChat(a.sim.AddUser("小红"))
	a.answer(free, a.sim.Say(free, a.user, "你好"))
	a.ask("我叫小明")
	a.stop()
	a.beside() // takes the chats that spoke last
	a.until("both chats taken", func() bool {
		return a.count(`SELECT COUNT(*) FROM leases JOIN nodes USING (run) WHERE name = 'b'`) == 2
	})
	a.sql(`DELETE FROM leases WHERE room LIKE '%' || ?1`, free)
	a.start()
	holds := func(room string) bool { return a.pool().Holds(chat.FeishuChat(room).String()) }
	a.until("a process for the chat that is free", func() bool { return holds(free) })
	if holds(a.chat) {
		t.Error("a process for the chat of the other bridge was started")
	}
}
