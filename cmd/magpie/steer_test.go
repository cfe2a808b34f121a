package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/bridge/budget"
	"magpie/internal/claude/workspace"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// tells matches the requests that contain words anywhere.
func tells(words string) func(*modelsim.Request) bool {
	return func(q *modelsim.Request) bool { return strings.Contains(q.AllText(), words) }
}

// startAnswer starts an answer that pauses in the middle, and returns the question's id and a function that continues it.
func (r *rig) startAnswer(chatID string, opt ...feishusim.SendOption) (id string, goOn func()) {
	r.Helper()
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Match: asksFor("数一数"), Times: 1, Steps: []modelsim.Step{
		modelsim.Text("一"), modelsim.Hold(hold), modelsim.Text("二"),
	}})
	id = r.sim.Say(chatID, r.user, "数一数", opt...)
	r.shows(chatID, id, "一")
	return id, func() { close(hold) }
}

// handedOver waits until the agent of a running turn has read a message from its input, which the transcript shows.
func (r *rig) handedOver(text string) {
	r.Helper()
	r.until("the message to be handed over", func() (found bool) {
		// what is renamed or deleted meanwhile is looked at again
		_ = filepath.WalkDir(filepath.Dir(databaseOf(r.cfg)),
			func(path string, _ fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, ".jsonl") {
					data, _ := os.ReadFile(path)
					for line := range strings.Lines(string(data)) {
						found = found || strings.Contains(line, `"operation":"enqueue"`) && strings.Contains(line, text)
					}
				}
				return nil
			})
		return found
	})
}

// checkUnanswered checks that a message has no answer of its own.
func (r *rig) checkUnanswered(chatID, id string) {
	r.Helper()
	if list := replies(r.sim.View(), chatID, id); len(list) != 0 {
		r.Errorf("it is answered on its own: %q", list[0].Text())
	}
}

// A message that arrives while a tool runs reaches the agent after it, and is part of the one answer.
func TestAnAdditionReachesTheRunningTurn(t *testing.T) {
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.AllowedTools = []string{"Bash"} })
	gate := filepath.Join(t.TempDir(), "gate")
	r.model.Script(
		modelsim.Rule{Match: tells("也看看蓝色的"), Steps: []modelsim.Step{modelsim.Text("红的蓝的都看了")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("先看红的"), modelsim.Tool("Bash", map[string]string{
			"command": "for i in $(seq 600); do [ -e " + gate + " ] && break; sleep 0.1; done", "description": "look",
		})}},
	)
	id := r.sim.Say(r.chat, r.user, "看看红色的")
	r.shows(r.chat, id, "for i in")
	added := r.sim.Say(r.chat, r.user, "补充：也看看蓝色的")
	r.handedOver("也看看蓝色的")
	must(t, os.WriteFile(gate, nil, 0o600))
	card := r.answer(r.chat, id)
	if got := visibleText(card); got != "先看红的\n\n红的蓝的都看了" || !strings.Contains(card.Text(), "**补充** `补充：也看看蓝色的`") {
		t.Errorf("answer %q of %q", got, card.Text())
	}
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	r.checkUnanswered(r.chat, added)
	if got := r.ask("我刚才问了什么？"); strings.Contains(got, "丢失") {
		t.Errorf("next answer %q", got)
	}
	if n := r.count(`SELECT COUNT(*) FROM steers`); n != 0 {
		t.Errorf("%d messages are still unread", n)
	}
}

// A message that arrives while the agent writes continues its answer: if it begins with a certain word, if it quotes
// the card, or always.
func TestAnAdditionMakesTheAnswerGoOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text   string
		quotes bool
		always bool
	}{
		"a word": {text: "Also: 三"}, "the card is quoted": {text: "还有三", quotes: true}, "always": {text: "还有三", always: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				if tc.always {
					c.Claude.WhileBusy = workspace.Steers
				}
			})
			id, goOn := r.startAnswer(r.chat)
			r.model.Script(modelsim.Rule{Match: asksFor("三"), Steps: []modelsim.Step{modelsim.Text("三")}})
			var opt []feishusim.SendOption
			if tc.quotes {
				opt = append(opt, feishusim.ReplyTo(replies(r.sim.View(), r.chat, id)[0].ID))
			}
			added := r.sim.Say(r.chat, r.user, tc.text, opt...)
			r.handedOver("三")
			goOn()
			if got := visibleText(r.answer(r.chat, id)); got != "一二\n\n三" {
				t.Errorf("answer %q", got)
			}
			r.checkUnanswered(r.chat, added)
			r.await("both messages to be marked as done", func(v *feishusim.View) bool {
				return sameReaction(v, id, added)
			})
			if n := r.count(`SELECT COUNT(*) FROM messages WHERE turn_id = 1 AND role = 'user'`); n != 2 {
				t.Errorf("the turn has %d questions", n)
			}
		})
	}
}

// Each message of the answer counts as the running card: the one after a decision, and the later pages of a long one.
func TestEachMessageOfTheAnswerIsTheRunningCard(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		decided bool
		said    string
	}{
		"below a decision": {true, "正在"},
		"the second page":  {false, strings.Repeat("一行很长的文字。\n\n", 500) + "正在"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			drawn, goOn := make(chan struct{}), make(chan struct{})
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Text(tc.said), modelsim.Hold(drawn), modelsim.Text("收拾。"), modelsim.Hold(goOn),
			}}, modelsim.Rule{Match: tells("还有三"), Steps: []modelsim.Step{modelsim.Text("三")}})
			if tc.decided { // the latest script takes precedence
				r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("我来。"), bash(appendLine("out.txt"))}})
			}
			id := r.sim.Say(r.chat, r.user, "动手吧")
			if tc.decided {
				r.press(r.approval(r.chat, id, 1), doAllow)
			}
			second := func(words string) (m feishusim.Message) {
				r.await(words, func(v *feishusim.View) bool {
					list := ofTurns(v, r.chat, id)
					if len(list) == 2 {
						m = list[1]
					}
					return strings.HasSuffix(visibleText(m), words)
				})
				return m
			}
			second("正在")
			close(drawn) // the edit of the message was sent
			added := r.sim.Say(r.chat, r.user, "还有三", feishusim.ReplyTo(second("正在收拾。").ID))
			r.handedOver("还有三")
			close(goOn)
			second("正在收拾。\n\n三")
			r.checkUnanswered(r.chat, added)
		})
	}
}

// A message that arrives while the turn waits for a process becomes part of its question.
func TestAnAdditionToAQuestionThatWaits(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.MaxTurns = 1 })
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	_, goOn := r.startAnswer(r.chat)
	id := r.sim.Say(other, red, "我叫小红")
	r.shows(other, id, "排队")
	added := r.sim.Say(other, red, "补充：我还有一只猫")
	r.until("the message to be handed over", func() bool { return r.count(`SELECT COUNT(*) FROM steers`) == 1 })
	goOn()
	r.answer(other, id)
	if q := r.lastRequest(); len(r.model.Requests()) != 2 || !strings.Contains(q.LastUser(), "我叫小红") ||
		!strings.Contains(q.LastUser(), "补充：我还有一只猫") {
		t.Errorf("%d requests, the last: %s", len(r.model.Requests()), q.LastUser())
	}
	r.checkUnanswered(other, added)
	if n := r.count(`SELECT COUNT(*) FROM steers`); n != 0 {
		t.Errorf("%d messages are still unread", n)
	}
}

// Other messages wait as usual, such as another question, or an addition by another member of the group. Which others
// do is in [magpie/bridge.TestWhichMessagesARunningTurnGets].
func TestOtherMessagesWaitForTheTurn(t *testing.T) {
	t.Parallel()
	t.Run("a question", func(t *testing.T) {
		r := newRig(t)
		id, goOn := r.startAnswer(r.chat)
		next := r.sim.Say(r.chat, r.user, "数到 3")
		r.until("the question to wait", func() bool {
			return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued'`) == 1
		})
		goOn()
		if got := visibleText(r.answer(r.chat, id)); got != "一二" {
			t.Errorf("answer %q", got)
		}
		if got := visibleText(r.answer(r.chat, next)); got != "1 2 3" {
			t.Errorf("next answer %q", got)
		}
	})
	t.Run("somebody else", func(t *testing.T) {
		r := newRig(t)
		other := r.sim.AddUser("小红")
		group := r.sim.Group("项目", r.user, other)
		id, goOn := r.startAnswer(group, feishusim.Mention())
		r.model.Script(modelsim.Rule{Match: asksFor("再数"), Steps: []modelsim.Step{modelsim.Text("好")}})
		next := r.sim.Say(group, other, "补充：再数", feishusim.Mention())
		r.until("the question to wait", func() bool {
			return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued'`) == 1
		})
		goOn()
		if got := visibleText(r.answer(group, id)); got != "一二" {
			t.Errorf("answer %q", got)
		}
		if got := visibleText(r.answer(group, next)); got != "好" {
			t.Errorf("next answer %q", got)
		}
	})
}

// A turn that is stopped drops the messages that were added to it.
func TestAStopEndsAnAdditionToo(t *testing.T) {
	r := newRig(t)
	id, goOn := r.startAnswer(r.chat)
	defer goOn()
	added := r.sim.Say(r.chat, r.user, "补充：三")
	r.until("the message to be handed over", func() bool { return r.count(`SELECT COUNT(*) FROM steers`) == 1 })
	r.sim.Say(r.chat, r.user, "停")
	if got := r.answer(r.chat, id).Text(); !strings.Contains(got, "已停止") {
		t.Errorf("answer %q", got)
	}
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("next answer %q", got)
	}
	r.checkUnanswered(r.chat, added)
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	if n := r.count(`SELECT COUNT(*) FROM steers`); n != 0 {
		t.Errorf("%d messages are still unread", n)
	}
}

// A message that the agent could not read because its process died is answered: with the question if nothing was done
// yet, otherwise on its own.
func TestAnAdditionOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	t.Run("before a tool", func(t *testing.T) {
		r := newRig(t)
		id, goOn := r.startAnswer(r.chat)
		defer goOn()
		added := r.sim.Say(r.chat, r.user, "补充：三")
		r.until("the message to be handed over", func() bool { return r.count(`SELECT COUNT(*) FROM steers`) == 1 })
		r.model.Script(modelsim.Rule{Match: asksFor("补充：三"), Steps: []modelsim.Step{modelsim.Text("一二三")}})
		r.killProcess()
		if got := visibleText(r.answer(r.chat, id)); got != "一二三" {
			t.Errorf("answer %q", got)
		}
		r.checkUnanswered(r.chat, added)
	})
	t.Run("behind a tool", func(t *testing.T) {
		r := newRig(t, func(c *config.Config) { c.Claude.AllowedTools = []string{"Bash"} })
		r.model.Script(
			modelsim.Rule{Match: asksFor("补充：三"), Steps: []modelsim.Step{modelsim.Text("三")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Tool("Bash", map[string]string{"command": "sleep 300", "description": "wait"}),
			}})
		id := r.sim.Say(r.chat, r.user, "等一下")
		r.shows(r.chat, id, "sleep 300")
		added := r.sim.Say(r.chat, r.user, "补充：三")
		r.until("the message to be handed over", func() bool { return r.count(`SELECT COUNT(*) FROM steers`) == 1 })
		r.killProcess()
		r.answer(r.chat, id)
		if got := visibleText(r.answer(r.chat, added)); got != "三" {
			t.Errorf("answer %q", got)
		}
	})
}

var steerSteps = []string{"steer: stored", "steer: handed", "steer: read", "steer: noted"}

// steersTheCLI are the steps that are tested with the real CLI, as it matters what the CLI does alone. (The scripted
// agent ends when nobody reads its output.)
var steersTheCLI = []string{"steer: stored", "steer: handed", "steer: read"}

// The program is killed around a message that was handed to a turn. The agent continues alone, and may read it. After
// the restart the message is answered once: with its turn if the agent has read it, otherwise on its own.
func TestACrashAroundAnAddition(t *testing.T) {
	t.Parallel()
	for _, step := range steerSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) {
				if slices.Contains(steersTheCLI, step) {
					realCLI(t)(c)
				}
			})
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			id, goOn := s.startAnswer(s.chat)
			s.model.Script(modelsim.Rule{Match: asksFor("三"), Steps: []modelsim.Step{modelsim.Text("三")}})
			added := s.sim.Say(s.chat, s.user, "补充：三")
			atRead := step == "steer: read" || step == "steer: noted"
			if atRead {
				s.handedOver("补充：三")
				goOn()
			}
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			if !atRead {
				goOn()
			}
			s.awaitNoAgents(patience)
			s.run()
			s.connected()
			switch got := visibleText(s.answer(s.chat, id)); {
			case got == "一二\n\n三" && step != "steer: stored":
				s.checkUnanswered(s.chat, added)
			case got == "一二" && !atRead: // it had not reached the agent's input
				if got := visibleText(s.answer(s.chat, added)); got != "三" {
					t.Errorf("the answer to the added message is %q", got)
				}
			default:
				t.Errorf("answer %q", got)
			}
			if n := count(s.model.Requests(), asksFor("三")); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			s.terminate()
			s.clean()
		})
	}
}

// sameReaction reports whether two messages show the same single reaction.
func sameReaction(v *feishusim.View, a, b string) bool {
	x, _ := v.Message(a)
	y, _ := v.Message(b)
	return len(x.Reactions) == 1 && slices.Equal(x.Reactions, y.Reactions)
}

// A turn costs money however it ends. A process that is ended, or dies, reports nothing: its transcript tells what was
// used.
func TestATurnThatIsCutOffIsPaidFor(t *testing.T) {
	t.Parallel()
	ends := map[string]func(r *rig, id string){
		"stopped with an addition": func(r *rig, id string) {
			r.sim.Say(r.chat, r.user, "补充：三")
			r.until("the message to be handed over", func() bool { return r.count(`SELECT COUNT(*) FROM steers`) == 1 })
			r.sim.Say(r.chat, r.user, "停")
		},
		"its process dies": func(r *rig, _ string) { r.killProcess() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash)
			r.ask("数到 2") // from which the price of the model is known
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Tool("Bash", map[string]string{"command": "sleep 300", "description": "wait"}),
			}})
			id := r.sim.Say(r.chat, r.user, "等一下")
			r.shows(r.chat, id, "sleep 300")
			end(r, id)
			r.answer(r.chat, id)
			if n := r.count(`SELECT COUNT(*) FROM ledger WHERE turn_id = 2 AND user_id <> '' AND cost_usd > 0
				AND tokens > 0`); n != 1 {
				t.Errorf("the turn is booked %d times", n)
			}
		})
	}
}

// A message for the running turn is refused when a limit of the day is used up, as a question is: otherwise one could go
// on asking in a turn as long as it runs. The turn itself may finish.
func TestAnAdditionNeedsABudget(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]budget.Limits{
		"of the user": {UserDayTokens: 1}, "of the chat": {ChatDayUSD: 0.000001},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ask("数到 2")
			id, goOn := r.startAnswer(r.chat)
			r.setBudget(limit)
			refused := r.sim.Say(r.chat, r.user, "补充：三")
			r.await("the refusal", func(v *feishusim.View) bool {
				list := replies(v, r.chat, refused)
				return len(list) == 1 && strings.Contains(list[0].Text(), "今天的额度已用完")
			})
			r.setBudget(budget.Limits{UserDayTokens: 1 << 40})
			added := r.sim.Say(r.chat, r.user, "补充：四")
			r.handedOver("补充：四")
			goOn()
			r.answer(r.chat, id)
			r.until("the end of all turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if count(r.model.Requests(), tells("补充：三")) != 0 || count(r.model.Requests(), tells("补充：四")) == 0 {
				t.Error("the agent was told what was refused, or not what was not")
			}
			r.checkUnanswered(r.chat, added)
		})
	}
}
