package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// A reaction on the question shows at once that it is being answered, and at the end how that went.
func TestReactionsShowTheStateOfAQuestion(t *testing.T) {
	r := newRig(t)
	goOn := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("等等，"), modelsim.Hold(goOn), modelsim.Text("好了。"),
	}})
	id := r.sim.Say(r.chat, r.user, "做点什么")
	shows := func(want string) {
		t.Helper()
		r.await(want+" on the question", func(v *feishusim.View) bool {
			m, _ := v.Message(id)
			return slices.Equal(m.Reactions, []string{want})
		})
	}
	shows("Typing")
	close(goOn)
	r.answer(r.chat, id)
	shows("DONE")
}

// The card shows the tools with their results, and the turn's usage.
func TestTheCardShowsToolsAndUsage(t *testing.T) {
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.AllowedTools = []string{"Bash"} })
	r.ask("你好")
	r.model.Script(
		modelsim.Rule{Match: doortest.AfterTool, Steps: []modelsim.Step{modelsim.Text("数过了。")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Thinking("I should count."),
			modelsim.Tool("Bash", map[string]string{"command": "echo one; echo two", "description": "count"}),
		}})
	m := r.answer(r.chat, r.sim.Say(r.chat, r.user, "数一下"))
	text := m.Text()
	for _, want := range []string{
		"1 步 · 命令", "✓ **命令** `echo one; echo two`", "one\ntwo", "思考过程", "I should count.", "数过了。",
		"token", "上下文已用", "会话进行中",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the card does not show %q: %s", want, text)
		}
	}
	var headers []string // in the order of appearance
	for _, s := range m.States {
		head := gjson.GetBytes(s.Card, "header.template").String() + " " +
			gjson.GetBytes(s.Card, "header.title.content").String()
		if !slices.Contains(headers, head) {
			headers = append(headers, head)
		}
	}
	if want := []string{"blue 进行中", "green 已完成"}; !slices.Equal(headers, want) {
		t.Errorf("headers %q, want %q", headers, want)
	}
	if visibleText(m) != "数过了。" {
		t.Errorf("answer %q", visibleText(m))
	}
}

// A button continues a stopped answer, on behalf of the person who presses it.
func TestAStoppedAnswerGoesOnByAButton(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	defer close(hold)
	r.model.Script(
		modelsim.Rule{
			Match: asksFor("继续"),
			Steps: []modelsim.Step{modelsim.Text("第二。")},
		},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("第一，"), modelsim.Hold(hold)}})
	id := r.sim.Say(r.chat, r.user, "数到二")
	r.shows(r.chat, id, "第一")
	r.ask("/stop")
	stopped := r.answer(r.chat, id)
	if _, err := r.sim.Press(t.Context(), stopped.ID, r.user, buttonOf(t, stopped)); err != nil {
		t.Fatal(err)
	}
	if got := visibleText(r.answer(r.chat, stopped.ID)); got != "第二。" {
		t.Errorf("answer %q", got)
	}
	r.await("no reaction on the question", func(v *feishusim.View) bool {
		m, _ := v.Message(id)
		return len(m.Reactions) == 0
	})
}
