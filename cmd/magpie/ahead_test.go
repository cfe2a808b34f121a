package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// hasProcess waits until an idle process waits for its chat's next message, after that many starts.
func (r *rig) hasProcess(starts int) {
	r.Helper()
	r.until(fmt.Sprintf("an idle process after %d starts", starts), func() bool {
		s := r.pool().Stats()
		return s.Idle == 1 && s.Started == starts && s.Running == 0
	})
}

// Somebody who opens the chat, writes to others in the group, or presses a button is likely to ask something soon: the
// process is started ahead of the question. It has resumed the session, writes nothing to it, and makes no request.
func TestTheProcessStartsBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	signs := map[string]func(r *rig, group string){
		"the chat is opened": func(r *rig, _ string) { r.sim.EnterChat(r.user) },
		"a button is pressed": func(r *rig, _ string) {
			help := r.answer(r.chat, r.sim.Say(r.chat, r.user, "/help"))
			_, err := r.sim.Press(r.Context(), help.ID, r.user, chat.Action{Do: turncard.DoCommand, ID: "/status"})
			must(r, err)
		},
		"an answer is read":          func(r *rig, _ string) { r.sim.Read(r.lastAnswer(r.chat), r.user) },
		"somebody else is spoken to": func(r *rig, group string) { r.sim.Say(group, r.user, "大家早") },
	}
	for name, sign := range signs {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				if c.Claude.Ahead = time.Hour; name == "the chat is opened" {
					realCLI(t)(c)
				}
			})
			room, group := r.chat, ""
			options := []feishusim.SendOption(nil)
			if name == "somebody else is spoken to" {
				group = r.sim.Group("队", r.user, r.sim.AddUser("小红"))
				room, options = group, append(options, feishusim.Mention())
			}
			r.answer(room, r.sim.Say(room, r.user, "我叫小明", options...))
			r.drop(room)
			path := r.transcriptOf(r.stored(room))
			before, err := os.ReadFile(path)
			must(t, err)
			asked := len(r.model.Requests())
			sign(r, group)
			r.hasProcess(2)
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) ||
				len(r.model.Requests()) != asked {
				t.Errorf("%d bytes more, %d requests, %v", len(after)-len(before), len(r.model.Requests())-asked, err)
			}
			got := visibleText(r.answer(room, r.sim.Say(room, r.user, "我叫什么名字？", options...)))
			if got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			if b := r.lastBuilt(); b.Live || !b.Prompt.UseResume || b.Lost != "" {
				t.Errorf("live %v, resumed %v, lost %q", b.Live, b.Prompt.UseResume, b.Lost)
			}
			if n := r.started(); n != 2 {
				t.Errorf("%d processes were started", n)
			}
		})
	}
}

// lastAnswer is the id of the bot's last message in a chat.
func (r *rig) lastAnswer(room string) (id string) {
	r.Helper()
	for _, m := range r.sim.Messages(room) {
		if m.FromBot {
			id = m.ID
		}
	}
	return id
}

// After a restart the process of the chat starts before anybody asks. It has resumed the session, writes nothing to it,
// and makes no request. If the session is lost, nobody hears of it, and the conversation goes on all the same.
func TestTheProcessIsThereAfterARestart(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) { readyAfterRestart(t, command, nil) })
	for name, damage := range map[string]func(path string) error{
		"lost":    os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("\x00\x00\n{"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) { readyAfterRestart(t, claudetest.Command(t), damage) })
	}
}

func readyAfterRestart(t *testing.T, command string, damage func(path string) error) {
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.Command = command })
	r.ask("我叫小明")
	path := r.transcriptPath()
	r.stop()
	if damage != nil {
		must(t, damage(path))
	}
	before, _ := os.ReadFile(path)
	asked, said := len(r.model.Requests()), len(r.sim.Messages(r.chat))
	r.start()
	if damage == nil {
		r.hasProcess(1)
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%d bytes more, %v", len(after)-len(before), err)
		}
	}
	if n, m := len(r.model.Requests())-asked, len(r.sim.Messages(r.chat))-said; n != 0 || m != 0 {
		t.Errorf("%d requests, %d messages before the question", n, m)
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if b := r.lastBuilt(); b.Live || b.Prompt.UseResume != (damage == nil) || (b.Lost == "") != (damage == nil) {
		t.Errorf("live %v, resumed %v, lost %q", b.Live, b.Prompt.UseResume, b.Lost)
	}
	if n := r.started(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

// Each read receipt is reported. It starts nothing while there is a process, one process now and then if there is none,
// and never one for somebody who may no longer use the bot.
func TestReadReceiptsStartFewProcesses(t *testing.T) {
	t.Parallel()
	for name, admitted := range map[string]bool{"admitted": true, "not admitted any more": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Claude.Ahead = time.Hour })
			r.ask("我叫小明")
			answer := r.lastAnswer(r.chat)
			for range 20 {
				r.sim.Read(answer, r.user)
			}
			r.ask("你好") // by then the other events were handled
			if n := r.started(); n != 1 {
				t.Fatalf("%d processes were started although there was one", n)
			}
			boss := r.sim.AddUser("老板")
			if allow := []string{r.user.OpenID}; admitted {
				r.setAccess(access.Config{Owner: boss.OpenID, Allow: allow})
			} else {
				r.setAccess(access.Config{Owner: boss.OpenID, Deny: allow})
			}
			r.dropProcess()
			r.sim.Read(answer, r.user)
			want := 1
			if admitted {
				want = 2
				r.hasProcess(want)
				r.dropProcess()
				r.sim.Read(answer, r.user)
			}
			room := r.sim.PrivateChat(boss)
			r.answer(room, r.sim.Say(room, boss, "早"))
			if n := r.started(); n != want+1 {
				t.Errorf("%d processes were started, want %d and the owner's", n, want)
			}
			if admitted { // after a restart both chats get their processes again, and the reader's is there already
				r.stop()
				r.start()
				r.until("both idle processes", func() bool { return r.pool().Stats().Idle == 2 })
				r.sim.Read(answer, r.user)
				r.answer(room, r.sim.Say(room, boss, "好"))
				if n := r.started(); n != 2 {
					t.Errorf("%d processes were started after a restart", n)
				}
			}
		})
	}
}

// After /new and /reset a process with a new session is started in the chat's folder; the earlier session can still be
// resumed. The first question, even one that comes with the command, uses it.
func TestAProcessStartsAfterNew(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(r *rig, starts int){
		"new":   func(r *rig, starts int) { r.ask("/new"); r.hasProcess(starts); r.ask("你好") },
		"reset": func(r *rig, starts int) { r.ask("/reset"); r.hasProcess(starts); r.ask("你好") },
		"with the question": func(r *rig, _ int) {
			r.sim.Say(r.chat, r.user, "/new 你好")
			r.until("the answer", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 2
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Claude.Ahead = time.Millisecond }) // for hints
			r.ask("我叫小明")
			first := r.lastSession()
			begin(r, 2)
			if n, now := r.started(), r.lastSession(); n != 2 || now == first || now == "" {
				t.Errorf("%d processes were started; session %q after %q", n, now, first)
			}
			if got := r.ask("我叫什么名字？"); got == "你叫小明。" {
				t.Error("the new conversation knows the old one")
			}
			if r.transcriptPath(); r.started() != 2 {
				t.Errorf("%+v", r.pool().Stats())
			}
			r.ask("/resume " + first)
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" || r.lastSession() != first {
				t.Errorf("%q in session %s, want %s", got, r.lastSession(), first)
			}
		})
	}
}

// A setting that changes during a turn makes the turn's process unfit for the next question, even one that waits
// already. The process for that one is started as soon as the turn has ended.
func TestTheNextProcessStartsAfterAChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ command, answer string }{
		"another model": {"/model opus", "你叫小明。"}, "a new conversation": {"/new", ""},
	} {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", queued: ", queued), func(t *testing.T) {
				r := newRig(t)
				hold := make(chan struct{})
				r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("好"), modelsim.Hold(hold)}})
				first := r.sim.Say(r.chat, r.user, "我叫小明")
				r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) == 1 })
				r.ask(tc.command)
				next := ""
				if queued {
					next = r.sim.Say(r.chat, r.user, "我叫什么名字？")
					r.awaitReceived(next)
				}
				close(hold)
				r.answer(r.chat, first)
				if !queued {
					r.hasProcess(2)
					next = r.sim.Say(r.chat, r.user, "我叫什么名字？")
				}
				if got := visibleText(r.answer(r.chat, next)); (got == "你叫小明。") != (tc.answer != "") {
					t.Errorf("answer %q", got)
				}
				if b := r.lastBuilt(); b.Live {
					t.Error("the process with the old settings was asked")
				}
				if n := r.started(); n != 2 {
					t.Errorf("%d processes were started", n)
				}
			})
		}
	}
}

// In a chat in which the bot was never asked anything, hints do not start a process. Elsewhere they do now and then.
func TestMostHintsStartNoProcess(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.Ahead = time.Hour })
	group := r.sim.Group("队", r.user, r.sim.AddUser("小红"))
	key := chat.FeishuChat(group)
	r.sim.Say(group, r.user, "大家早") // the bot was never asked anything here
	r.answer(group, r.sim.Say(group, r.user, "你好", feishusim.Mention()))
	if n := r.started(); n != 1 {
		t.Errorf("%d processes", n)
	}
	<-r.pool().Drop(key.String())
	r.sim.Say(group, r.user, "还在吗") // the second hint within ten minutes
	r.awaitReceived(r.sim.Say(group, r.user, "嗯"))
	r.ask("私聊")
	if n := r.started(); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// A message to others starts a process in a chat that was active within a day. A pressed button always does, even right
// after such a message.
func TestHintsInASilentChat(t *testing.T) {
	t.Parallel()
	for hours, counts := range map[int]bool{20: true, 30: false} {
		t.Run(fmt.Sprint(hours, " hours"), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Claude.Ahead = time.Hour })
			group := r.sim.Group("队", r.user, r.sim.AddUser("小红"))
			key := chat.FeishuChat(group).String()
			r.answer(group, r.sim.Say(group, r.user, "你好", feishusim.Mention()))
			help := r.answer(group, r.sim.Say(group, r.user, "/help", feishusim.Mention()))
			started := func(want int) {
				r.Helper()
				r.until(fmt.Sprint(want, " starts"), func() bool { return r.started() == want })
			}
			r.sql(`UPDATE chats SET turned_at = turned_at - ?1 WHERE key = ?2`, hours*60*60*1000, key)
			<-r.pool().Drop(key)
			r.awaitReceived(r.sim.Say(group, r.user, "大家早"))
			if counts {
				started(2)
				return
			}
			r.ask("私聊") // by then the message to others was handled
			started(2)
			_, err := r.sim.Press(r.Context(), help.ID, r.user, chat.Action{Do: turncard.DoCommand, ID: "/status"})
			must(t, err)
			started(3)
		})
	}
}
