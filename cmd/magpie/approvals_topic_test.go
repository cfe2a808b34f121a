package main

import (
	"strings"
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// thread is a topic of a group in which a colleague reads along.
type thread struct {
	*rig
	room, id string
	red      feishusim.User
}

// begin begins a topic. Nobody has spoken to the bot there yet.
func (r *rig) begin() *thread {
	r.Helper()
	red := r.sim.AddUser("小红")
	room := r.sim.Group("测试群", r.user, red)
	root, _ := r.sim.Message(r.sim.Say(room, red, "发布清单在这里", feishusim.Thread(feishusim.NewThread)))
	r.heard(root.ID)
	return &thread{rig: r, room: room, id: root.ThreadID, red: red}
}

// asks lets the user ask the bot in the topic.
func (th *thread) asks(text string) {
	th.Helper()
	th.sim.Say(th.room, th.user, text, feishusim.Mention(), feishusim.Thread(th.id))
}

// card waits for a card of the bot, which must stand in the topic: the one that was posted last, once it is as wanted.
func (th *thread) card(what string, wanted func(feishusim.Message) bool) (got feishusim.Message) {
	th.Helper()
	th.await(what, func(v *feishusim.View) bool {
		for _, m := range v.Messages(th.room) {
			if !m.FromBot || !wanted(m) {
				continue
			}
			if m.ThreadID != th.id {
				th.Errorf("%s stands outside the topic: %s", what, m.Text())
			}
			got = m
		}
		return got.ID != ""
	})
	return got
}

// asked waits for the open card that asks for something.
func (th *thread) asked() feishusim.Message {
	th.Helper()
	return th.card("the card that asks", func(m feishusim.Message) bool { return !m.Last().Streaming && offers(m, doRefuse) })
}

// says waits for a card of a turn that has ended with these words.
func (th *thread) says(words string) feishusim.Message {
	th.Helper()
	return th.card("the turn to end with "+words, func(m feishusim.Message) bool {
		return !m.Last().Streaming && !running(m) && strings.Contains(said(m), words)
	})
}

// presses lets somebody press a button, and returns what he is told.
func (th *thread) presses(who feishusim.User, card feishusim.Message, value any) string {
	th.Helper()
	got, err := th.sim.Press(th.Context(), card.ID, who, value)
	must(th, err)
	return string(got)
}

// inside fails when the bot has said something outside the topic.
func (th *thread) inside(cards int) {
	th.Helper()
	n := 0
	for _, m := range th.sim.Messages(th.room) {
		if m.FromBot {
			n++
		}
		if m.FromBot && m.ThreadID != th.id {
			th.Errorf("outside the topic: %s", m.Text())
		}
	}
	if n != cards {
		th.Errorf("the bot has sent %d messages, want %d", n, cards)
	}
}

func withTopics(c *config) { c.Feishu.Topics = true }

// What is asked in a topic is asked, decided and gone on with there.
func TestAnApprovalInATopic(t *testing.T) {
	r := newRig(t, withTopics)
	th := r.begin()
	command := appendLine("out.txt")
	r.calls(bash(command), modelsim.Text("做完了"))
	th.asks("动手吧")
	card := th.asked()
	if !strings.Contains(card.Text(), command) {
		t.Errorf("the card asks %q", card.Text())
	}
	value := r.button(card, doAllow)
	if got := th.presses(th.red, card, value); !strings.Contains(got, "只有提问的人或管理员") {
		t.Errorf("a stranger is told %q", got)
	}
	r.awaitLog("somebody who may not decide")
	if r.project("out.txt") != "" || !offers(th.asked(), doAllow) {
		t.Fatal("a stranger has decided")
	}
	if got := th.presses(r.user, card, value); !told(got, "已允许") {
		t.Errorf("the asker is told %q", got)
	}
	th.says("做完了")
	r.closed(card, "小明 已允许")
	if got := th.presses(r.user, card, value); !strings.Contains(got, "已经处理过") {
		t.Errorf("pressed again: %q", got)
	}
	if got := strings.Count(r.project("out.txt"), "\n"); got != 1 {
		t.Errorf("the command ran %d times", got)
	}
	th.inside(2)
}

// A rule that was made in a topic counts there, and neither in its group nor in another topic.
func TestAlwaysInThisTopic(t *testing.T) {
	r := newRig(t, withTopics)
	th := r.begin()
	command := r.script("out.txt")
	r.calls(bash(command), modelsim.Text("第一次做完了"))
	th.asks("动手吧")
	card := th.asked()
	th.presses(r.user, card, r.button(card, doAlways))
	th.says("第一次做完了")
	r.calls(bash(command), modelsim.Text("第二次做完了"))
	th.asks("再来")
	th.says("第二次做完了")
	th.inside(3)
	if got := strings.Count(r.project("out.txt"), "\n"); got != 2 {
		t.Errorf("the command ran %d times", got)
	}
	for _, where := range []feishusim.SendOption{feishusim.Thread(""), feishusim.Thread(feishusim.NewThread)} {
		r.calls(bash(command), modelsim.Text("好的"))
		id := r.sim.Say(th.room, r.user, "也来一次", feishusim.Mention(), where)
		elsewhere := r.approval(th.room, id, 1)
		r.press(elsewhere, doRefuse)
		r.turnDone(th.room, id)
	}
	if got := strings.Count(r.project("out.txt"), "\n"); got != 2 {
		t.Errorf("afterwards the command has run %d times", got)
	}
}

// The bridge is killed while people are asked in a topic. The next process knows nothing of the topic but what is
// stored and what the platform tells: it says there what became of the question, and goes on there.
func TestTheBridgeEndsWhilePeopleOfATopicAreAsked(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	s.run()
	s.connected()
	th := s.begin()
	s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
	th.asks("动手吧")
	card := th.asked()
	value := s.button(card, doAllow)
	s.kill()
	s.run()
	s.connected()
	s.closed(card, "服务在等待时重启了，没有执行")
	for _, who := range []feishusim.User{s.user, th.red} {
		if got := th.presses(who, card, value); !strings.Contains(got, "已失效") {
			t.Errorf("%s is told %q", who.Name, got)
		}
	}
	turn := th.says("中断")
	s.calls(bash(appendLine("out.txt")), modelsim.Text("接着做完了"))
	s.press(turn, doContinue)
	again := th.asked()
	if got := th.presses(th.red, again, s.button(again, doAllow)); !strings.Contains(got, "只有提问的人或管理员") {
		t.Errorf("a stranger is told %q", got)
	}
	if s.project("out.txt") != "" {
		t.Fatal("the command ran before anybody allowed it")
	}
	s.press(again, doAllow)
	th.says("接着做完了")
	s.closed(again, "小明 已允许")
	if got := strings.Count(s.project("out.txt"), "\n"); got != 1 {
		t.Errorf("the command ran %d times", got)
	}
	th.inside(4)
	s.terminate()
	s.clean()
}
