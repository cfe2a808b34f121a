package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"magpie/db/dbtest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// longShutdown gives the program time for final notices.
func longShutdown(c *config.Config) { c.Shutdown.Duration = 16 * time.Second }

// leftUndelivered reports whether notices stay in the outbox for the next start. That is an error unless the shutdown,
// which took this long, has used up its time.
func (r *rig) leftUndelivered(took time.Duration) bool {
	r.Helper()
	left := r.count(`SELECT COUNT(*) FROM outbox`)
	if total := r.cfg.Shutdown.Duration; left > 0 && took < total-total/10 {
		r.Errorf("%d notices are undelivered, and the shutdown took %v of %v", left, took, total)
	}
	return left > 0
}

// When the program stops in mid-answer, the card says so: that the answer goes on, or, if something was changed, that it
// can be continued.
func TestAShutdownIsAnnounced(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]bool{"nothing changed": false, "something changed": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, longShutdown, allowBash)
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
			want := "重启"
			if changed {
				want = "中断"
				r.calls(bash(appendLine("out.txt")))
			}
			id := r.sim.Say(r.chat, r.user, "说点什么")
			r.shows(r.chat, id, "说到一半")
			began := time.Now()
			r.stop()
			if changed && r.leftUndelivered(time.Since(began)) {
				r.start()
			} else if !changed && strings.Contains(r.logs.String(), "card not drawn") {
				t.Skip("the platform was too slow for the final notice, which the next start replaces")
			}
			card := r.answer(r.chat, id)
			if got := visibleText(card); !strings.Contains(got, "说到一半") || !strings.Contains(got, want) ||
				offers(card, doContinue) != changed {
				t.Errorf("card %q", got)
			}
		})
	}
}

func TestModelErrorsAreShownInFriendlyWords(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Fail(403, "permission_error", "secret internals"),
	}})
	if got := r.ask("你好"); !strings.Contains(got, "拒绝了机器人的访问") || strings.Contains(got, "secret") {
		t.Errorf("answer %q", got)
	}
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("next answer %q", got)
	}
}

func TestADeniedToolIsNamedOnTheCard(t *testing.T) {
	r := newRig(t)
	id := r.sim.Say(r.chat, r.user, "运行 `touch x.txt`")
	r.press(r.approval(r.chat, id, 1), doRefuse)
	if got := r.turnDone(r.chat, id).Text(); !strings.Contains(got, "Bash") || !strings.Contains(got, "已拒绝") {
		t.Errorf("answer %q", got)
	}
}

// A process that dies before it has used a tool is replaced within the turn. After that, nothing may be done twice.
func TestTheProcessDiesInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	t.Run("before a tool", func(t *testing.T) {
		r := newRig(t)
		r.ask("我叫小明")
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("半句"), modelsim.Hang()}})
		id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
		r.shows(r.chat, id, "半句")
		r.killProcess()
		if got := visibleText(r.answer(r.chat, id)); got != "你叫小明。" {
			t.Errorf("answer %q", got)
		}
	})
	t.Run("after a tool", func(t *testing.T) {
		r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.AllowedTools = []string{"Bash"} })
		r.ask("我叫小明")
		count := r.inProject("count")
		used := modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]any{"command": "echo x >> " + count, "description": "count"}),
		}}
		hang := modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("已经"), modelsim.Hang()}}
		r.model.Script(used, hang)
		id := r.sim.Say(r.chat, r.user, "数一下")
		r.shows(r.chat, id, "已经")
		r.killProcess()
		got := visibleText(r.answer(r.chat, id))
		if !strings.Contains(got, "已经") || !strings.Contains(got, "意外退出") {
			t.Errorf("answer %q", got)
		}
		if data, err := os.ReadFile(count); err != nil || string(data) != "x\n" {
			t.Errorf("the tool ran %q, %v", data, err)
		}
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			t.Errorf("next answer %q", got)
		}
	})
}

// knowsCard waits until the answer to a question shows words, and the bridge knows its card: a bridge that stops first
// does not draw it again.
func (r *rig) knowsCard(chatID, question, words string) {
	r.Helper()
	r.shows(chatID, question, words)
	r.until("the card to be stored", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE reply_to = ?1 AND card_id <> ''`, question) == 1
	})
}

// A question that waits for a process when the program ends has not run: it is answered after the restart.
func TestAWaitingQuestionSurvivesARestart(t *testing.T) {
	r := newRig(t, longShutdown, func(c *config.Config) { c.Claude.MaxProcesses = 1 })
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("半"), modelsim.Hang()}})
	r.sim.Say(r.chat, r.user, "说点什么")
	r.awaitModel("the first", func(list []modelsim.Request) bool { return len(list) == 1 })
	id := r.sim.Say(other, red, "数到 3")
	r.knowsCard(other, id, "排队")
	r.stop()
	if got := replies(r.sim.View(), other, id); (len(got) != 1 || !strings.Contains(got[0].Text(), "重启") || got[0].Last().Streaming) &&
		!strings.Contains(r.logs.String(), "card not drawn") {
		t.Errorf("while the program is stopped the card says %q", got[0].Text())
	}
	r.start()
	r.await("the answer", func(v *feishusim.View) bool {
		list := replies(v, other, id)
		return len(list) == 1 && visibleText(list[0]) == "1 2 3" && !list[0].Last().Streaming
	})
}

// The end of a turn cannot be stored for a while: the answer is on its card, and joins the History later.
func TestAnAnswerThatCouldNotBeStoredAtOnce(t *testing.T) {
	r := newRig(t)
	bad := dbtest.Trigger{Name: "bad", On: "BEFORE UPDATE OF state ON turns", If: "NEW.state = 'done'"}
	r.sql(bad.Create())
	id := r.sim.Say(r.chat, r.user, "我叫小明")
	if got := visibleText(r.answer(r.chat, id)); got != "好的，小明，我记住了。" {
		t.Fatalf("answer %q", got)
	}
	r.sql(bad.Drop())
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("next answer %q", got)
	}
	r.stop()
	r.start()
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer after a restart %q", got)
	}
	if got := visibleText(r.answer(r.chat, id)); got != "好的，小明，我记住了。" {
		t.Errorf("the first card now says %q", got)
	}
}

// A message is late by the platform's clock: this machine's may be off by hours.
func TestAWrongClockMakesNobodyLate(t *testing.T) {
	const behind = 8 * time.Hour
	r := makeRig(t, feishusim.Config{ClockBehind: behind})
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	id := r.sim.Say(r.chat, r.user, "/help", feishusim.Time(time.Now().Add(-behind)))
	if got := visibleText(r.answer(r.chat, id)); strings.Contains(got, "小时") || !strings.Contains(got, "/new") {
		t.Errorf("/help: %q", got)
	}
}
