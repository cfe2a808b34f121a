package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// A stop does not wait for decisions of people: for commands or questions, even if they are asked after the stop has
// started. A running turn still gets its time.
func TestAStopWaitsForNoDecision(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Shutdown.Duration = time.Hour })
	type asked struct {
		chat, id string
		card     feishusim.Message
	}
	var open []asked
	ask := func(step modelsim.Step) {
		t.Helper()
		user := r.sim.AddUser("小红")
		a := asked{chat: r.sim.PrivateChat(user)}
		r.calls(step)
		a.id = r.sim.Say(a.chat, user, "开始")
		a.card = r.approval(a.chat, a.id, 1)
		open = append(open, a)
	}
	ask(bash(appendLine("ran.txt")))
	ask(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{
		map[string]any{"question": "哪个？", "header": "选", "multiSelect": false, "options": []any{
			map[string]any{"label": "甲", "description": "一"}, map[string]any{"label": "乙", "description": "二"}}},
	}}))

	going := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("一"), modelsim.Hold(going), modelsim.Text("二"),
	}})
	answers := r.sim.Say(r.chat, r.user, "说点什么")
	r.shows(r.chat, answers, "一")
	late, hold := r.sim.AddUser("小蓝"), make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("等等"), modelsim.Hold(hold), bash(appendLine("late.txt")),
	}})
	lateChat := r.sim.PrivateChat(late)
	asks := r.sim.Say(lateChat, late, "再来")
	r.shows(lateChat, asks, "等等")

	stop, stopped := r.stop, make(chan struct{})
	go func() { defer close(stopped); stop() }()
	ended := func(chatID, id string) {
		t.Helper()
		r.await("the turn to be interrupted", func(v *feishusim.View) bool {
			list := ofTurns(v, chatID, id)
			return len(list) == 1 && strings.Contains(list[0].Text(), "还在等你确认") && offers(list[0], doContinue)
		})
	}
	for _, a := range open {
		ended(a.chat, a.id)
		r.await("the approval's card with its buttons", func(v *feishusim.View) bool {
			list := v.Messages(a.chat)
			i := slices.IndexFunc(list, func(m feishusim.Message) bool { return m.ID == a.card.ID })
			return offers(list[i], doRefuse)
		})
	}
	close(hold)
	ended(lateChat, asks)
	select {
	case <-stopped:
		t.Error("the program ended before the running turn")
	default:
	}
	close(going)
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("the program waits for people")
	}
	if got := visibleText(r.answer(r.chat, answers)); got != "一二" {
		t.Errorf("the running answer is %q", got)
	}
	if r.project("ran.txt")+r.project("late.txt") != "" {
		t.Error("a command ran without permission")
	}
}

// While an answer is being written, a bare "stop" in either language stops it. At any other time it is a question.
func TestStopInPlainWords(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"停", "停止。", "Stop!", " cancel "} {
		t.Run(words, func(t *testing.T) {
			r := newRig(t)
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
			id := r.sim.Say(r.chat, r.user, "说点什么")
			r.shows(r.chat, id, "说到一半")
			opts := []feishusim.SendOption(nil)
			if words == "停" { // a reply to the running card
				opts = append(opts, feishusim.ReplyTo(replies(r.sim.View(), r.chat, id)[0].ID))
			}
			stop := r.sim.Say(r.chat, r.user, words, opts...)
			if got := r.answer(r.chat, id).Text(); !strings.Contains(got, "已停止") && !strings.Contains(got, "Stopped") {
				t.Errorf("the answer: %q", got)
			}
			if got := r.answer(r.chat, stop).Text(); got != "已停止" && got != "Stopped" {
				t.Errorf("the reply: %q", got)
			}
			asked := len(r.model.Requests())
			r.answer(r.chat, r.sim.Say(r.chat, r.user, words))
			last := r.lastRequest()
			if n := len(r.model.Requests()); n != asked+1 || !strings.Contains(last.LastUser(), strings.TrimSpace(words)) {
				t.Errorf("%d requests; without a running turn it is a question", n-asked)
			}
		})
	}
}
