package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/contextmgr"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// overheard returns the prompt's entries of messages that were not addressed to the bot, with their authors' names.
func (r *rig) overheard(prompt string) (texts []string) {
	r.Helper()
	entries, _, _ := readPrompt(prompt)
	for _, e := range entries {
		if e.Part == contextmgr.Overheard {
			texts = append(texts, e.Name+": "+e.Text)
		}
	}
	return texts
}

// mention sends a message to the bot in a group, waits for the answer, and returns the model's request.
func (r *rig) mention(group string, from feishusim.User, text string, opt ...feishusim.SendOption) (prompt string) {
	r.Helper()
	r.answer(group, r.sim.Say(group, from, text, append(opt, feishusim.Mention())...))
	req := r.lastRequest()
	return req.LastUser()
}

// awaitAcks waits until the events of these messages are acknowledged.
func (r *rig) awaitAcks(messages ...string) {
	r.Helper()
	r.await("the acknowledgements", func(v *feishusim.View) bool {
		acked := map[string]bool{}
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 {
				acked[d.MessageID] = true
			}
		}
		for _, id := range messages {
			if !acked[id] {
				return false
			}
		}
		return true
	})
}

// countLists returns how often a chat's messages were listed.
func (r *rig) countLists(chatID string) (calls int) {
	for _, c := range r.sim.Calls() {
		if c.Route == "GET /open-apis/im/v1/messages" && strings.Contains(c.Query, chatID) {
			calls++
		}
	}
	return calls
}

func TestOverheardMessagesReachTheAgent(t *testing.T) {
	t.Parallel()
	for name, keepAlive := range map[string]time.Duration{"living process": time.Minute, "new process": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Claude.KeepAlive.Duration = keepAlive })
			red := r.sim.AddUser("小红")
			group := r.sim.Group("测试群", r.user, red)
			at := time.Now().Add(-time.Minute)
			r.awaitAcks(r.sim.Say(group, red, "午饭吃面", feishusim.Time(at)))
			r.awaitAcks(r.sim.Say(group, r.user, "我吃饭", feishusim.Time(at.Add(time.Second))))
			got := r.overheard(r.mention(group, red, "我们吃什么？"))
			if diff := cmp.Diff([]string{"小红: 午饭吃面", "小明: 我吃饭"}, got); diff != "" {
				t.Error(diff)
			}
			if got := r.overheard(r.mention(group, red, "还有呢？")); len(got) != 0 {
				t.Errorf("repeated: %q", got)
			}
			r.awaitAcks(r.sim.Say(group, red, "改吃饺子"))
			diff := cmp.Diff([]string{"小红: 改吃饺子"}, r.overheard(r.mention(group, r.user, "现在呢？")))
			if diff != "" {
				t.Error(diff)
			}
		})
	}
}

// There are no events for messages from before the bot's start; they are read from the platform's list.
func TestEarlierGroupMessagesAreBackfilled(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{Redeliver: []time.Duration{}})
	red := r.sim.AddUser("小红")
	r.cfg.Context.RecallChars = 0 // otherwise older messages are retrieved
	group, other := r.sim.Group("甲", r.user, red), r.sim.Group("乙", r.user, red)
	at := time.Now().Add(-time.Hour)
	for i := range 40 {
		r.sim.Say(group, red, fmt.Sprintf("甲-%d", i), feishusim.Time(at.Add(time.Duration(i)*time.Second)))
		r.sim.Say(other, red, fmt.Sprintf("乙-%d", i), feishusim.Time(at.Add(time.Duration(i)*time.Second)))
	}
	r.sim.Say(group, red, "没有收到的提问", feishusim.Time(at.Add(time.Minute)), feishusim.Mention())
	r.sim.Recall(r.sim.Say(group, red, "撤回的话", feishusim.Time(at.Add(2*time.Minute))))
	r.sim.Say(r.chat, r.user, "私聊的话", feishusim.Time(at))
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	for _, g := range []struct{ id, mark, foreign string }{{group, "甲", "乙-"}, {other, "乙", "甲-"}} {
		var want []string
		for i := 16; i < 40; i++ {
			want = append(want, fmt.Sprintf("小红: %s-%d", g.mark, i))
		}
		want = append(want, "小红: "+g.mark+"-新") // one message with an event does not imply that all had one
		r.awaitAcks(r.sim.Say(g.id, red, g.mark+"-新"))
		prompt := r.mention(g.id, r.user, "大家说了什么？")
		if diff := cmp.Diff(want, r.overheard(prompt)); diff != "" {
			t.Error(diff)
		}
		req := r.lastRequest()
		for _, word := range []string{g.foreign, "没有收到", "撤回", "私聊"} {
			if strings.Contains(req.AllText(), word) {
				t.Errorf("the prompt of group %[2]s contains %[1]q", word, g.mark)
			}
		}
	}
	if got := r.overheard(r.mention(group, r.user, "还有呢？")); len(got) != 0 {
		t.Errorf("repeated: %q", got)
	}
	r.awaitAcks(r.sim.Say(group, red, "新话"))
	asked := r.countLists(group)
	if got := r.overheard(r.mention(group, r.user, "还有呢？")); len(got) != 1 {
		t.Errorf("overheard %q", got)
	}
	if n := r.countLists(group); n != asked {
		t.Error("the list was read for a message that had an event")
	}
}

func TestNothingIsOverheardInAPrivateChat(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	r.ask("数到 3")
	before := r.countLists(r.chat)
	r.sql(`INSERT INTO messages (chat_key, seq, epoch, message_id, role, class, content, sent_at)
		VALUES (?1, 1000, 0, 'om_x', 'user', 'overheard', '旁听的话', 1)`, chat.FeishuChat(r.chat).String())
	r.ask("数到 4")
	if req := r.lastRequest(); strings.Contains(req.AllText(), "旁听的话") {
		t.Error("a private chat has overheard messages")
	}
	if n := r.countLists(r.chat); n != before {
		t.Errorf("the messages of a private chat were listed %d times", n-before)
	}
}

// Neither a missing permission nor a slow platform delays an answer, and the log says so once.
func TestAnAnswerDoesNotNeedWhatWasOverheard(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		platform feishusim.Config
		fault    *feishusim.Fault
	}{
		"no permission": {feishusim.Config{MentionsOnly: true}, nil},
		"slow": {feishusim.Config{}, &feishusim.Fault{
			Method: "GET", Path: "/open-apis/im/v1/messages", Delay: time.Minute,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := makeRig(t, tc.platform)
			r.cfg.Waits.Overheard = 0 // no time limit for the answer
			red := r.sim.AddUser("小红")
			group := r.sim.Group("测试群", r.user, red)
			r.start()
			t.Cleanup(func() { r.stop(); r.clean() })
			if tc.fault != nil {
				defer r.sim.Inject(*tc.fault)()
			}
			for range 3 {
				r.mention(group, r.user, "数到 3")
			}
			if n := r.countLists(group); n > 1 {
				t.Errorf("the platform was called %d times", n)
			}
			if n := strings.Count(r.logs.String(), "only those with events are known"); n != 1 {
				t.Errorf("logged %d times", n)
			}
		})
	}
}

// A stranger's messages in a group do not reach the agent.
func TestMessagesOfStrangersAreNotOverheard(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{Redeliver: []time.Duration{}})
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.cfg.Access.Allow = []string{r.user.OpenID}
	at := time.Now().Add(-time.Minute)
	r.sim.Say(group, red, "陌生人的话", feishusim.Time(at))
	r.sim.Say(group, r.user, "主人的话", feishusim.Time(at))
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	diff := cmp.Diff([]string{"小明: 主人的话"}, r.overheard(r.mention(group, r.user, "大家说了什么？")))
	if diff != "" {
		t.Error(diff)
	}
}

// Nothing from before /new comes back from the platform's list.
func TestNewForgetsWhatWasOverheardToo(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{Redeliver: []time.Duration{}})
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.sim.Say(group, red, "从前的话", feishusim.Time(time.Now().Add(-time.Minute)))
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	r.answer(group, r.sim.Say(group, r.user, "/new", feishusim.Mention()))
	if got := r.overheard(r.mention(group, r.user, "大家说了什么？")); len(got) != 0 {
		t.Errorf("overheard %q", got)
	}
}

func TestTheAgentKnowsWhoAsks(t *testing.T) {
	t.Parallel()
	for name, keepAlive := range map[string]time.Duration{"living process": time.Minute, "new process": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Claude.KeepAlive.Duration = keepAlive })
			red := r.sim.AddUser("小红")
			group := r.sim.Group("测试群", r.user, red)
			for _, who := range []feishusim.User{r.user, red, r.user} {
				prompt := r.mention(group, who, "我是谁？")
				if _, current, _ := readPrompt(prompt); current != "## [1] 用户("+who.Name+"):\n我是谁？" {
					t.Errorf("%s asks %q", who.Name, current)
				}
			}
		})
	}
}
