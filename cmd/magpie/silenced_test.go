package main

import (
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// In a group that is muted nothing is tried for days; admins see it in /status and in doctor. When somebody speaks to
// the bot there, it tries again.
func TestASilencedChatIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	r.cfg.Access.Admins = []string{r.user.OpenID}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	group := r.sim.Group("项目", r.user, r.sim.AddUser("小红"))
	r.answer(group, r.sim.Say(group, r.user, "我叫小明", feishusim.Mention()))
	r.sim.Silence(group, 230035)
	r.sim.Say(group, r.user, "我叫什么名字？", feishusim.Mention())
	r.until("the silence to be noted", func() bool { return r.count(`SELECT COUNT(*) FROM silenced`) == 1 })
	r.until("nothing to be delivered", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	calls := func() (n int) {
		for _, c := range r.sim.Calls() {
			if strings.HasPrefix(c.Route, "POST /open-apis/im/v1/messages") {
				n++
			}
		}
		return n
	}
	if got := r.ask("/status"); !strings.Contains(got, "发不出消息的聊天**：1 个") {
		t.Errorf("/status: %q", got)
	}
	before := calls()
	must(t, r.prog.store.Outbox().Add(t.Context(), db.Post{Key: chat.FeishuChat(group), Idem: "unasked", Text: "unasked"}))
	r.until("the message to be given up", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if n := calls() - before; n != 0 {
		t.Errorf("%d messages were tried", n)
	}
	r.sim.Silence(group, 0)
	id := r.sim.Say(group, r.user, "数到 3", feishusim.Mention())
	if got := visibleText(r.answer(group, id)); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if n := r.count(`SELECT COUNT(*) FROM silenced`); n != 0 {
		t.Error("the chat is still silenced")
	}
}
