package main

import (
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// topicRig is a topic of a group with another member.
type topicRig struct {
	*rig
	room, id string
	red      feishusim.User
}

// newTopic starts a topic in which nobody has mentioned the bot yet.
func (r *rig) newTopic() *topicRig {
	r.Helper()
	red := r.sim.AddUser("小红")
	room := r.sim.Group("测试群", r.user, red)
	root, _ := r.sim.Message(r.sim.Say(room, red, "发布清单在这里", feishusim.Thread(feishusim.NewThread)))
	r.awaitReceived(root.ID)
	return &topicRig{rig: r, room: room, id: root.ThreadID, red: red}
}

// mentionBot sends a message to the bot in the topic.
func (th *topicRig) mentionBot(text string) {
	th.Helper()
	th.sim.Say(th.room, th.user, text, feishusim.Mention(), feishusim.Thread(th.id))
}

// card waits until the newest card of the bot is as wanted. It must be in the topic.
func (th *topicRig) card(what string, wanted func(feishusim.Message) bool) (got feishusim.Message) {
	th.Helper()
	th.await(what, func(v *feishusim.View) bool {
		for _, m := range v.Messages(th.room) {
			if !m.FromBot || !wanted(m) {
				continue
			}
			if m.ThreadID != th.id {
				th.Errorf("%s is outside the topic: %s", what, m.Text())
			}
			got = m
		}
		return got.ID != ""
	})
	return got
}

// awaitApproval waits for the open card that asks for approval.
func (th *topicRig) awaitApproval() feishusim.Message {
	th.Helper()
	return th.card("the card that asks", func(m feishusim.Message) bool {
		return !m.Last().Streaming && offers(m, doRefuse)
	})
}

// awaitEnd waits for the card of a turn that has ended, with these words.
func (th *topicRig) awaitEnd(words string) feishusim.Message {
	th.Helper()
	return th.card("the turn to end with "+words, func(m feishusim.Message) bool {
		return !m.Last().Streaming && !running(m) && strings.Contains(visibleText(m), words)
	})
}

// pressAs presses a button as a user and returns the toast that the platform shows.
func (th *topicRig) pressAs(who feishusim.User, card feishusim.Message, value any) string {
	th.Helper()
	got, err := th.sim.Press(th.Context(), card.ID, who, value)
	must(th, err)
	return string(got)
}

// checkInTopic fails unless the bot has sent exactly that many messages, all of them in the topic.
func (th *topicRig) checkInTopic(cards int) {
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

func withTopics(c *config.Config) { c.Chat.Topics = true }

// An approval in a topic is asked for, decided and continued there.
func TestAnApprovalInATopic(t *testing.T) {
	r := newRig(t, withTopics)
	th := r.newTopic()
	command := appendLine("out.txt")
	r.calls(bash(command), modelsim.Text("做完了"))
	th.mentionBot("动手吧")
	card := th.awaitApproval()
	if !strings.Contains(card.Text(), command) {
		t.Errorf("the card asks %q", card.Text())
	}
	value := r.button(card, doAllow)
	if got := th.pressAs(th.red, card, value); !strings.Contains(got, "只有提问的人或管理员") {
		t.Errorf("a stranger gets %q", got)
	}
	r.awaitLog("press by a user who may not decide")
	if r.project("out.txt") != "" || !offers(th.awaitApproval(), doAllow) {
		t.Fatal("a stranger has decided")
	}
	if got := th.pressAs(r.user, card, value); !confirmed(got, "已允许") {
		t.Errorf("the asker gets %q", got)
	}
	th.awaitEnd("做完了")
	r.closed(card, "小明 已允许")
	if got := th.pressAs(r.user, card, value); !strings.Contains(got, "已经处理过") {
		t.Errorf("pressed again: %q", got)
	}
	if got := strings.Count(r.project("out.txt"), "\n"); got != 1 {
		t.Errorf("the command ran %d times", got)
	}
	th.checkInTopic(3)
}

// In a topic every message replies to the first one. That is no reply to something else: a message there answers the
// agent's question, or adds to the running turn, as it does elsewhere.
func TestAMessageInATopicBelongsToTheRunningTurn(t *testing.T) {
	r := newRig(t, withTopics)
	th := r.newTopic()
	r.calls(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{colors()}}), modelsim.Text("知道了"))
	th.mentionBot("帮我定一件衣服")
	card := th.awaitApproval()
	th.mentionBot("绿的也可以")
	r.closed(card, "小明 已回答 · 绿的也可以")
	th.awaitEnd("知道了")
	if !r.agentRead(`"用哪种颜色？"="绿的也可以"`) {
		t.Error("the agent did not get the answer")
	}

	drawn, goOn := make(chan struct{}), make(chan struct{})
	r.model.Script(modelsim.Rule{Match: tells("再加一件"), Steps: []modelsim.Step{modelsim.Text("加上了")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Text("正在"), modelsim.Hold(drawn), modelsim.Text("下单。"), modelsim.Hold(goOn),
		}})
	th.mentionBot("下单吧")
	close(drawn)
	th.card("the answer", func(m feishusim.Message) bool { return strings.Contains(m.Text(), "正在") })
	th.mentionBot("补充：再加一件")
	r.handedOver("再加一件")
	close(goOn)
	th.awaitEnd("加上了")
	th.checkInTopic(4)
}

// A rule that was created in a topic counts there, and neither in its group nor in another topic.
func TestAlwaysInThisTopic(t *testing.T) {
	r := newRig(t, withTopics)
	th := r.newTopic()
	command := r.script("out.txt")
	r.calls(bash(command), modelsim.Text("第一次做完了"))
	th.mentionBot("动手吧")
	card := th.awaitApproval()
	th.pressAs(r.user, card, r.button(card, doAlways))
	th.awaitEnd("第一次做完了")
	r.calls(bash(command), modelsim.Text("第二次做完了"))
	th.mentionBot("再来")
	th.awaitEnd("第二次做完了")
	th.checkInTopic(4)
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

// The bridge is killed while an approval is open in a topic. The next process knows the topic from the database and the
// platform: the decision and the rest of the turn stay there.
func TestTheBridgeEndsWhilePeopleOfATopicAreAsked(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	s.run()
	s.connected()
	th := s.newTopic()
	s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
	th.mentionBot("动手吧")
	card := th.awaitApproval()
	value := s.button(card, doAllow)
	s.kill()
	s.run()
	s.connected()
	th.awaitEnd("还在等你确认")
	if got := th.pressAs(th.red, card, value); !strings.Contains(got, "只有提问的人或管理员") {
		t.Errorf("a stranger gets %q", got)
	}
	s.checkRuns("out.txt", 0)
	s.calls(bash(appendLine("out.txt")), modelsim.Text("接着做完了"))
	s.press(card, doAllow)
	th.awaitEnd("接着做完了")
	s.closed(card, "小明 已允许")
	s.checkRuns("out.txt", 1)
	th.checkInTopic(3)
	s.terminate()
	s.clean()
}
