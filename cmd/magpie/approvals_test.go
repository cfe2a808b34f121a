package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/contextmgr/redact"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// The actions of an approval's buttons.
const (
	doAllow   = "allow"
	doAlways  = "always"
	doRefuse  = "refuse"
	doExplain = "explain"
)

// calls makes the agent take these steps one after another.
func (r *rig) calls(steps ...modelsim.Step) {
	rules := make([]modelsim.Rule, 0, len(steps))
	for _, s := range steps {
		rules = append(rules, modelsim.Rule{Times: 1, Steps: []modelsim.Step{s}})
	}
	r.model.Script(rules...)
}

func bash(command string) modelsim.Step {
	return modelsim.Tool("Bash", map[string]string{"command": command, "description": "试一试"})
}

// appendLine is a command that adds a line to a file of the project each time it runs.
func appendLine(file string) string { return "echo 'ran <b> & `x`' >> " + file }

// script is a command that adds a line to a file of the project each time it runs, and that has a unique beginning.
func (r *rig) script(file string) string {
	r.Helper()
	must(r, os.WriteFile(r.inProject("ran.sh"), []byte("echo ran >> \"$1\"\n"), 0o600))
	return "sh ran.sh " + file
}

// project reads a file of the project; a missing file is empty.
func (r *rig) project(name string) string {
	r.Helper()
	data, err := os.ReadFile(r.inProject(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	return string(data)
}

// approval waits for the n-th card, from 1, that asks for approval in answer to a message.
func (r *rig) approval(chatID, messageID string, n int) feishusim.Message {
	r.Helper()
	var got feishusim.Message
	r.await("the approval's card", func(v *feishusim.View) bool {
		list := slices.DeleteFunc(replies(v, chatID, messageID), func(m feishusim.Message) bool { return !asks(m) })
		if len(list) < n || list[n-1].Last().Streaming {
			return false
		}
		got = list[n-1]
		return offers(got, doRefuse)
	})
	return got
}

// asks reports whether a card is that of an approval, open or settled. It may be posted before the card of its turn.
func asks(m feishusim.Message) bool {
	return slices.ContainsFunc(m.States, func(s feishusim.State) bool {
		return strings.Contains(string(s.Card), `"do":"`+doRefuse)
	})
}

// ofTurns are the cards of turns that answer a message.
func ofTurns(v *feishusim.View, chatID, messageID string) []feishusim.Message {
	return slices.DeleteFunc(replies(v, chatID, messageID), asks)
}

// closed waits until an approval's card shows its outcome.
func (r *rig) closed(m feishusim.Message, want string) feishusim.Message {
	r.Helper()
	var got feishusim.Message
	r.await("the card to say "+want, func(v *feishusim.View) bool {
		for _, now := range v.Messages(m.ChatID) {
			if now.ID == m.ID {
				got = now
			}
		}
		return strings.Contains(got.Text(), want)
	})
	if hasButtons(got) {
		r.Errorf("a settled card has buttons: %s", got.Last().Card)
	}
	return got
}

// submitForm presses a button of a card's form.
func (r *rig) submitForm(m feishusim.Message, do string, values map[string]any) string {
	r.Helper()
	got, err := r.sim.Act(r.Context(), m.ID, r.user, feishusim.Action{Value: r.button(m, do), FormValue: values})
	must(r, err)
	return string(got)
}

// refuse denies a request with a reason. A press of the button for it shows the field first.
func (r *rig) refuse(m feishusim.Message, why string) string {
	r.Helper()
	r.press(m, doExplain)
	r.await("the field for the reason", func(v *feishusim.View) bool {
		i := slices.IndexFunc(v.Messages(m.ChatID), func(now feishusim.Message) bool { return now.ID == m.ID })
		m = v.Messages(m.ChatID)[i]
		return gjson.GetBytes(m.Last().Card, `body.elements.#(tag=="form").elements.#(name=="why")`).Exists()
	})
	if offers(m, doExplain) || !offers(m, doAllow) {
		r.Errorf("a card with the field for the reason offers %s", m.Last().Card)
	}
	return r.submitForm(m, doRefuse, map[string]any{"why": why})
}

// confirmed reports whether the toast confirms the decision, or says that it is being processed: storing it may take
// longer than the platform waits.
func confirmed(got, want string) bool {
	return strings.Contains(got, want) || strings.Contains(got, "收到，正在处理")
}

// turnDone waits until the card of the first turn that answers a message is complete, and returns its last message:
// text after a decision has a message of its own.
func (r *rig) turnDone(chatID, messageID string) feishusim.Message {
	r.Helper()
	var got feishusim.Message
	r.await("the end of the turn", func(v *feishusim.View) bool {
		for _, m := range ofTurns(v, chatID, messageID) {
			if m.Last().Streaming || running(m) {
				return false
			} else if !goesOnBelow(m) {
				got = m
				return true
			}
		}
		return false
	})
	return got
}

// goesOnBelow reports whether a turn continues in another message.
func goesOnBelow(m feishusim.Message) bool { return strings.Contains(m.Text(), "下面继续") }

// agentRead reports whether a text is in the agent's last request.
func (r *rig) agentRead(text string) bool {
	req := r.lastRequest()
	return strings.Contains(req.AllText(), text)
}

func TestAnAllowedCommandRunsOnceAsItWasShown(t *testing.T) {
	r := newRig(t, realCLI(t))
	command := appendLine("out.txt")
	r.calls(bash(command), modelsim.Text("做完了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	if got := card.Text(); !strings.Contains(got, command) || !strings.Contains(got, "试一试") ||
		!strings.Contains(got, "助手想运行命令") {
		t.Errorf("the card asks %q", got)
	}
	var tags []string // top to bottom
	for _, el := range gjson.GetBytes(card.Last().Card, "body.elements.#.tag").Array() {
		tags = append(tags, el.String())
	}
	want := []string{"markdown", "markdown", "column_set", "collapsible_panel"}
	head := gjson.GetBytes(card.Last().Card, "header.template").String()
	if head != "orange" || !slices.Equal(tags, want) || !strings.Contains(string(card.Last().Card), "primary_filled") {
		t.Errorf("%s header, %q", head, tags)
	}
	r.await("the turn to wait", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 1 && strings.Contains(list[0].Text(), "等你确认")
	})
	if r.project("out.txt") != "" {
		t.Fatal("the command ran before it was allowed")
	}
	value := r.button(card, doAllow)
	if got := r.press(card, doAllow); !confirmed(got, "已允许") {
		t.Errorf("got %q", got)
	}
	if got := visibleText(r.turnDone(r.chat, id)); got != "做完了" {
		t.Errorf("answer %q", got)
	}
	if got := r.closed(card, "小明 已允许").Text(); !strings.Contains(got, command) {
		t.Errorf("afterwards the card says %q", got)
	}
	for range 2 {
		got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
		if err != nil || !strings.Contains(string(got), "已经处理过") {
			t.Errorf("pressed again: %s, %v", got, err)
		}
	}
	if got := r.project("out.txt"); got != "ran <b> & `x`\n" {
		t.Errorf("the command left %q", got)
	}
}

// The agent's text after a decision is the newest message of the chat. No text is repeated, and decisions without text
// in between take no further messages.
func TestTheAnswerStandsBelowTheDecision(t *testing.T) {
	r := newRig(t)
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("先看一下。"), bash(appendLine("a.txt"))}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("b.txt"))}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("做完了。")}})
	id := r.sim.Say(r.chat, r.user, "动手吧")
	for n := range 2 {
		card := r.approval(r.chat, id, n+1)
		r.press(card, doAllow)
		r.closed(card, "会出现在下面")
	}
	r.turnDone(r.chat, id)
	list := r.sim.View().Messages(r.chat)
	list = list[slices.IndexFunc(list, func(m feishusim.Message) bool { return m.ID == id })+1:]
	if len(list) != 4 || visibleText(list[3]) != "做完了。" {
		t.Fatalf("%d messages, the last one says %q", len(list), list[len(list)-1].Text())
	}
	if got := list[0].Text(); !goesOnBelow(list[0]) || !strings.Contains(got, "先看一下") || hasButtons(list[0]) {
		t.Errorf("before the decisions: %q", got)
	}
	for _, m := range list[:3] {
		if strings.Contains(m.Text(), "做完了") {
			t.Errorf("the answer is repeated before the decisions: %q", m.Text())
		}
	}
}

func TestAnAdminDecidesToo(t *testing.T) {
	r := newRig(t)
	boss := r.sim.AddUser("老板")
	r.setAccess(access.Config{Allow: []string{"*"}, Admins: []string{boss.OpenID}})
	group := r.sim.Group("测试群", r.user, boss)
	r.calls(bash(appendLine("a.txt")), modelsim.Text("完了"))
	id := r.sim.Say(group, r.user, "动手吧", feishusim.Mention())
	card := r.approval(group, id, 1)
	got, err := r.sim.Press(t.Context(), card.ID, boss, r.button(card, doAllow))
	if err != nil || !confirmed(string(got), "已允许") {
		t.Errorf("%s, %v", got, err)
	}
	r.turnDone(group, id)
	r.closed(card, "老板 已允许")
	if r.project("a.txt") == "" {
		t.Error("the command did not run")
	}
}

// "Always" covers exactly this command in this chat, also after a restart, until it is revoked.
func TestAlwaysInThisChat(t *testing.T) {
	r := newRig(t)
	command := r.script("out.txt")
	ran := func(times int) {
		t.Helper()
		if got := strings.Count(r.project("out.txt"), "\n"); got != times {
			t.Errorf("the command ran %d times, want %d", got, times)
		}
	}
	again := func(chatID string) string {
		r.calls(bash(command), modelsim.Text("完了"))
		return r.sim.Say(chatID, r.user, "动手吧")
	}
	id := again(r.chat)
	card := r.approval(r.chat, id, 1)
	if !strings.Contains(card.Text(), "里的这一条命令") {
		t.Errorf("the card says %q", card.Text())
	}
	r.press(card, doAlways)
	r.turnDone(r.chat, id)
	r.closed(card, "以后在本聊天总是允许")
	ran(1)

	r.stop()
	r.start()
	id = again(r.chat)
	r.turnDone(r.chat, id)
	ran(2)
	if list := replies(r.sim.View(), r.chat, id); len(list) != 1 {
		t.Errorf("asked although it is always allowed: %d cards", len(list))
	}

	elsewhere := r.sim.PrivateChat(r.sim.AddUser("小红"))
	id = again(elsewhere)
	r.press(r.approval(elsewhere, id, 1), doRefuse)
	r.turnDone(elsewhere, id)
	ran(2)

	if got := r.ask("/allow"); !strings.Contains(got, "1. ") || !strings.Contains(got, "`sh ran.sh out.txt`") ||
		!strings.Contains(got, "小明") {
		t.Errorf("the list says %q", got)
	}
	if got := r.ask("/授权 撤销 7"); !strings.Contains(got, "没有第 7 条") {
		t.Errorf("got %q", got)
	}
	if got := r.ask("/授权 撤销 1"); !strings.Contains(got, "已撤销第 1 条") {
		t.Errorf("got %q", got)
	}
	if got := r.ask("/allow"); !strings.Contains(got, "每次都会先问") {
		t.Errorf("the list says %q", got)
	}
	id = again(r.chat)
	r.press(r.approval(r.chat, id, 1), doRefuse)
	r.turnDone(r.chat, id)
	ran(2)
}

func TestAFileToolIsAllowedWithinTheProject(t *testing.T) {
	r := newRig(t)
	write := func(name, content string) modelsim.Step {
		return modelsim.Tool("Write", map[string]string{"file_path": r.inProject(name), "content": content})
	}
	content := "一\n```\n<at id=all></at> \u202ex\n"
	r.calls(
		write("a.txt", content), write("b.txt", "二\n"), write(".claude/settings.json", "{}"), modelsim.Text("完了"),
	)
	id := r.sim.Say(r.chat, r.user, "写几个文件")
	card := r.approval(r.chat, id, 1)
	if got := card.Text(); !strings.Contains(got, "写入文件") || !strings.Contains(got, "a.txt") ||
		!strings.Contains(got, "⟨U+202E⟩x") || strings.Contains(got, r.cfg.Claude.Project) {
		t.Errorf("the card asks %q", got)
	}
	r.press(card, doAlways)
	guarded := r.approval(r.chat, id, 2)
	if got := guarded.Text(); !strings.Contains(got, "settings.json") ||
		strings.Contains(string(guarded.Last().Card), `"do":"always"`) {
		t.Errorf("the second card asks %q", got)
	}
	r.press(guarded, doRefuse)
	r.turnDone(r.chat, id)
	if r.project("a.txt") != content || r.project("b.txt") != "二\n" || r.project(".claude/settings.json") != "" {
		t.Errorf("files %q, %q, %q", r.project("a.txt"), r.project("b.txt"), r.project(".claude/settings.json"))
	}
}

func TestARefusalGivesItsReason(t *testing.T) {
	r := newRig(t)
	r.calls(bash(appendLine("out.txt")), modelsim.Text("好的"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	if got := r.refuse(card, "先跑测试"); !confirmed(got, "已拒绝") {
		t.Errorf("got %q", got)
	}
	if got := r.turnDone(r.chat, id).Text(); !strings.Contains(got, "好的") {
		t.Errorf("answer %q", got)
	}
	r.closed(card, "小明 已拒绝")
	if r.project("out.txt") != "" || !r.agentRead("They say: 先跑测试") {
		t.Errorf("ran %q, or the agent did not get the reason", r.project("out.txt"))
	}
}

// A login code that somebody enters as the reason of a refusal is masked, on the card and for the agent.
func TestALoginCodeIsNotPassedOnAsAReason(t *testing.T) {
	const code = "Wr0ngCanaryOfAnybody-01#Wr0ngCanaryOfAnybody_02"
	r := newRig(t)
	r.calls(bash(appendLine("out.txt")), modelsim.Text("好的"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	r.refuse(card, code)
	r.turnDone(r.chat, id)
	got := r.closed(card, "小明 已拒绝").Text()
	if !strings.Contains(got, "[login code]") || !r.agentRead("They say: [login code]") {
		t.Errorf("the card says %q", got)
	}
	r.stop()
	all := r.everything()
	for _, req := range r.model.Requests() {
		all += string(req.Body)
	}
	if strings.Contains(all, "Wr0ngCanary") {
		t.Error("the code was stored or sent to the model")
	}
}

// A plan with more tables than fit a card is shown on several cards. The last one has the buttons.
func TestAPlanOfSeveralCards(t *testing.T) {
	t.Parallel()
	sim := startSim(t)
	client := clientOf(sim)
	person := sim.AddUser("小明")
	room := sim.PrivateChat(person)
	asked := sim.Say(room, person, "拆开")
	question := chat.Ref{Key: chat.FeishuChat(room), ID: asked}
	_, err := client.Post(t.Context(), question, golden(t, "69-asked-plan-of-several-pages"), "plan")
	must(t, err)
	list := replies(sim.View(), room, asked)
	if len(list) < 3 {
		t.Fatalf("%d cards", len(list))
	}
	all := ""
	for i, m := range list {
		all += m.Text()
		if offers(m, doAllow) != (i == len(list)-1) {
			t.Errorf("card %d of %d offers to allow: %v", i+1, len(list), offers(m, doAllow))
		}
	}
	for n := range 7 {
		if step := fmt.Sprintf("step%d.go", n+1); !strings.Contains(all, step) {
			t.Errorf("%s is not shown", step)
		}
	}
	for _, v := range sim.Violations() {
		t.Errorf("rule of the platform broken: %s: %s", v.Rule, v.Detail)
	}
}

func TestAnApprovalTimesOut(t *testing.T) {
	r := newRig(t, func(c *config.Config) {
		c.Access.ApprovalTimeout.Duration = 2 * time.Second
		c.Claude.Silence.Duration = 20 * time.Second
	})
	r.calls(bash(appendLine("out.txt")), modelsim.Text("那就算了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	var card feishusim.Message
	r.await("the expired approval's card", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		i := slices.IndexFunc(list, func(m feishusim.Message) bool {
			return strings.Contains(m.Text(), "超时无人处理")
		})
		if i >= 0 {
			card = list[i]
		}
		return i >= 0
	})
	r.closed(card, "超时无人处理")
	if got := r.turnDone(r.chat, id).Text(); !strings.Contains(got, "那就算了") {
		t.Errorf("answer %q", got)
	}
	if r.project("out.txt") != "" || !r.agentRead("nobody has given it in time") {
		t.Error("the command ran, or the agent was not told")
	}
}

func TestAStoppedTurnAsksNothingAnyMore(t *testing.T) {
	r := newRig(t)
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	value := r.button(card, doAllow)
	r.sim.Say(r.chat, r.user, "/stop")
	r.closed(card, "回答已结束")
	r.turnDone(r.chat, id)
	got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
	if err != nil || !strings.Contains(string(got), "已失效") {
		t.Errorf("%s, %v", got, err)
	}
	if r.project("out.txt") != "" {
		t.Error("the command ran")
	}
}

// With ask = "everything" a read-only command needs an approval, but not the program's own tools.
func TestEverythingIsAskedInTheChat(t *testing.T) {
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.Ask = "everything" })
	search := modelsim.Tool("mcp__"+agenttools.ServerName+"__search_memory", map[string]string{"query": "x"})
	r.calls(search, bash("ls -la"), modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	if got := card.Text(); !strings.Contains(got, "ls -la") {
		t.Errorf("the card asks %q", got)
	}
	r.press(card, doAllow)
	if got := visibleText(r.turnDone(r.chat, id)); got != "完了" {
		t.Errorf("answer %q", got)
	}
	if list := replies(r.sim.View(), r.chat, id); len(list) != 3 {
		t.Errorf("%d cards, want an approval between two of the answer", len(list))
	}
}

// What the policy or the mode allows needs no approval.
func TestCallsThatPolicyAllowsNeedNoApproval(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode  string
		rules []string
		tool  string
	}{
		"acceptEdits":  {"acceptEdits", nil, "Write"},
		"allowed tool": {"default", []string{"Bash(echo *)"}, "Bash"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, realCLI(t), func(c *config.Config) {
				c.Claude.PermissionMode, c.Claude.AllowedTools = tc.mode, tc.rules
			})
			step := modelsim.Tool("Write", map[string]string{
				"file_path": r.inProject("out.txt"), "content": "x",
			})
			if tc.tool == "Bash" {
				step = bash("echo hello")
			}
			r.calls(step, modelsim.Text("完了"))
			if got := r.ask("动手吧"); got != "完了" {
				t.Errorf("answer %q", got)
			}
		})
	}
}

// A change of nearly 60 KB is shown completely, on as many cards as it takes. The last one has the buttons; afterwards
// none has any.
func TestALongChangeIsShownWhole(t *testing.T) {
	r := newRig(t)
	var content strings.Builder
	for n := 1; content.Len() < 55_000; n++ { // each line is shown with a prefix
		fmt.Fprintf(&content, "%04d %s\n", n, strings.Repeat("x", 40))
	}
	r.calls(
		modelsim.Tool("Write", map[string]string{
			"file_path": r.inProject("long.txt"), "content": content.String(),
		}),
		modelsim.Text("写好了"),
	)
	id := r.sim.Say(r.chat, r.user, "写一个长文件")
	var cards []feishusim.Message
	r.await("the approval's cards", func(v *feishusim.View) bool {
		cards = slices.DeleteFunc(replies(v, r.chat, id), running) // except for the turn's card
		return len(cards) > 0 && offers(cards[len(cards)-1], doAllow)
	})
	if len(cards) < 3 {
		t.Fatalf("%d cards", len(cards))
	}
	var shown strings.Builder
	for i, c := range cards {
		shown.WriteString(c.Text() + "\n")
		if hasButtons(c) != (i == len(cards)-1) {
			t.Errorf("buttons of card %d of %d: %v", i+1, len(cards), hasButtons(c))
		}
	}
	rest := shown.String()
	for line := range strings.Lines(content.String()) {
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			t.Fatalf("%q is not shown in its place", line)
		}
		rest = after
	}
	if r.project("long.txt") != "" {
		t.Fatal("the file was written before it was allowed")
	}
	last := cards[len(cards)-1]
	if got := r.press(last, doAllow); !confirmed(got, "已允许") {
		t.Errorf("got %q", got)
	}
	r.turnDone(r.chat, id)
	r.closed(last, "小明 已允许")
	if r.project("long.txt") != content.String() {
		t.Error("the written content is not what was shown")
	}
	for _, c := range cards {
		if now, ok := r.sim.Message(c.ID); !ok || hasButtons(now) || now.Last().Streaming {
			t.Errorf("afterwards a card says %s", now.Last().Card)
		}
	}
}

// An edit makes exactly the change on its card, once.
func TestAnAllowedEditMakesTheChangeThatWasShown(t *testing.T) {
	r := newRig(t)
	path := r.inProject("plan.txt")
	before := "一\n二 `x` **b**\n三\n二\n"
	must(t, os.WriteFile(path, []byte(before), 0o600))
	r.calls(
		modelsim.Tool("Read", map[string]string{"file_path": path}),
		modelsim.Tool("Edit", map[string]string{
			"file_path": path, "old_string": "二 `x` **b**\n三", "new_string": "二 ```\n\t<b>贰</b>\n叁",
		}),
		modelsim.Text("改好了"),
	)
	id := r.sim.Say(r.chat, r.user, "改一处")
	card := r.approval(r.chat, id, 1)
	for _, want := range []string{"修改文件", "plan.txt", "- 二 `x` **b**\n- 三\n+ 二 ```\n+ \t<b>贰</b>\n+ 叁\n"} {
		if !strings.Contains(card.Text(), want) {
			t.Errorf("%q is missing in %q", want, card.Text())
		}
	}
	if r.project("plan.txt") != before {
		t.Fatal("the file was changed before it was allowed")
	}
	value := r.button(card, doAllow)
	r.press(card, doAllow)
	if got := visibleText(r.turnDone(r.chat, id)); got != "改好了" {
		t.Errorf("answer %q", got)
	}
	r.closed(card, "小明 已允许")
	got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
	if err != nil || !strings.Contains(string(got), "已经处理过") {
		t.Errorf("pressed again: %s, %v", got, err)
	}
	if got := r.project("plan.txt"); got != "一\n二 ```\n\t<b>贰</b>\n叁\n二\n" {
		t.Errorf("the edit left %q", got)
	}
}

// A tool call that contains one of the program's own secrets cannot be shown unchanged, so it is refused: without an
// approval, whatever the rules allow, and without storing it.
func TestAToolCallWithASecretIsRefused(t *testing.T) {
	const known = "canary-known-0123456789"
	r := newRig(t, func(c *config.Config) {
		c.Claude.Environ = append(c.Claude.Environ, "MAGPIE_FEISHU_APP_SECRET="+known)
		c.Log.Secrets = redact.NewKnown(c.Secrets())
	})
	write := func(name, content string) modelsim.Step {
		return modelsim.Tool("Write", map[string]string{
			"file_path": r.inProject(name), "content": content,
		})
	}
	r.calls(write("a.txt", "一"), write("b.txt", known), bash("echo "+known+" >> c.txt"), modelsim.Text("好的"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	r.press(r.approval(r.chat, id, 1), doAlways)
	r.turnDone(r.chat, id)
	if list := replies(r.sim.View(), r.chat, id); len(list) != 3 {
		t.Errorf("%d cards, want an approval between two of the answer", len(list))
	}
	if r.project("a.txt") != "一" || r.project("b.txt")+r.project("c.txt") != "" {
		t.Errorf("files %q, %q, %q", r.project("a.txt"), r.project("b.txt"), r.project("c.txt"))
	}
	if !r.agentRead("This holds a password or key") {
		t.Error("the agent did not get the reason")
	}

	r.calls(bash(appendLine("d.txt")), modelsim.Text("好的"))
	id = r.sim.Say(r.chat, r.user, "再来")
	card := r.approval(r.chat, id, 1)
	r.refuse(card, "不要用 "+known)
	r.turnDone(r.chat, id)
	r.closed(card, "说明：不要用 [REDACTED_SECRET]")
	r.stop()
	for _, m := range r.sim.Messages(r.chat) {
		for i, state := range m.States {
			if strings.Contains(string(state.Card), known) {
				t.Errorf("state %d of a card contains the secret", i)
			}
		}
	}
	if strings.Contains(r.logs.String(), known) {
		t.Error("the log has the secret")
	}
	r.inDataFolder([]string{known})
}
