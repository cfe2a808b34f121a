package main

import (
	"fmt"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// Posts that the app has no permission for wait. Admins see how many, and why, also after a restart, until they are
// sent.
func TestStatusShowsPostsWithoutPermission(t *testing.T) {
	r := makeRig(t, feishusim.Config{})
	r.cfg.Access.Admins = []string{r.user.OpenID}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	room := r.sim.Group("项目", r.user)
	id := r.sim.Say(room, r.user, "我叫小明", feishusim.Mention())
	r.answer(room, id)
	heal := r.sim.Inject(feishusim.Fault{Path: "/open-apis/im/v1/messages/" + id, Code: 99991672, Msg: "scopes is required"})
	must(t, r.store().Outbox().Enqueue(t.Context(), db.Post{
		Key: chat.FeishuChat(room), Idem: "unsent", ReplyTo: id, Text: "unsent",
	}))
	const want = "**等待发出的消息**：1 条（应用缺少权限"
	attempted := func() bool { return r.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) == 1 }
	r.until("an attempt", attempted)
	for range 2 {
		if got := r.ask("/status"); !strings.Contains(got, want) || strings.Contains(got, "scopes") {
			t.Errorf("/status: %q", got)
		}
		r.stop()
		r.start()
	}
	heal()
	r.sql(`UPDATE outbox SET next_at = 0`)
	r.until("the message to be sent", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if got := r.ask("/status"); strings.Contains(got, "等待发出的消息") {
		t.Errorf("/status: %q", got)
	}
}

// In a chat where the platform refuses the bot's messages, nothing is sent for days. Admins see it in /status and
// doctor. A message to the bot there triggers a retry.
func TestASilencedChatIsLeftAlone(t *testing.T) {
	for why, code := range map[string]int{ // the reason in /status
		"项目（群被禁言，或群设置": 230035, "项目（群被禁言，或群设置不让机器人发言": 230018, "小红（对方不接收机器人的消息": 230053,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			r := makeRig(t, feishusim.Config{})
			r.cfg.Access.Admins = []string{r.user.OpenID}
			r.start()
			t.Cleanup(func() { r.stop(); r.clean() })
			hong := r.sim.AddUser("小红")
			room, mention := r.sim.Group("项目", r.user, hong), feishusim.Mention()
			if code == 230053 {
				room, mention = r.sim.PrivateChat(hong), func(*feishusim.SendOptions) {}
			} else {
				r.sim.AddBot(room, r.user)
				r.until("the group's name to be known", func() bool {
					return r.count(`SELECT COUNT(*) FROM chats WHERE title = '项目'`) == 1
				})
			}
			r.answer(room, r.sim.Say(room, hong, "我叫小明", mention))
			r.sim.Silence(room, code)
			r.sim.Say(room, hong, "我叫什么名字？", mention)
			r.until("the silence to be stored", func() bool { return r.count(`SELECT COUNT(*) FROM silenced`) == 1 })
			r.until("an empty outbox", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
			calls := func() (n int) {
				for _, c := range r.sim.Calls() {
					if strings.HasPrefix(c.Route, "POST /open-apis/im/v1/messages") &&
						strings.Contains(c.Body, "unasked") {
						n++
					}
				}
				return n
			}
			if got := r.ask("/status"); !strings.Contains(got, "发不出消息的聊天") || !strings.Contains(got, why) {
				t.Errorf("/status: %q", got)
			}
			must(t, r.store().Outbox().Enqueue(t.Context(),
				db.Post{Key: chat.FeishuChat(room), Idem: "unasked", Text: "unasked"}))
			r.until("the message to be dropped", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
			if n := calls(); n != 0 {
				t.Errorf("%d messages were sent", n)
			}
			r.sim.Silence(room, 0)
			if got := visibleText(r.answer(room, r.sim.Say(room, hong, "数到 3", mention))); got != "1 2 3" {
				t.Errorf("answer %q", got)
			}
			if n := r.count(`SELECT COUNT(*) FROM silenced`); n != 0 {
				t.Error("the chat is still silenced")
			}
		})
	}
}
