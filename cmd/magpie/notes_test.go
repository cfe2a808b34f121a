package main

import (
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// isNotes reports whether a request asks what of a turn is worth remembering.
func isNotes(q *modelsim.Request) bool { return strings.Contains(q.System, "从一轮问答里") }

// scriptNotes makes the agent find something worth remembering in the next turn that is examined.
func (r *rig) scriptNotes(steps ...modelsim.Step) {
	r.model.Script(modelsim.Rule{Match: isNotes, Times: 1, Steps: steps})
}

func (r *rig) memories(chatID string) []db.Memory {
	r.Helper()
	list, err := r.store().Memories().List(r.Context(), chat.FeishuChat(chatID))
	must(r, err)
	return list
}

// A fact from one conversation is known in the next one, without a request to remember it.
func TestFactsOfATurnBecomeMemories(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Memory.Capture = true })
	r.scriptNotes(modelsim.Fail(403, "permission_error", "no"))
	r.ask("数到 3，再从 3 数到 1")
	r.awaitLog("memories of the turn lost")

	hold := make(chan struct{})
	const note = "发布日 | 用户的团队总是在星期二发布。 | release, Tuesday, 发布, 星期二"
	r.scriptNotes(modelsim.Hold(hold), modelsim.Text(note))
	r.ask("我们总是在星期二发布")
	if got := r.ask("谢谢"); got == "" { // the last turn is still being examined
		t.Error("no answer")
	}
	close(hold)
	r.until("a memory", func() bool { return len(r.memories(r.chat)) == 1 })
	m := r.memories(r.chat)[0]
	if m.Title != "发布日" || m.Scope != db.UserScope || m.Of != r.user.OpenID || m.Proposed ||
		len(m.Keywords) != 4 || len(m.Sources) != 2 {
		t.Errorf("remembered %+v", m)
	}
	if got := r.ask("/memory why 1"); !strings.Contains(got, "鹊桥（回答后）") ||
		!strings.Contains(got, "我们总是在星期二发布") {
		t.Errorf("why: %q", got)
	}

	r.ask("/new")
	r.scriptNotes(modelsim.Text("- 发布日 | 用户的团队总是在星期二发布 | release\n- 书 | 用户喜欢《三体》。 | book"))
	r.ask("你知道我们什么时候发布吗？")
	if got := r.lastPrompt(); !strings.Contains(got, "发布日\n用户的团队总是在星期二发布。") {
		t.Errorf("a new conversation got %q", got)
	}
	r.until("another memory", func() bool { return len(r.memories(r.chat)) == 2 })
	if m := r.memories(r.chat)[1]; m.Title != "书" {
		t.Errorf("remembered twice: %+v", m)
	}
	list := r.model.Requests()
	if n := count(list, isNotes); n != 3 { // none for the thanks
		t.Errorf("%d turns were examined", n)
	}
	for _, q := range list {
		if isNotes(&q) && len(q.Tools) > 0 {
			t.Errorf("the request has tools: %v", q.Tools)
		}
	}
	if q := list[len(list)-1]; !isNotes(&q) || !strings.Contains(q.LastUser(), "发布日\n用户的团队总是在星期二发布。") {
		t.Errorf("the known memories are missing: %s", q.LastUser())
	}
}

// lastPrompt is the last prompt of a turn.
func (r *rig) lastPrompt() string {
	r.Helper()
	list := r.model.Requests()
	for i := len(list) - 1; i >= 0; i-- {
		if !isNotes(&list[i]) {
			return list[i].LastUser()
		}
	}
	r.Fatal("the model was not asked")
	return ""
}

// By default the model gets no requests but the questions.
func TestByDefaultNoTurnBecomesAMemory(t *testing.T) {
	r := newRig(t)
	r.ask("我们总是在星期二发布")
	r.ask("什么时候发布？")
	r.stop()
	if list := r.model.Requests(); len(list) != 2 {
		t.Errorf("%d requests", len(list))
	}
}

// Turns of groups are examined if configured. With approval, the memories that were found wait, and they are for
// everybody in the group.
func TestNotesOfAGroupWaitForApproval(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{}, oneProcessPerTurn, func(c *config.Config) {
		c.Memory.Capture, c.Memory.CaptureGroup, c.Memory.Approval = true, true, true
	})
	boss := r.sim.AddUser("老板")
	r.cfg.Access = access.Config{Owner: boss.OpenID, Allow: []string{"*"}}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	group := r.sim.Group("测试群", r.user, boss)
	ask := func(who feishusim.User, text string) string {
		return visibleText(r.answer(group, r.sim.Say(group, who, text, feishusim.Mention())))
	}
	r.scriptNotes(modelsim.Text("周会 | 周会在 kestrel 会议室开。 | meeting, 周会"))
	ask(r.user, "周会总是在 kestrel 会议室开")
	r.until("a memory", func() bool { return len(r.memories(group)) == 1 })
	if m := r.memories(group)[0]; !m.Proposed || m.Scope != db.ChatScope || m.Of != "" {
		t.Errorf("remembered %+v", m)
	}
	ask(boss, "/new")
	if ask(boss, "在哪里？"); strings.Contains(r.lastPrompt(), "kestrel") {
		t.Errorf("in the prompt too early: %q", r.lastPrompt())
	}
	ask(boss, "/memory approve 1")
	if ask(boss, "在哪里？"); !strings.Contains(r.lastPrompt(), "周会在 kestrel 会议室开。") {
		t.Errorf("got %q", r.lastPrompt())
	}
}
