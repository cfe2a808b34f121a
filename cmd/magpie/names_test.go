package main

import (
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// countWithoutName is the number of stored messages of people without a name.
func (r *rig) countWithoutName() int {
	r.Helper()
	return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND actor_name = ''`)
}

// Somebody joins a group after its members were listed, and writes: the prompt and the History have the name.
func TestANewMemberOfAGroupHasAName(t *testing.T) {
	r := newRig(t, oneProcessPerTurn) // each prompt contains the History
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user)
	r.mention(group, r.user, "我叫小明")
	r.sim.Join(group, red)
	r.mention(group, red, "我刚刚进群")
	if got := r.nameInGroup(group, red); got != "小红" {
		t.Errorf("the new member is stored as %q", got)
	}
	if text := r.mention(group, r.user, "谁刚刚进群？"); !strings.Contains(text, "用户(小红):\n我刚刚进群") {
		t.Errorf("the agent was asked %q", text)
	}
}

// A name that the platform delivers too late for its message appears in the next prompt.
func TestANameThatComesLateIsFilledIn(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.KeepAlive.Duration, c.Feishu.NameWait = 0, time.Nanosecond })
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.sim.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/" + group + "/members", Times: 1, Delay: time.Second})
	r.awaitAcks(r.sim.Say(group, red, "午饭吃面"))
	r.mention(group, red, "记住了吗？")
	r.until("the name", func() bool { return r.countWithoutName() == 0 })
	if text := r.mention(group, r.user, "谁吃面？"); !strings.Contains(text, "用户(小红):\n记住了吗？") {
		t.Errorf("the agent was asked %q", text)
	}
}

// nameInGroup is the name of a member in the History of a group, in the member's last message.
func (r *rig) nameInGroup(group string, u feishusim.User) (name string) {
	r.Helper()
	for m, err := range r.store().Messages().Range(r.Context(), chat.FeishuChat(group), 0, 0, 1<<62) {
		must(r, err)
		if m.Actor.ID == u.OpenID {
			return m.Actor.Name
		}
	}
	return ""
}
