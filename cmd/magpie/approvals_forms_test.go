package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/internal/claude"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

func TestTheAgentAsksQuestions(t *testing.T) {
	r := newRig(t)
	option := func(label string) map[string]string {
		return map[string]string{"label": label, "description": "关于" + label}
	}
	r.calls(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{
		map[string]any{"question": "用哪种颜色？", "header": "颜色", "multiSelect": false,
			"options": []any{option("红"), option("蓝")}},
		map[string]any{"question": "要哪些尺寸？", "header": "尺寸", "multiSelect": true,
			"options": []any{option("S"), option("L")}},
		map[string]any{"question": "叫什么名字？", "header": "名字", "multiSelect": false,
			"options": []any{option("甲"), option("乙")}},
	}}), modelsim.Text("知道了"))
	id := r.sim.Say(r.chat, r.user, "帮我定一件衣服")
	card := r.approval(r.chat, id, 1)
	for _, want := range []string{"用哪种颜色？", "关于蓝", "可多选", "叫什么名字？"} {
		if !strings.Contains(card.Text(), want) {
			t.Errorf("%s is missing in %q", want, card.Text())
		}
	}
	got := r.submitForm(card, doAllow, map[string]any{"choice_0": "1"})
	if !strings.Contains(got, "请先回答：要哪些尺寸？") {
		t.Errorf("got %q", got)
	}
	got = r.submitForm(card, doAllow, map[string]any{"choice_0": "9", "choice_1": []any{"0"}, "words_2": "x"})
	if !strings.Contains(got, "已失效") {
		t.Errorf("got %q", got)
	}
	got = r.submitForm(card, doAllow, map[string]any{"choice_0": "1", "choice_1": []any{"0", "1"}, "words_2": "小白"})
	if !confirmed(got, "已提交") {
		t.Errorf("got %q", got)
	}
	if got := visibleText(r.turnDone(r.chat, id)); got != "知道了" {
		t.Errorf("answer %q", got)
	}
	r.closed(card, "小明 已回答 · 蓝 · S, L · 小白")
	for _, want := range []string{`"用哪种颜色？"="蓝"`, `"要哪些尺寸？"="S, L"`, `"叫什么名字？"="小白"`} {
		if !r.agentRead(want) {
			t.Errorf("the agent did not get %s", want)
		}
	}
}

// pressOption answers a question with the button of an option.
func (r *rig) pressOption(m feishusim.Message, label string) {
	r.Helper()
	got, err := r.sim.Press(r.Context(), m.ID, r.user, r.optionOf(m, label))
	must(r, err)
	if !confirmed(string(got), "已提交") {
		r.Errorf("got %s", got)
	}
}

// optionOf is the value of the button with a label.
func (r *rig) optionOf(m feishusim.Message, label string) (value any) {
	r.Helper()
	for _, c := range gjson.GetBytes(m.Last().Card, `body.elements.#(element_id=="buttons").columns`).Array() {
		if b := c.Get("elements.0"); b.Get("text.content").String() == label {
			must(r, json.Unmarshal([]byte(b.Get("behaviors.0.value").Raw), &value))
			return value
		}
	}
	r.Fatalf("there is no button %s: %s", label, m.Last().Card)
	return nil
}

// One question with a few options is answered by one press, or in other words.
func TestAQuestionIsAnsweredByAButton(t *testing.T) {
	r := newRig(t)
	question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}})
	r.calls(question, modelsim.Text("知道了"))
	id := r.sim.Say(r.chat, r.user, "帮我定一件衣服")
	card := r.approval(r.chat, id, 1)
	forged, _ := r.optionOf(card, "蓝").(map[string]any)
	for _, n := range []string{"2", "-1"} {
		value := maps.Clone(forged)
		value["id"] = strings.TrimSuffix(value["id"].(string), "1") + n
		got, err := r.sim.Act(t.Context(), card.ID, r.user, feishusim.Action{Value: value, Forged: true})
		if must(t, err); !strings.Contains(string(got), "已失效") {
			t.Errorf("option %s: %s", n, got)
		}
	}
	r.pressOption(card, "蓝")
	r.turnDone(r.chat, id)
	r.closed(card, "小明 已回答 · 蓝")
	if !r.agentRead(`"用哪种颜色？"="蓝"`) {
		t.Error("the agent did not get the answer")
	}

	r.calls(question, modelsim.Text("也行"))
	id = r.sim.Say(r.chat, r.user, "再定一件")
	card = r.approval(r.chat, id, 1)
	if got := r.submitForm(card, doAllow, nil); !strings.Contains(got, "请先回答：用哪种颜色？") {
		t.Errorf("got %q", got)
	}
	r.submitForm(card, doAllow, map[string]any{"words_0": "绿"})
	r.turnDone(r.chat, id)
	r.closed(card, "小明 已回答 · 绿")
	if !r.agentRead(`"用哪种颜色？"="绿"`) {
		t.Error("the agent did not get the answer in other words")
	}
}

// colors is a question of the agent.
func colors() map[string]any {
	return map[string]any{"question": "用哪种颜色？", "header": "颜色", "multiSelect": false, "options": []any{
		map[string]string{"label": "红", "description": "热"}, map[string]string{"label": "蓝", "description": "冷"},
	}}
}

// A message that is written while the agent has a question answers it. It stays in the History, and is not asked again.
func TestAQuestionIsAnsweredByAMessage(t *testing.T) {
	for name, options := range map[string][]func(*config.Config){"scripted": nil, "the CLI": {realCLI(t)}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options...)
			question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}})
			r.calls(question, modelsim.Text("知道了"))
			id := r.sim.Say(r.chat, r.user, "帮我定一件衣服")
			card := r.approval(r.chat, id, 1)
			words := r.sim.Say(r.chat, r.user, "绿的也可以")
			if got := visibleText(r.turnDone(r.chat, id)); got != "知道了" {
				t.Errorf("answer %q", got)
			}
			r.closed(card, "小明 已回答 · 绿的也可以")
			r.await("the answer to be marked as read", func(v *feishusim.View) bool {
				m, _ := v.Message(words)
				return slices.Equal(m.Reactions, []string{"DONE"})
			})
			if !r.agentRead(`"用哪种颜色？"="绿的也可以"`) {
				t.Error("the agent did not get the answer")
			}
			n := len(r.model.Requests())
			if got := r.ask("还有什么？"); got == "" || len(replies(r.sim.View(), r.chat, words)) != 0 {
				t.Errorf("%q; the answer was asked as a question, too", got)
			}
			for _, q := range r.model.Requests()[n:] {
				if strings.Contains(q.LastUser(), "绿的也可以") {
					t.Error("the answer was asked as a question, too")
				}
			}
		})
	}
}

// A reply to the card of a question answers it, also while something else waits for a decision. A reply to the other
// card does not.
func TestAReplyToAQuestionAnswersIt(t *testing.T) {
	r := newRig(t, realCLI(t))
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}}),
		modelsim.Tool("WebFetch", map[string]string{"url": "https://one.example/page", "prompt": "看看"}),
	}}, modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("知道了")}})
	id := r.sim.Say(r.chat, r.user, "帮我定一件衣服")
	question, other := r.approval(r.chat, id, 1), r.approval(r.chat, id, 2)
	if strings.Contains(question.Text(), "one.example") { // the order of the cards varies
		question, other = other, question
	}
	waits := r.sim.Say(r.chat, r.user, "紫", feishusim.ReplyTo(other.ID))
	r.sim.Say(r.chat, r.user, "绿", feishusim.ReplyTo(question.ID))
	r.closed(question, "小明 已回答 · 绿")
	r.refuse(other, "不用")
	r.turnDone(r.chat, id)
	if !r.agentRead(`"用哪种颜色？"="绿"`) || r.agentRead(`="紫"`) {
		t.Error("the agent did not get the answer, or what answers nothing")
	}
	r.answer(r.chat, waits)
}

// What cannot be the answer, or may mean something else, waits: a message of somebody else, even of an admin, or with
// several questions.
func TestAMessageThatAnswersNoQuestionWaits(t *testing.T) {
	several := []any{colors(), map[string]any{"question": "多大？", "header": "尺寸", "options": []any{}}}
	for name, tc := range map[string]struct {
		questions []any
		by        string // who writes; empty = who has asked
		text      string
	}{
		"several questions": {questions: several, text: "绿"},
		"somebody else":     {questions: []any{colors()}, by: "another member", text: "绿"},
		"an admin":          {questions: []any{colors()}, by: "an admin", text: "绿"},
		"too long":          {questions: []any{colors()}, text: strings.Repeat("绿", 2001)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			other := r.sim.AddUser("小红")
			group := r.sim.Group("测试群", r.user, other)
			question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": tc.questions})
			r.calls(question, modelsim.Text("知道了"))
			if tc.by == "an admin" {
				r.setAccess(access.Config{Allow: []string{"*"}, Admins: []string{other.OpenID}})
			}
			id := r.sim.Say(group, r.user, "帮我定一件衣服", feishusim.Mention())
			card := r.approval(group, id, 1)
			who := r.user
			if tc.by != "" {
				who = other
			}
			words := r.sim.Say(group, who, tc.text, feishusim.Mention())
			r.awaitReceived(words)
			r.submitForm(card, doAllow, map[string]any{"words_0": "蓝", "words_1": "大"})
			r.turnDone(group, id)
			r.closed(card, "小明 已回答 · 蓝")
			r.answer(group, words)
		})
	}
}

// Several tools may ask at the same time. Each has its own card, and they can be answered in any order.
func TestTwoThingsAreAskedAtOnce(t *testing.T) {
	r := newRig(t, realCLI(t))
	fetch := func(site string) modelsim.Step {
		return modelsim.Tool("WebFetch", map[string]string{"url": "https://" + site + "/page", "prompt": "看看"})
	}
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{fetch("one.example"), fetch("two.example")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("那就算了")}})
	id := r.sim.Say(r.chat, r.user, "看看这两个网页")
	first, second := r.approval(r.chat, id, 1), r.approval(r.chat, id, 2)
	if strings.Contains(second.Text(), "one.example") { // the order of the cards varies
		first, second = second, first
	}
	if !strings.Contains(first.Text(), "https://one.example/page") ||
		!strings.Contains(second.Text(), "网页访问（`two.example`）") {
		t.Errorf("asked %q and %q", first.Text(), second.Text())
	}
	r.refuse(second, "不要第二个")
	r.closed(second, "已拒绝")
	r.await("a turn that waits for the remaining request", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 1 && running(list[0]) && strings.Contains(list[0].Text(), "等你确认")
	})
	r.refuse(first, "也不要第一个")
	r.turnDone(r.chat, id)
	r.closed(first, "已拒绝")
	if !r.agentRead("They say: 不要第二个") || !r.agentRead("They say: 也不要第一个") {
		t.Error("the agent did not get the reason")
	}
}

// A turn that waits for an approval does not occupy a slot that other chats need.
func TestAWaitingChatDoesNotBlockOthers(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.MaxProcesses = 1 })
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	if got := visibleText(r.answer(other, r.sim.Say(other, red, "数到 3"))); got != "1 2 3" {
		t.Errorf("the other chat got %q", got)
	}
	r.press(card, doAllow)
	r.turnDone(r.chat, id)
	if r.project("out.txt") == "" {
		t.Error("the command did not run")
	}
}

func TestAPlanIsApproved(t *testing.T) {
	r := newRig(t, realCLI(t))
	if got := r.ask("/mode plan"); !strings.Contains(got, "plan") {
		t.Errorf("/mode: %q", got)
	}
	plan := func(text string) modelsim.Step {
		return modelsim.Tool(claude.PlanTool, map[string]string{"plan": text})
	}
	r.calls(plan("1. 先这样"), plan("1. 改成那样"), bash(appendLine("out.txt")), modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "做个计划")
	first := r.approval(r.chat, id, 1)
	if got := first.Text(); !strings.Contains(got, "先这样") || !strings.Contains(got, "批准后才会动手") {
		t.Errorf("the card asks %q", got)
	}
	if got := r.refuse(first, "不要动数据库"); !confirmed(got, "继续规划") {
		t.Errorf("got %q", got)
	}
	second := r.approval(r.chat, id, 2)
	r.closed(first, "要求继续规划 · 说明：不要动数据库")
	if !r.agentRead("They say: 不要动数据库") {
		t.Error("the agent did not get the change request")
	}
	r.press(second, doAllow)
	command := r.approval(r.chat, id, 3) // approving a plan does not approve its steps
	r.press(command, doAllow)
	r.turnDone(r.chat, id)
	r.closed(second, "小明 已批准计划")
	if r.project("out.txt") == "" {
		t.Error("the command did not run")
	}
}
