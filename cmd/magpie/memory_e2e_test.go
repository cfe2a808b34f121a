package main

import (
	"regexp"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// promptMemories are the memories in the last prompt that reached the model.
func (r *rig) promptMemories() string {
	r.Helper()
	req := r.lastRequest()
	parsed, _, _ := readPrompt(req.LastUser())
	var texts []string
	for _, p := range parsed {
		if p.Part == contextmgr.Remembered {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "|")
}

// scriptTool makes the model call a tool of the bridge for a question that contains the words.
func (r *rig) scriptTool(words, tool string, input map[string]any) {
	r.model.Script(modelsim.Rule{
		Times: 1, Match: asksFor(words),
		Steps: []modelsim.Step{modelsim.Tool("mcp__magpie__"+tool, input)},
	})
}

func TestWhatAUserSaysIsRemembered(t *testing.T) {
	r := newRig(t)
	r.ask("你好")
	got := r.ask("/remember 发布总是在星期二")
	if !strings.Contains(got, "#1") || !strings.Contains(got, "发布总是在星期二") {
		t.Errorf("reply %q", got)
	}
	r.ask("说点别的")
	if got := r.promptMemories(); got != "发布总是在星期二\n发布总是在星期二" { // the title defaults to the first line
		t.Errorf("the running process got %q", got)
	}
	r.ask("再说点别的")
	if got := r.promptMemories(); got != "" {
		t.Errorf("it got them again: %q", got)
	}
	r.ask("/new")
	r.ask("什么时候发布？")
	if got := r.promptMemories(); !strings.Contains(got, "发布总是在星期二") {
		t.Errorf("a new conversation got %q", got)
	}
	if got := r.ask("/memory forget 1"); !strings.Contains(got, "#1") {
		t.Errorf("reply %q", got)
	}
	r.ask("/new")
	r.ask("什么时候发布？")
	if req := r.lastRequest(); strings.Contains(req.AllText(), "星期二") {
		t.Errorf("the forgotten memory is still known: %s", req.AllText())
	}
}

func TestTheAgentRemembersAndSearches(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	r.ask("我把备用钥匙放在蓝色抽屉里了")
	r.scriptTool("请记住", "remember", map[string]any{
		"title": "颜色", "text": "小明最喜欢的颜色是靛蓝。", "keywords": []string{"color", "颜色", "indigo"},
	})
	if got := r.ask("请记住我最喜欢靛蓝"); !strings.Contains(got, "Remembered as number 1.") {
		t.Errorf("the tool returned %q", got)
	}
	r.scriptTool("钥匙在哪", "search_history", map[string]any{"query": "备用 钥匙", "limit": 2})
	got := r.ask("钥匙在哪？")
	if !strings.Contains(got, "小明:") || !strings.Contains(got, "蓝色抽屉") ||
		!regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`).MatchString(got) {
		t.Errorf("the search in the History returned %q", got)
	}
	if got := r.promptMemories(); got != "颜色\n小明最喜欢的颜色是靛蓝。" {
		t.Errorf("the next prompt has %q", got)
	}
	r.scriptTool("which color", "search_memory", map[string]any{"query": "favourite color"})
	if got := r.ask("which color?"); !strings.Contains(got, "[1] 颜色") || !strings.Contains(got, "靛蓝") {
		t.Errorf("the search in the Memory returned %q", got)
	}
	list := r.memories(r.chat)
	if len(list) != 1 || list[0].Scope != db.UserScope || list[0].Of != r.user.OpenID ||
		len(list[0].Sources) != 1 || len(list[0].Keywords) != 3 {
		t.Errorf("stored %+v", list)
	}
	if got := r.ask("/memory why 1"); !strings.Contains(got, "助手（回答时）") ||
		!strings.Contains(got, "请记住我最喜欢靛蓝") {
		t.Errorf("why: %q", got)
	}
	if denied := r.transcript(); strings.Contains(denied, "已拒绝：") {
		t.Errorf("a tool needed a permission:\n%s", denied)
	}
}

// Two chats search for the same words: each only finds its own messages.
func TestTheToolsOfOneChatKnowNothingOfAnother(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	askOther := func(text string) string { return visibleText(r.answer(other, r.sim.Say(other, red, text))) }
	r.ask("密码本在 kestrel 的柜子里")
	r.ask("/remember 密码本的编号是 kestrel-17")
	askOther("密码本在 heron 的柜子里")
	askOther("/remember 密码本的编号是 heron-42")
	for _, tool := range []string{"search_history", "search_memory"} {
		r.scriptTool("密码本？"+tool, tool, map[string]any{"query": "密码本 kestrel heron 柜子 编号"})
		if got := r.ask("密码本？" + tool); !strings.Contains(got, "kestrel") || strings.Contains(got, "heron") {
			t.Errorf("%s: %q", tool, got)
		}
		r.scriptTool("密码本？"+tool, tool, map[string]any{"query": "密码本 kestrel heron 柜子 编号"})
		if got := askOther("密码本？" + tool); !strings.Contains(got, "heron") || strings.Contains(got, "kestrel") {
			t.Errorf("%s in the other chat: %q", tool, got)
		}
	}
	for _, ask := range []string{"/memory", "/memory show 1", "/memory why 1"} {
		if got := askOther(ask); strings.Contains(got, "kestrel") || !strings.Contains(got, "heron") {
			t.Errorf("%s: %q", ask, got)
		}
	}
}

// With approval, memories that the agent or members propose are in no prompt until an admin approves them.
func TestProposedMemoriesWait(t *testing.T) {
	t.Parallel()
	var boss feishusim.User
	r := makeRig(t, feishusim.Config{}, oneProcessPerTurn)
	boss = r.sim.AddUser("老板")
	r.cfg.Memory.Approval = true
	r.cfg.Access = access.Config{Owner: boss.OpenID, Allow: []string{"*"}}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	group := r.sim.Group("测试群", r.user, boss)
	ask := func(who feishusim.User, text string) string {
		return visibleText(r.answer(group, r.sim.Say(group, who, text, feishusim.Mention())))
	}
	if got := ask(r.user, "/remember 周会在 kestrel 会议室"); !strings.Contains(got, "/memory 批准 1") {
		t.Errorf("reply to a member: %q", got)
	}
	r.scriptTool("记一下", "remember", map[string]any{
		"title": "咖啡", "text": "咖啡机坏了 heron", "keywords": []string{"coffee"},
	})
	if got := ask(r.user, "记一下"); !strings.Contains(got, "/memory approve 2") {
		t.Errorf("the tool returned %q", got)
	}
	if ask(boss, "周会在哪里"); strings.Contains(r.promptMemories(), "kestrel") ||
		strings.Contains(r.promptMemories(), "heron") {
		t.Errorf("in the prompt too early: %q", r.promptMemories())
	}
	r.scriptTool("找找", "search_memory", map[string]any{"query": "周会 咖啡 kestrel heron"})
	if got := ask(boss, "找找"); !strings.Contains(got, "Nothing like that") {
		t.Errorf("found too early: %q", got)
	}
	for _, order := range []string{"/memory approve 1", "/memory reject 2", "/memory edit 1 x", "/memory forget 1"} {
		if got := ask(r.user, order); !strings.Contains(got, "管理员") {
			t.Errorf("%s of a member: %q", order, got)
		}
	}
	if got := ask(r.user, "/memory"); !strings.Contains(got, "待批准") || !strings.Contains(got, "（2 条）") {
		t.Errorf("list %q", got)
	}
	ask(boss, "/memory approve 1")
	ask(boss, "/memory reject 2")
	if ask(r.user, "周会在哪里"); !strings.Contains(r.promptMemories(), "kestrel") ||
		strings.Contains(r.promptMemories(), "heron") {
		t.Errorf("got %q", r.promptMemories())
	}
	if got := ask(boss, "/memory approve 1"); !strings.Contains(got, "已经生效") {
		t.Errorf("approved again: %q", got)
	}
	if got := ask(boss, "/memory show 2"); !strings.Contains(got, "没有这条记忆") {
		t.Errorf("the rejected memory: %q", got)
	}
}

func TestWithoutToolsTheAgentHasNone(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Memory.Tools = false })
	r.ask("你好")
	for _, name := range r.lastRequest().Tools {
		if strings.HasPrefix(name, "mcp__magpie__") {
			t.Errorf("it has %s", name)
		}
	}
}
