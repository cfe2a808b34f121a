package main

import (
	"maps"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// attackRig is a program with approvals: two are open, one was refused, one has expired, and one was dropped with its
// turn.
type attackRig struct {
	*rig
	red, green, outsider, blocked feishusim.User
	group                         string

	ours, mine, refused, expired, dropped feishusim.Message // the cards
}

func newAttackRig(t *testing.T) *attackRig {
	b := &attackRig{rig: newRig(t)}
	boss := b.sim.AddUser("老板")
	b.red, b.outsider, b.blocked = b.sim.AddUser("小红"), b.sim.AddUser("路人"), b.sim.AddUser("坏人")
	b.group = b.sim.Group("测试群", b.user, b.red, b.blocked)
	b.green = b.sim.AddUser("小绿")
	access := access.Config{
		Owner: boss.OpenID, Deny: []string{b.blocked.OpenID},
		Allow: []string{b.user.OpenID, b.red.OpenID, b.green.OpenID},
	}
	soon := access
	soon.ApprovalTimeout.Duration = 8 * time.Second // longer than it takes to show the request
	b.setAccess(soon)
	b.calls(bash(appendLine("expired.txt")), modelsim.Text("那就算了"))
	room := b.sim.PrivateChat(b.green)
	wait := func(feishusim.Message) {}
	b.expired = b.turnOfApproval(room, b.sim.Say(room, b.green, "动手吧"), "超时无人处理", wait)
	b.setAccess(access)

	b.calls(bash(appendLine("refused.txt")), modelsim.Text("那就算了"))
	room = b.sim.PrivateChat(b.red)
	b.refused = b.turnOfApproval(room, b.sim.Say(room, b.red, "动手吧"), "已拒绝", func(m feishusim.Message) {
		_, err := b.sim.Press(t.Context(), m.ID, b.red, b.button(m, doRefuse))
		must(t, err)
	})
	b.calls(bash(appendLine("dropped.txt")))
	stop := func(feishusim.Message) { b.sim.Say(b.chat, b.user, "/stop") }
	b.dropped = b.turnOfApproval(b.chat, b.sim.Say(b.chat, b.user, "动手吧"), "回答已结束", stop)
	b.calls(bash(appendLine("ours.txt")), bash(appendLine("mine.txt")), modelsim.Text("群里完了"))
	b.ours = b.approval(b.group, b.sim.Say(b.group, b.user, "动手吧", feishusim.Mention()), 1)
	b.mine = b.approval(b.chat, b.sim.Say(b.chat, b.user, "你也动手"), 1)
	return b
}

// turnOfApproval runs a turn with an approval to its end, and returns the approval's card from before.
func (b *attackRig) turnOfApproval(room, id, end string, settle func(feishusim.Message)) feishusim.Message {
	b.Helper()
	var card feishusim.Message
	b.await("the approval's card", func(v *feishusim.View) bool {
		for _, m := range replies(v, room, id) {
			if asks(m) {
				card = m
			}
		}
		return card.ID != "" && (hasButtons(card) || strings.Contains(card.Text(), end))
	})
	settle(card)
	b.closed(card, end)
	b.turnDone(room, id)
	return card
}

// asked is the value of a card's button, as it was shown, with some members changed.
func (b *attackRig) asked(m feishusim.Message, do string, changes ...any) map[string]any {
	b.Helper()
	for _, state := range m.States { // the last state may have no buttons
		m.States = []feishusim.State{state}
		if offers(m, do) {
			value := maps.Clone(b.button(m, do).(map[string]any))
			for i := 0; i < len(changes); i += 2 {
				value[changes[i].(string)] = changes[i+1]
			}
			return value
		}
	}
	b.Fatalf("no button %q was ever shown", do)
	return nil
}

// The toasts that a press can get, in Chinese.
const (
	over     = "已失效"        // this request is settled, or no longer valid
	notYours = "只有提问的人或管理员" // only the asker or an admin decides
	notYou   = "你不能使用这个按钮"  // no access at all
	turnOver = "回答已经结束"     // nothing to stop
	refused  = ""           // the callback fails, and the platform shows that
)

// TestAttackPresses sends presses without permission, and forged ones of buttons that never existed. None of them
// decides, runs or stores anything or reveals another chat, and the open approvals can still be decided.
func TestAttackPresses(t *testing.T) {
	const rows = 27
	b := newAttackRig(t)
	allow := b.asked(b.ours, doAllow)
	full := allow["id"].(string)
	id, hash, _ := strings.Cut(full, ".")
	_, foreign, _ := strings.Cut(b.asked(b.mine, doAllow)["id"].(string), ".")
	unknown := "3f0b5a52-7f3c-4d52-9a52-000000000000." + hash
	stop := map[string]any{"do": "stop", "turn": allow["turn"]}
	letIn := map[string]any{"do": "let-in", "id": b.outsider.OpenID}
	always := b.asked(b.ours, doAllow, "do", doAlways)
	presses := []struct {
		name  string
		on    feishusim.Message
		by    feishusim.User
		value any
		want  string
	}{
		{"a member who has not asked allows", b.ours, b.red, allow, notYours},
		{"a member who has not asked allows for ever", b.ours, b.red, always, notYours},
		{"a member who has not asked refuses", b.ours, b.red, b.asked(b.ours, doRefuse), notYours},
		{"somebody who is no member", b.ours, b.outsider, allow, notYou},
		{"a member who may not talk", b.ours, b.blocked, allow, notYou},
		{"a stranger stops a turn", b.ours, b.outsider, stop, notYou},
		{"another hash", b.ours, b.user, b.asked(b.ours, doAllow, "id", id+".0123456789abcdef"), over},
		{"the hash of another request", b.ours, b.user, b.asked(b.ours, doAllow, "id", id+"."+foreign), over},
		{"no hash", b.ours, b.user, b.asked(b.ours, doAllow, "id", id), over},
		{"more than a hash", b.ours, b.user, b.asked(b.ours, doAllow, "id", full+"0"), over},
		{"half of a hash", b.ours, b.user, b.asked(b.ours, doAllow, "id", id+"."+hash[:8]), over},
		{"an id that there is not", b.ours, b.user, b.asked(b.ours, doAllow, "id", unknown), over},
		{"an id with a statement", b.ours, b.user, b.asked(b.ours, doAllow, "id", "' OR 1=1 --."+hash), over},
		{"another turn", b.ours, b.user, b.asked(b.ours, doAllow, "turn", 999), over},
		{"a turn that is a text", b.ours, b.user, b.asked(b.ours, doAllow, "turn", "1"), over},
		{"an id that is a list", b.ours, b.user, b.asked(b.ours, doAllow, "id", []any{full}), over},
		{"an act that is a number", b.ours, b.user, b.asked(b.ours, doAllow, "do", 1), over},
		{"a value that is a list", b.ours, b.user, []any{allow}, refused},
		{"a value that is a text", b.ours, b.user, "allow", refused},
		{"an act that there is not", b.ours, b.user, b.asked(b.ours, doAllow, "do", "always-everywhere"), turnOver},
		{"a request of another chat", b.ours, b.user, b.asked(b.mine, doAllow), over},
		{"a request of a group, in private", b.mine, b.user, allow, over},
		{"the turn of another chat is stopped", b.refused, b.red, stop, turnOver},
		{"a request that was refused", b.refused, b.red, b.asked(b.refused, doAllow), over},
		{"a request that has expired", b.expired, b.green, b.asked(b.expired, doAllow), over},
		{"a request that was dropped", b.dropped, b.user, b.asked(b.dropped, doAllow), over},
		{"a stranger is let in by no admin", b.mine, b.user, letIn, "只有管理员"},
	}
	if len(presses) != rows {
		t.Fatalf("%d presses, want %d", len(presses), rows)
	}
	for _, tc := range presses {
		got, err := b.sim.Act(t.Context(), tc.on.ID, tc.by, feishusim.Action{Value: tc.value, Forged: true})
		if (err != nil) != (tc.want == refused) || !strings.Contains(string(got), tc.want) {
			t.Errorf("%s: %s, %v", tc.name, got, err)
		}
		for _, other := range []string{b.group, b.chat, "测试群", "txt", id} {
			if strings.Contains(string(got), other) {
				t.Errorf("%s: it reveals %s", tc.name, other)
			}
		}
	}
	for _, file := range []string{"ours", "mine", "refused", "expired", "dropped"} {
		if b.project(file+".txt") != "" {
			t.Errorf("the command that is %s ran", file)
		}
	}
	if n := b.count(`SELECT COUNT(*) FROM approvals WHERE state = 'waiting'`); n != 2 {
		t.Errorf("%d requests wait", n)
	}
	n := b.count(`SELECT COUNT(*) FROM rules`) + b.count(`SELECT COUNT(*) FROM grants WHERE state = 'allowed'`)
	if n != 0 {
		t.Errorf("%d rules were created", n)
	}
	b.press(b.mine, doRefuse)
	b.press(b.ours, doAllow)
	b.closed(b.ours, "小明 已允许")
	b.until("the command", func() bool { return b.project("ours.txt") == "ran <b> & `x`\n" })
	if b.project("mine.txt") != "" {
		t.Error("the refused command ran")
	}
}
