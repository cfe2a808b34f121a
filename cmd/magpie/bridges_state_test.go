package main

import (
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// A bridge that starts has no processes ready for chats in which another one answers by now.
func TestNoProcessStartsAgainForChatsOfOthers(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t)
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

// Each bridge has a code in its log. The one of any makes its sender the owner in the chat of any other, once, and all know
// him then.
func TestTheCodeOfAnotherBridgeMakesTheOwner(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	a := makeRig(t, feishusim.Config{}, emptyAccess)
	a.sim.TakeScopes("application:application:self_manage")
	a.start()
	t.Cleanup(func() { a.stop(); a.clean() })
	b := a.beside()
	a.until("two codes", func() bool { return a.count(`SELECT COUNT(*) FROM nodes WHERE code <> ''`) == 2 })
	codeOf := func(r *rig) string { return regexp.MustCompile(`MAGPIE-[A-Z0-9]{26}`).FindString(r.logs.String()) }
	if content := dbtest.Content(t, databaseOf(a.cfg)); codeOf(a) == "" || strings.Contains(content, codeOf(a)) {
		t.Errorf("code %q, or it is in the database", codeOf(a))
	}
	thief := a.sim.AddUser("小红")
	a.sim.Say(a.sim.PrivateChat(thief), thief, "MAGPIE-"+strings.Repeat("A", 26))
	b.awaitLog("a wrong code was sent")
	a.sim.Say(a.chat, a.user, codeOf(a))
	a.awaitWelcome(a.user)
	b.awaitLog("the bot has an owner")
	a.awaitLog("the bot has an owner")
	a.sim.Say(a.sim.PrivateChat(thief), thief, codeOf(b))
	if got := a.ask("/whoami"); !strings.Contains(got, "所有者") {
		t.Errorf("answer %q", got)
	}
	if n := a.count(`SELECT COUNT(*) FROM owners`); n != 1 {
		t.Errorf("%d owners", n)
	}
}

// What an admin has reloaded in a chat of one bridge is reloaded by all, each with its own file.
func TestAReloadReachesAllBridges(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	a := makeRig(t, feishusim.Config{}, func(c *config.Config) { c.DB.PlaceTTL = 9 * time.Second })
	a.cfg.Access = access.Config{Owner: a.user.OpenID}
	var broken atomic.Bool
	a.load = func() (config.Config, error) {
		if broken.Load() {
			return config.Config{}, errors.New("a mistake")
		}
		return a.cfg, nil
	}
	a.start()
	t.Cleanup(func() { a.stop(); a.clean() })
	b := a.beside()
	for _, c := range []struct{ answer, log string }{
		{"已重新加载配置", "configuration reloaded"}, {"有错误", "invalid configuration; keeping the old one"},
	} {
		if got := a.ask("/admin reload"); !strings.Contains(got, c.answer) || !strings.Contains(got, "其他 1 个鹊桥") {
			t.Errorf("answer %q", got)
		}
		a.awaitLog(c.log)
		b.awaitLog(c.log)
		broken.Store(true)
	}
}

// Monitoring shows what waits for a bridge that does not answer.
func TestEventsForABridgeThatHangsAreSeen(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t)
	a.ask("你好")
	if s := a.prog.snapshot(t.Context()); s.Forwarded != 0 || !s.Oldest.IsZero() || s.Cluster.Rooms != 1 {
		t.Errorf("nothing waits, and the figures are %+v, %+v", s, s.Cluster)
	}
	a.sql(`INSERT INTO nodes (run, name, instance, session, until, joined_at) VALUES (99, 'z', 'z', 'z', clock_timestamp() + interval '1 hour', 0)`)
	a.sql(`INSERT INTO leases (room, run, fence) VALUES ('feishu:chat:oc_z', 99, 1)`)
	a.sql(`INSERT INTO forwarded (room, kind, payload, arrived_at)
		VALUES ('feishu:chat:oc_z', 'message', '', clock_timestamp() - interval '1 hour')`)
	if s := a.prog.snapshot(t.Context()); s.Forwarded != 1 || time.Since(s.Oldest).Round(time.Minute) != time.Hour {
		t.Errorf("an event has waited for an hour: %d, since %v", s.Forwarded, s.Oldest)
	}
}
