package main

import (
	"strings"
	"testing"

	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// halfAnswer is what an agent has said of its answer when its conversation ends. It has run a command, so it must not
// begin again by itself.
const halfAnswer = "先看一下。"

// askHalf asks something, and returns when half of the answer is visible and the agent has run its command.
func (r *rig) askHalf() (id string) {
	r.Helper()
	r.model.Script(
		modelsim.Rule{Name: "after the command", Match: doortest.AfterTool, Times: 1, Steps: []modelsim.Step{modelsim.Hang()}},
		modelsim.Rule{Name: "question", Match: asksFor("请运行一次"), Times: 1, Steps: []modelsim.Step{
			modelsim.Text(halfAnswer), bash(appendLine("out.txt")),
		}},
	)
	id = r.sim.Say(r.chat, r.user, "请运行一次")
	r.shows(r.chat, id, halfAnswer)
	r.until("the agent to wait for the model", func() bool { return len(r.model.Requests()) == 2 })
	return id
}

// endedWith checks that the answer to a message has ended with its conversation: it keeps what was said and says why it
// ends, offers nothing, and stands so in the database.
func (r *rig) endedWith(id, said string) {
	r.Helper()
	r.await("the end of the answer", func(v *feishusim.View) bool {
		list := ofTurns(v, r.chat, id)
		return len(list) == 1 && !running(list[0]) && !list[0].Last().Streaming && !hasButtons(list[0]) &&
			strings.Contains(list[0].Text(), "已开始新对话，这里没有完成的不再继续") &&
			strings.Contains(visibleText(list[0]), said)
	})
	if n := r.count(`SELECT COUNT(*) FROM turns WHERE state <> 'cancelled'`); n != 0 {
		r.Errorf("%d turns have not ended with their conversation", n)
	}
	stored := r.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND class = 'talk' AND content = ?1`, said)
	if said != "" && stored != 1 {
		r.Errorf("the History holds what the agent has said %d times", stored)
	}
}

// The program is killed while an answer of a conversation that /new has ended is not finished. It cannot be continued,
// so it is not offered, and nothing of it goes on in the new conversation.
func TestACrashInAnEndedConversation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(testing.TB) func(*config.Config){
		"scripted": func(testing.TB) func(*config.Config) { return func(*config.Config) {} },
		"the CLI":  realCLI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, allowBash, change(t))
			s.run()
			s.connected()
			id := s.askHalf()
			if got := s.ask("/new"); !strings.Contains(got, "已开始新对话") {
				t.Errorf("got %q", got)
			}
			s.kill()
			s.killAgents()
			s.run()
			s.connected()
			s.endedWith(id, halfAnswer)
			s.checkRuns("out.txt", 1)
			got, req := s.ask("数到 3"), s.lastRequest()
			if got != "1 2 3" || strings.Contains(req.AllText(), halfAnswer) {
				t.Errorf("the next answer is %q to %s", got, req.AllText())
			}
			s.terminate()
			s.clean()
		})
	}
}

// What was asked for such an answer is withdrawn, and nothing runs.
func TestACrashWhileAnEndedConversationAsks(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	s.run()
	s.connected()
	id := s.asking()
	card := s.approval(s.chat, id, 1)
	allow := s.button(card, doAllow)
	s.ask("/new")
	if !offers(s.approval(s.chat, id, 1), doAllow) {
		t.Error("the answer goes on, but cannot be allowed anything")
	}
	s.kill()
	s.awaitNoAgents(patience)
	s.run()
	s.connected()
	s.endedWith(id, "")
	s.closed(card, "回答已结束，没有执行")
	s.refusesPress(card, allow)
	s.checkEnded(0)
}

// The program is stopped instead.
func TestAStopInAnEndedConversation(t *testing.T) {
	r := newRig(t, allowBash)
	id := r.askHalf()
	r.ask("/new")
	r.stop()
	if n := r.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled'`); n != 1 {
		t.Error("it has not ended with its conversation")
	}
	r.start()
	r.endedWith(id, halfAnswer)
	r.checkRuns("out.txt", 1)
}

// A request of such an answer is withdrawn when the program stops.
func TestAStopWhileAnEndedConversationAsks(t *testing.T) {
	r := newRig(t)
	r.calls(bash(appendLine("out.txt")))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	card := r.approval(r.chat, id, 1)
	r.ask("/new")
	r.stop()
	r.start()
	r.endedWith(id, "")
	r.closed(card, "回答已结束，没有执行")
	r.checkRuns("out.txt", 0)
}

// An interrupted answer that waits for a decision ends with its conversation: its card offers nothing any more. That of
// an earlier version, which has left it waiting, ends at the next start.
func TestAnInterruptedAnswerEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"/new":            func(r *rig) { r.ask("/new") },
		"with a question": func(r *rig) { r.sim.Say(r.chat, r.user, "/new 数到 3") },
		"left waiting": func(r *rig) {
			r.stop()
			r.sql(`UPDATE chats SET epoch = epoch + 1`)
			r.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash)
			id, card := r.interruptAnswer(true)
			value := r.button(card, doContinue)
			end(r)
			r.await("the end of the answer", func(v *feishusim.View) bool {
				m := replies(v, r.chat, id)[0]
				return !hasButtons(m) && strings.Contains(m.Text(), "说到一半") && strings.Contains(m.Text(), "已开始新对话")
			})
			if n := r.count(`SELECT COUNT(*) FROM turns WHERE state = 'interrupted'`); n != 0 {
				t.Error("it waits for ever")
			}
			got, err := r.sim.Press(t.Context(), card.ID, r.user, value)
			if err != nil || !strings.Contains(string(got), "已经结束") {
				t.Errorf("a late press: %s, %v", got, err)
			}
			r.checkRuns("out.txt", 1)
		})
	}
}
