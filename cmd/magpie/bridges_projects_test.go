package main

import (
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/workplace"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// A project of one machine is worked on there only. While that machine is away people are told so, once, and it answers when
// it is back.
func TestAProjectOfOneMachine(t *testing.T) {
	dbtest.OfPostgres(t)
	web := filepath.Join(t.TempDir(), "web")
	a := newRig(t, func(c *config.Config) {
		c.Projects = map[string]workplace.Project{"web": {Path: web, Nodes: []string{"b"}}}
	})
	must(t, a.cfg.Validate()) // there is no such folder
	a.cfg.Projects = map[string]workplace.Project{"web": {Path: t.TempDir(), Nodes: []string{"b"}}}
	b := a.beside()
	a.sim.Say(a.chat, a.user, "/cd web")
	a.awaitMessage("已切换到项目 web")
	if got := a.ask("你好"); !strings.Contains(got, "你好") {
		t.Errorf("answer %q", got)
	}
	a.sim.DeliverTo(1)
	if got := a.ask("从另一台机器问"); !strings.Contains(got, "从另一台机器问") {
		t.Errorf("answer %q", got)
	}

	b.stop()
	first := a.sim.Say(a.chat, a.user, "还在吗")
	away := a.awaitMessage("项目 web 所在的机器（b）现在离线")
	if away.ParentID != first {
		t.Errorf("what answers %s is %+v", first, away)
	}
	second := a.sim.Say(a.chat, a.user, "第二问")
	a.awaitReceived(second)
	a.until("both to wait", func() bool { return a.count(`SELECT COUNT(*) FROM forwarded WHERE kind = 'message'`) == 2 })
	if n := a.started(); n != 0 {
		t.Errorf("the machine without the project started %d agents", n)
	}
	b.start()
	a.await("the answers", func(v *feishusim.View) bool {
		list := append(replies(v, a.chat, first), replies(v, a.chat, second)...)
		said := ""
		for _, m := range list {
			if m.Type == "interactive" && !m.Last().Streaming && !running(m) {
				said += visibleText(m)
			}
		}
		return strings.Contains(said, "还在吗") && strings.Contains(said, "第二问")
	})
	if n := strings.Count(a.transcript(), "现在离线"); n != 1 {
		t.Errorf("people were told %d times", n)
	}
	if n := a.count(`SELECT COUNT(*) FROM forwarded`); n != 0 {
		t.Errorf("%d events wait", n)
	}

	// a chat that a has cannot go there
	other := a.sim.AddUser("小红")
	room := a.sim.PrivateChat(other)
	if got := a.answer(room, a.sim.Say(room, other, "/projects")).Text(); !strings.Contains(got, "`web`（最高权限：每次询问），在机器 b 上") {
		t.Errorf("projects %q", got)
	}
	if got := a.answer(room, a.sim.Say(room, other, "/cd web")).Text(); !strings.Contains(got, "项目 web 在机器 b 上") {
		t.Errorf("answer %q", got)
	}
	if got := visibleText(a.answer(room, a.sim.Say(room, other, "那就在这里"))); !strings.Contains(got, "那就在这里") {
		t.Errorf("answer %q", got)
	}
	a.sql(`UPDATE chats SET settings = '{"project":"web"}' WHERE key = ?1`, chat.FeishuChat(room).String())
	if got := visibleText(a.answer(room, a.sim.Say(room, other, "那里呢"))); !strings.Contains(got, "项目 web 在机器 b 上") {
		t.Errorf("answer %q", got)
	}
	if n := a.started(); n != 1 {
		t.Errorf("%d agents of the first machine", n)
	}
}
