package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/internal/claude"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// leftOpen asks for something that needs an approval, and stops and restarts the program while people are asked. It
// returns the message, and the card of the approval.
func (r *rig) leftOpen(step modelsim.Step) (id string, card feishusim.Message) {
	r.Helper()
	r.calls(step)
	id = r.sim.Say(r.chat, r.user, "动手吧")
	r.approval(r.chat, id, 1)
	r.stop()
	r.start()
	return id, r.awaitOpenApproval(id)
}

// leftOpen asks for something that needs an approval, and returns the message and the card, after the program was
// restarted.
type leftOpen func(step modelsim.Step) (id string, card feishusim.Message)

// outlivesTheBridge runs a test with a program that is stopped, and with one that is killed, whose configuration may
// differ.
func outlivesTheBridge(t *testing.T, test func(r *rig, leftOpen leftOpen), killed ...func(*config.Config)) {
	t.Parallel()
	t.Run("stopped", func(t *testing.T) {
		r := newRig(t)
		test(r, r.leftOpen)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		s := newService(t, feishusim.Config{}, killed...)
		s.run()
		s.connected()
		test(s.rig, func(step modelsim.Step) (string, feishusim.Message) {
			s.Helper()
			s.calls(step)
			id := s.sim.Say(s.chat, s.user, "动手吧")
			s.approval(s.chat, id, 1)
			s.kill()
			s.run()
			s.connected()
			return id, s.awaitOpenApproval(id)
		})
		s.terminate()
		s.clean()
	})
}

// awaitOpenApproval waits until an interrupted turn shows that it waits for a decision, and returns the approval's card.
func (r *rig) awaitOpenApproval(id string) feishusim.Message {
	r.Helper()
	r.await("the turn to say what it waits for", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 1 && strings.Contains(list[0].Text(), "还在等你确认") && !running(list[0])
	})
	card := r.approval(r.chat, id, 1)
	if !offers(card, doAllow) {
		r.Errorf("the card has lost its buttons: %s", card.Last().Card)
	}
	return card
}

// awaitContinued waits until the n-th turn that answers a message has ended, and checks that earlier turns say so.
func (r *rig) awaitContinued(id string, n int) feishusim.Message {
	r.Helper()
	var list []feishusim.Message
	r.await(fmt.Sprintf("the end of turn %d", n), func(v *feishusim.View) bool {
		list = ofTurns(v, r.chat, id)
		return len(list) >= n && !running(list[n-1]) && !list[n-1].Last().Streaming &&
			strings.Contains(list[n-2].Text(), "已在下面继续")
	})
	if len(list) != n || hasButtons(list[n-2]) {
		r.Errorf("%d cards of turns, want %d", len(list), n)
		for _, m := range list {
			r.Logf("card %s, buttons %t: %s", m.ID, hasButtons(m), m.Text())
		}
		r.Logf("log:\n%s", r.logs)
	}
	return list[n-1]
}

// checkApprovals checks that people were asked that many times in answer to a message.
func (r *rig) checkApprovals(id string, want int) {
	r.Helper()
	n := 0
	for _, m := range replies(r.sim.View(), r.chat, id) {
		if asks(m) {
			n++
		}
	}
	if n != want {
		r.Errorf("people were asked %d times, want %d", n, want)
	}
}

// checkRuns checks how often the command of appendLine has run.
func (r *rig) checkRuns(file string, want int) {
	r.Helper()
	if got := strings.Count(r.project(file), "\n"); got != want {
		r.Errorf("the command ran %d times, want %d", got, want)
	}
}

// The bridge is killed or stopped while people are asked. The card keeps its buttons: a press continues the turn, and
// an allowed tool runs once, without another question.
func TestADecisionOutlivesTheBridge(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*service){
		"killed":     (*service).kill,
		"terminated": func(s *service) { s.terminate() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) {
				if name == "killed" {
					realCLI(t)(c)
				}
			})
			s.run()
			s.connected()
			s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
			id := s.sim.Say(s.chat, s.user, "动手吧")
			value := s.button(s.approval(s.chat, id, 1), doAllow)
			end(s)
			s.run()
			s.connected()
			card := s.awaitOpenApproval(id)
			s.checkRuns("out.txt", 0)
			s.calls(bash(appendLine("out.txt")), modelsim.Text("接着做完了"))
			if got := s.press(card, doAllow); !confirmed(got, "已允许") {
				t.Errorf("got %q", got)
			}
			if got := visibleText(s.awaitContinued(id, 2)); got != "接着做完了" {
				t.Errorf("answer %q", got)
			}
			s.closed(card, "小明 已允许")
			s.checkApprovals(id, 1)
			s.checkRuns("out.txt", 1)
			got, err := s.sim.Press(t.Context(), card.ID, s.user, value)
			if err != nil || !strings.Contains(string(got), "已经处理过") {
				t.Errorf("pressed again: %s, %v", got, err)
			}
			s.terminate()
			s.clean()
		})
	}
}

var decisionSteps = []string{"decision: stored", "decision: used"}

// The program is killed around the decision about a request of its previous run. An allowed tool runs at most once, and
// never without permission. Once the decision was used, only the CLI knows whether the tool ran.
func TestACrashAroundADecision(t *testing.T) {
	t.Parallel()
	for _, step := range decisionSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) {
				if step == "decision: used" {
					realCLI(t)(c)
				}
			})
			s.run()
			s.connected()
			s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
			id := s.sim.Say(s.chat, s.user, "动手吧")
			s.approval(s.chat, id, 1)
			s.kill()
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			card := s.awaitOpenApproval(id)
			s.model.Script(
				modelsim.Rule{Match: doortest.AfterTool, Steps: []modelsim.Step{modelsim.Text("接着做完了")}},
				modelsim.Rule{Match: asksFor("允许"), Steps: []modelsim.Step{bash(appendLine("out.txt"))}},
				modelsim.Rule{Match: asksFor("继续"), Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
			value := s.button(card, doAllow)
			_, _ = s.sim.Press(t.Context(), card.ID, s.user, value) // the response may be lost with the program
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			s.checkRuns("out.txt", 0)
			s.run()
			s.connected()
			s.closed(card, "小明 已允许")
			if step == "decision: stored" { // the turn had not started, so it does now
				if got := visibleText(s.awaitContinued(id, 2)); got != "接着做完了" {
					t.Errorf("answer %q", got)
				}
				s.checkApprovals(id, 1)
			} else { // whether it ran is unknown, so there is another approval
				s.await("the end of the interrupted turn", func(v *feishusim.View) bool {
					list := ofTurns(v, s.chat, id)
					return len(list) == 2 && !running(list[1]) && !list[1].Last().Streaming
				})
				again := s.sim.Say(s.chat, s.user, "继续")
				asked := s.approval(s.chat, again, 1)
				s.checkRuns("out.txt", 0)
				s.press(asked, doAllow)
				if got := visibleText(s.turnDone(s.chat, again)); got != "接着做完了" {
					t.Errorf("answer %q", got)
				}
			}
			s.checkRuns("out.txt", 1)
			s.terminate()
			s.clean()
		})
	}
}

// The program is killed while the agent answers after a decision: visible text stays where it is, and is shown once.
func TestACrashAfterTextBelowADecision(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "draft: stored"} { // before and after the next message is visible
		t.Run("killed at "+step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{})
			rest := make(chan struct{})
			defer close(rest)
			s.model.Script(
				modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}},
				modelsim.Rule{Match: asksFor("继续"), Steps: []modelsim.Step{modelsim.Text("接着做完了")}},
				modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("正在收拾。"), modelsim.Hold(rest)}})
			if step != "" {
				s.run("MAGPIE_CRASH_AT=" + step)
			} else {
				s.run()
			}
			s.connected()
			id := s.sim.Say(s.chat, s.user, "动手吧")
			s.press(s.approval(s.chat, id, 1), doAllow)
			if step == "" {
				s.await("the next message", func(v *feishusim.View) bool {
					list := ofTurns(v, s.chat, id)
					return len(list) == 2 && strings.Contains(list[1].Text(), "正在收拾")
				})
				s.kill()
			} else if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			s.killAgents() // else it goes on
			s.run()
			s.connected()
			cut := s.turnDone(s.chat, id)
			check := func(when string, want int) {
				t.Helper()
				list := ofTurns(s.sim.View(), s.chat, id)
				if len(list) != want || !goesOnBelow(list[0]) || !strings.Contains(list[1].Text(), "正在收拾") ||
					strings.Contains(list[0].Text(), "正在收拾") {
					t.Errorf("%s: %d messages, %q, %q", when, len(list), list[0].Text(), list[1].Text())
				}
			}
			check("after the crash", 2)
			s.press(cut, doContinue)
			s.await("the rest", func(v *feishusim.View) bool {
				list := ofTurns(v, s.chat, id)
				return len(list) == 3 && visibleText(list[2]) == "接着做完了" && !hasButtons(list[1])
			})
			check("continued", 3)
			s.terminate()
			s.clean()
		})
	}
}

// The program is killed right after a decision that an agent waits for. Whether the tool ran is unknown, so there is
// another approval.
func TestACrashRightAfterADecision(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	s.run("MAGPIE_CRASH_AT=decision: stored")
	s.connected()
	s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
	id := s.sim.Say(s.chat, s.user, "动手吧")
	card := s.approval(s.chat, id, 1)
	_, _ = s.sim.Press(t.Context(), card.ID, s.user, s.button(card, doAllow))
	if !s.died(patience) {
		t.Fatalf("the program did not come to this step: %s", s.logs)
	}
	s.awaitNoAgents(patience) // the agent ends, and reports that it could not ask
	s.run()
	s.connected()
	s.closed(card, "小明 已允许")
	cut := s.turnDone(s.chat, id)
	s.calls(bash(appendLine("out.txt")), modelsim.Text("接着做完了"))
	s.press(cut, doContinue)
	again := s.approval(s.chat, id, 2)
	s.checkRuns("out.txt", 0)
	s.press(again, doAllow)
	s.awaitContinued(id, 2)
	s.checkRuns("out.txt", 1)
	s.terminate()
	s.clean()
}

var typedAnswerSteps = []string{"answer: typed"}

// The program is killed around a message that answers the agent's question. If the answer was not stored, the question
// is still open, and the turn that continues gets the message, too. In any case the agent reads what was written.
func TestACrashAroundATypedAnswer(t *testing.T) {
	t.Parallel()
	for _, step := range append(slices.Clone(typedAnswerSteps), "decision: stored") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, realCLI(t))
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}})
			s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{question}})
			id := s.sim.Say(s.chat, s.user, "帮我定一件衣服")
			card := s.approval(s.chat, id, 1)
			words := s.sim.Say(s.chat, s.user, "绿的也可以")
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			s.awaitNoAgents(patience)
			s.run()
			s.connected()
			if step == "answer: typed" {
				card = s.awaitOpenApproval(id)
				s.calls(question, modelsim.Text("知道了"))
				s.pressOption(card, "蓝")
			} else {
				s.closed(card, "小明 已回答 · 绿的也可以")
				s.calls(modelsim.Text("知道了"))
				s.press(s.turnDone(s.chat, id), doContinue)
			}
			if got := visibleText(s.awaitContinued(id, 2)); got != "知道了" {
				t.Errorf("answer %q", got)
			}
			if !s.agentRead("绿的也可以") {
				t.Error("the agent did not read the message")
			}
			s.checkUnanswered(s.chat, words)
			s.terminate()
			s.clean()
		})
	}
}

// A message that answers what an earlier run has asked counts once, also if the program is killed once more, or has not
// yet recovered the interrupted turn.
func TestACrashAroundAnAnswerToAnEarlierRun(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"message: received", "decision: stored", "not recovered"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{Redeliver: crashRedeliver})
			s.run()
			s.connected()
			question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}})
			s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{question}})
			id := s.sim.Say(s.chat, s.user, "帮我定一件衣服")
			card := s.approval(s.chat, id, 1)
			s.until("the card to be known", func() bool {
				return s.count(`SELECT COUNT(*) FROM approvals WHERE card_id <> ''`) == 1
			})
			s.kill()
			s.awaitNoAgents(patience)
			s.calls(question, modelsim.Text("知道了"))
			if step == "not recovered" {
				known := s.holdRecovery()
				s.run()
				s.connected()
				s.sim.Say(s.chat, s.user, "绿的也可以", feishusim.ReplyTo(card.ID))
				s.awaitLog("chat not recovered; trying again")
				known()
			} else {
				s.run("MAGPIE_CRASH_AT=" + step)
				s.connected()
				if step != "message: received" {
					s.awaitOpenApproval(id)
				}
				s.sim.Say(s.chat, s.user, "绿的也可以", feishusim.ReplyTo(card.ID))
				if !s.died(patience) {
					t.Fatalf("the program did not come to this step: %s", s.logs)
				}
				s.run()
				s.connected()
			}
			s.closed(card, "小明 已回答 · 绿的也可以")
			s.until("the answer", func() bool {
				return s.count(`SELECT COUNT(*) FROM turns WHERE state = 'done' AND continues > 0`) == 1
			})
			if n := s.count(`SELECT COUNT(*) FROM turns`); n != 2 || !s.agentRead(`"用哪种颜色？"="绿的也可以"`) {
				t.Errorf("%d turns, or the agent did not get the answer", n)
			}
			s.checkApprovals(id, 1)
			s.terminate()
			s.clean()
		})
	}
}

func TestARefusalOutlivesTheBridge(t *testing.T) {
	outlivesTheBridge(t, func(r *rig, leftOpen leftOpen) {
		id, card := leftOpen(bash(appendLine("out.txt")))
		r.calls(bash(appendLine("out.txt")), modelsim.Text("那就算了"))
		if got := r.refuse(card, "先跑测试"); !confirmed(got, "已拒绝") {
			r.Errorf("got %q", got)
		}
		if got := visibleText(r.awaitContinued(id, 2)); got != "那就算了" {
			r.Errorf("answer %q", got)
		}
		r.closed(card, "小明 已拒绝，没有执行 · 说明：先跑测试")
		for _, want := range []string{`"decision":"denied","reason":"先跑测试"`, "They say: 先跑测试"} {
			if !r.agentRead(want) {
				r.Errorf("the agent did not read %s", want)
			}
		}
		r.checkApprovals(id, 1)
		r.checkRuns("out.txt", 0)
	})
}

// Another approval is needed for what is not exactly what was allowed.
func TestOnlyWhatWasAllowedRunsLater(t *testing.T) {
	r := newRig(t)
	id, card := r.leftOpen(bash(appendLine("out.txt")))
	r.calls(bash(appendLine("other.txt")), bash(appendLine("out.txt")), bash(appendLine("out.txt")),
		modelsim.Text("完了"))
	r.press(card, doAllow)
	r.press(r.approval(r.chat, id, 2), doRefuse)
	third := r.approval(r.chat, id, 3) // the second call needs another approval
	r.checkRuns("out.txt", 1)
	r.press(third, doRefuse)
	r.awaitContinued(id, 2)
	r.checkRuns("other.txt", 0)
	r.checkRuns("out.txt", 1)
}

func TestAlwaysOutlivesTheBridge(t *testing.T) {
	outlivesTheBridge(t, func(r *rig, leftOpen leftOpen) {
		command := r.script("out.txt")
		id, card := leftOpen(bash(command))
		r.calls(bash(command), bash(command), modelsim.Text("完了"))
		r.press(card, doAlways)
		r.awaitContinued(id, 2)
		r.closed(card, "以后在本聊天总是允许")
		r.checkApprovals(id, 1)
		r.checkRuns("out.txt", 2)
	})
}

func TestAnswersOutliveTheBridge(t *testing.T) {
	outlivesTheBridge(t, func(r *rig, leftOpen leftOpen) {
		question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{
			map[string]any{"question": "用哪种颜色？", "header": "颜色", "multiSelect": false, "options": []any{
				map[string]string{"label": "红", "description": "热"}, map[string]string{"label": "蓝", "description": "冷"},
			}},
		}})
		id, card := leftOpen(question)
		r.calls(question, modelsim.Text("知道了"))
		r.pressOption(card, "蓝")
		if got := visibleText(r.awaitContinued(id, 2)); got != "知道了" {
			r.Errorf("answer %q", got)
		}
		r.closed(card, "小明 已回答 · 蓝")
		for _, want := range []string{`"decision":"answered","answers":{"用哪种颜色？":"蓝"}`, `"用哪种颜色？"="蓝"`} {
			if !r.agentRead(want) {
				r.Errorf("the agent did not read %s", want)
			}
		}
		r.checkApprovals(id, 1)
	}, realCLI(t)) // which must ask the same again
}

// A message answers what an earlier run has asked as it does while the agent waits: a reply to the card, or the next
// message of the person who was asked. It continues the turn, and is not asked again.
func TestAnAnswerInWordsOutlivesTheBridge(t *testing.T) {
	t.Parallel()
	for name, quotes := range map[string]bool{"reply to the card": true, "next message": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			question := modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}})
			id, card := r.leftOpen(question)
			r.calls(question, modelsim.Text("知道了"))
			var how []feishusim.SendOption
			if quotes {
				how = append(how, feishusim.ReplyTo(card.ID))
			}
			words := r.sim.Say(r.chat, r.user, "绿的也可以", how...)
			r.closed(card, "小明 已回答 · 绿的也可以")
			if got := visibleText(r.turnDone(r.chat, words)); got != "知道了" {
				t.Errorf("answer %q", got)
			}
			for _, want := range []string{
				`"decision":"answered","answers":{"用哪种颜色？":"绿的也可以"}`, `"用哪种颜色？"="绿的也可以"`,
			} {
				if !r.agentRead(want) {
					t.Errorf("the agent did not read %s", want)
				}
			}
			r.checkApprovals(id, 1)
			if cut := ofTurns(r.sim.View(), r.chat, id); len(cut) != 1 || hasButtons(cut[0]) {
				t.Errorf("the interrupted turn: %d cards, %s", len(cut), cut[0].Last().Card)
			}
		})
	}
}

func TestAPlanOutlivesTheBridge(t *testing.T) {
	outlivesTheBridge(t, func(r *rig, leftOpen leftOpen) {
		r.ask("/mode plan")
		plan := modelsim.Tool(claude.PlanTool, map[string]string{"plan": "1. 先这样"})
		id, card := leftOpen(plan)
		r.calls(plan, modelsim.Text("按计划做了"))
		r.press(card, doAllow)
		if got := visibleText(r.awaitContinued(id, 2)); got != "按计划做了" {
			r.Errorf("answer %q", got)
		}
		r.closed(card, "小明 已批准计划")
		r.checkApprovals(id, 1)
	}, realCLI(t)) // which must ask the same again
}

// Two tools wait when the bridge ends. The first decision continues the turn; when its agent asks for the other tool,
// it waits for the existing card.
func TestADecisionWhileTheTurnGoesOn(t *testing.T) {
	r := newRig(t, realCLI(t))
	fetch := func(site string) modelsim.Step {
		return modelsim.Tool("WebFetch", map[string]string{"url": "https://" + site + "/page", "prompt": "看看"})
	}
	both := []modelsim.Step{fetch("one.example"), fetch("two.example")}
	r.model.Script(modelsim.Rule{Times: 1, Steps: both})
	id := r.sim.Say(r.chat, r.user, "看看这两个网页")
	first, second := r.approval(r.chat, id, 1), r.approval(r.chat, id, 2)
	r.stop()
	r.start()
	r.model.Script(modelsim.Rule{Times: 1, Steps: both}, modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("那就算了"),
	}})
	r.awaitOpenApproval(id)
	r.press(first, doRefuse)
	r.await("the turn to wait for the other decision", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 2 && running(list[1]) && strings.Contains(list[1].Text(), "等你确认")
	})
	if got := r.press(second, doRefuse); !confirmed(got, "已拒绝") {
		t.Errorf("got %q", got)
	}
	r.awaitContinued(id, 2)
	r.closed(first, "已拒绝")
	r.closed(second, "已拒绝")
	r.checkApprovals(id, 2)
}

// "Continue" continues a turn before the decision: its agent waits for the existing card. Both the person who pressed
// it and the original asker may decide.
func TestATurnGoesOnWithoutADecision(t *testing.T) {
	r := newRig(t)
	boss := r.sim.AddUser("老板")
	rules := access.Config{Allow: []string{"*"}, Admins: []string{boss.OpenID}}
	r.cfg.Access = rules
	r.setAccess(rules)
	r.chat = r.sim.Group("测试群", r.user, boss)
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧", feishusim.Mention())
	r.approval(r.chat, id, 1)
	r.stop()
	r.start()
	card := r.awaitOpenApproval(id)
	r.calls(bash(appendLine("out.txt")), bash(appendLine("more.txt")), modelsim.Text("完了"))
	cut := r.turnDone(r.chat, id)
	_, err := r.sim.Press(t.Context(), cut.ID, boss, r.button(cut, doContinue))
	must(t, err)
	r.await("the turn to wait", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 2 && running(list[1]) && strings.Contains(list[1].Text(), "等你确认")
	})
	r.checkApprovals(id, 1)
	r.press(card, doAllow)
	r.press(r.approval(r.chat, id, 2), doAllow) // requested in the turn that the boss continued
	r.await("the answer below the second decision", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 3 && goesOnBelow(list[1]) && visibleText(list[2]) == "完了" && !running(list[2])
	})
	r.closed(card, "小明 已允许")
	r.checkRuns("out.txt", 1)
	r.checkRuns("more.txt", 1)
}

// A tool that was allowed during the continued turn, but not requested again, did not run, and its card says so.
func TestWhatIsAllowedButNotAskedForAgain(t *testing.T) {
	r := newRig(t)
	id, card := r.leftOpen(bash(appendLine("out.txt")))
	r.calls(modelsim.Text("不用了"))
	r.press(card, doAllow)
	r.awaitContinued(id, 2)
	r.closed(card, "回答已结束，没有执行")
	r.checkRuns("out.txt", 0)
}

// The question of an interrupted turn is recalled: the turn can no longer be continued.
func TestARecalledQuestionAsksNothing(t *testing.T) {
	r := newRig(t)
	id, card := r.leftOpen(bash(appendLine("out.txt")))
	value := r.button(card, doAllow)
	r.sim.Recall(id)
	r.until("the recall", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE message_id = ?1 AND state = 'recalled'`, id) == 1
	})
	r.closed(card, "回答已结束，没有执行")
	got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
	if err != nil || !strings.Contains(string(got), "已失效") {
		t.Errorf("%s, %v", got, err)
	}
	r.checkRuns("out.txt", 0)
}

// The session is lost while people are asked: an allowed tool still runs.
func TestADecisionOutlivesTheSession(t *testing.T) {
	r := newRig(t)
	r.ask("你好")
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	r.approval(r.chat, id, 1)
	dir := r.configDir()
	r.stop()
	r.until("the CLI's folder to be removed", func() bool { return os.RemoveAll(dir) == nil })
	r.start()
	card := r.awaitOpenApproval(id)
	r.calls(bash(appendLine("out.txt")), modelsim.Text("完了"))
	r.press(card, doAllow)
	r.awaitContinued(id, 2)
	if !r.agentRead(`"decision":"allowed"`) || !r.agentRead("动手吧") {
		t.Error("the agent does not know the request and the decision")
	}
	r.checkApprovals(id, 1)
	r.checkRuns("out.txt", 1)
}

func TestAnApprovalExpiresWhileTheBridgeIsDown(t *testing.T) {
	r := newRig(t)
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	value := r.button(card, doAllow)
	r.stop()
	r.sql(`UPDATE approvals SET expires_at = created_at + 1`)
	r.start()
	r.closed(card, "超时无人处理")
	r.await("the turn to say that it waits no more", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 1 && strings.Contains(list[0].Text(), "回答被中断了") && offers(list[0], doContinue)
	})
	got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
	if err != nil || !strings.Contains(string(got), "已失效") {
		t.Errorf("%s, %v", got, err)
	}
	r.calls(bash(appendLine("out.txt")), modelsim.Text("完了"))
	r.press(r.turnDone(r.chat, id), doContinue)
	r.press(r.approval(r.chat, id, 2), doAllow)
	r.awaitContinued(id, 2)
	r.checkRuns("out.txt", 1)
}

// An approval can no longer be decided if its turn was stopped or dropped since, or if its conversation ended.
func TestADecisionThatNoTurnNeeds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig, string){
		"stopped": func(r *rig, _ string) {
			if got := r.ask("/stop"); !strings.Contains(got, "已停止") {
				r.Errorf("got %q", got)
			}
		},
		"stopped in plain words": func(r *rig, _ string) {
			if got := r.ask("停止"); !strings.Contains(got, "已停止") {
				r.Errorf("got %q", got)
			}
		},
		"dropped":          func(r *rig, id string) { r.press(r.turnDone(r.chat, id), doDrop) },
		"new conversation": func(r *rig, _ string) { r.ask("/new") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			id, card := r.leftOpen(bash(appendLine("out.txt")))
			value := r.button(card, doAllow)
			end(r, id)
			r.closed(card, "回答已结束，没有执行")
			got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
			if err != nil || !strings.Contains(string(got), "已失效") {
				t.Errorf("%s, %v", got, err)
			}
			r.checkRuns("out.txt", 0)
			if n := r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`); n != 0 {
				t.Errorf("%d turns were continued", n)
			}
		})
	}
}

// The rules about who decides also apply after a restart, including requests for admins only.
func TestWhoDecidesAfterTheEndOfTheBridge(t *testing.T) {
	r := newRig(t)
	boss, other := r.sim.AddUser("老板"), r.sim.AddUser("小红")
	rules := access.Config{Allow: []string{"*"}, Admins: []string{boss.OpenID}}
	r.cfg.Access = rules
	r.setAccess(rules)
	r.chat = r.sim.Group("测试群", r.user, boss, other)
	// Behind a wall the database is not there; its name is enough for an admin to be asked.
	names := bash("echo " + databaseOf(r.cfg) + " > named")
	r.calls(names)
	id := r.sim.Say(r.chat, r.user, "动手吧", feishusim.Mention())
	r.approval(r.chat, id, 1)
	r.stop()
	r.start()
	card := r.awaitOpenApproval(id)
	value := r.button(card, doAllow)
	press := func(who feishusim.User, want string) {
		t.Helper()
		got, err := r.sim.Press(t.Context(), card.ID, who, value)
		if err != nil || !strings.Contains(string(got), want) && !confirmed(string(got), want) {
			t.Errorf("%s is told %s, %v", who.Name, got, err)
		}
	}
	press(other, "只有提问的人或管理员")
	press(r.user, "只有管理员可以允许")
	r.calls(names, modelsim.Text("完了"))
	press(boss, "已允许")
	r.awaitContinued(id, 2)
	r.checkApprovals(id, 1)
	if r.project("named") == "" {
		t.Error("a command that an admin allowed did not run")
	}
}
