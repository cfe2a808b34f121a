package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// button finds the value of a card's button by its action.
func (r *rig) button(m feishusim.Message, do string) any {
	r.Helper()
	for _, part := range strings.Split(string(m.Last().Card), `"value":`)[1:] {
		var v map[string]any
		if json.NewDecoder(strings.NewReader(part)).Decode(&v) == nil && v["do"] == do {
			return v
		}
	}
	r.Fatalf("no button %q in %s", do, m.Last().Card)
	return nil
}

// offers reports whether a card has a button with this action.
func offers(m feishusim.Message, do string) bool {
	return strings.Contains(string(m.Last().Card), `"do":"`+do+`"`)
}

func hasButtons(m feishusim.Message) bool { return strings.Contains(string(m.Last().Card), `"value":`) }

// press presses a button of a card and returns the toast.
func (r *rig) press(m feishusim.Message, do string) string {
	r.Helper()
	got, err := r.sim.Press(r.Context(), m.ID, r.user, r.button(m, do))
	must(r, err)
	return string(got)
}

// interruptAnswer asks something, and restarts the program when half of the answer is visible. If changed, a tool has
// changed something by then.
func (r *rig) interruptAnswer(changed bool) (id string, card feishusim.Message) {
	r.Helper()
	half := modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}}
	rest := modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("另外一半")}}
	r.model.Script(half, rest)
	if changed {
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(appendLine("out.txt"))}})
	}
	id = r.sim.Say(r.chat, r.user, "说点什么")
	r.shows(r.chat, id, "说到一半")
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > r.cfg.Shutdown.Duration+busy {
		r.Errorf("the stop took %v, the limit is %v", took, r.cfg.Shutdown.Duration)
	}
	r.start()
	return id, r.answer(r.chat, id)
}

// An answer that a restart cuts off goes on by itself if nothing was changed, and otherwise when somebody asks for it.
func TestAnInterruptedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"by itself", "button", "word"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, allowBash)
			id, card := r.interruptAnswer(how != "by itself")
			requests := 3
			switch how {
			case "by itself":
				requests = 2
				r.await("the rest", func(v *feishusim.View) bool {
					list := replies(v, r.chat, id)
					return len(list) == 1 && visibleText(list[0]) == "另外一半" && !running(list[0]) && !list[0].Last().Streaming
				})
			case "button":
				if got := r.press(card, doContinue); !strings.Contains(got, "好的，继续") {
					t.Errorf("got %q", got)
				}
				r.await("the rest", func(v *feishusim.View) bool {
					list := replies(v, r.chat, id)
					return len(list) == 2 && visibleText(list[1]) == "另外一半" && !list[1].Last().Streaming
				})
				if got := r.press(card, doContinue); !strings.Contains(got, "已经结束") {
					t.Errorf("the second press got %q", got)
				}
			case "word":
				if got := r.ask("继续"); got != "另外一半" {
					t.Errorf("answer %q", got)
				}
			}
			req := r.lastRequest()
			asked := "继续\n\n（说明：上一次回答因服务中断而没有完成"
			if how == "by itself" {
				asked = "说点什么\n\n（说明：回答这个问题时服务重启了"
			}
			if _, current, _ := readPrompt(req.LastUser()); !strings.HasPrefix(current, asked) {
				t.Errorf("the agent was asked %q", req.LastUser())
			}
			if n := len(r.model.Requests()); n != requests {
				t.Errorf("the model was asked %d times", n)
			}
			if how == "by itself" {
				return
			}
			if got := visibleText(card); !strings.Contains(got, "说到一半") || !strings.Contains(got, "中断") {
				t.Errorf("card %q", got)
			}
			if !strings.Contains(req.AllText(), "说到一半") || !strings.Contains(req.AllText(), "说点什么") {
				t.Errorf("the agent does not know the interrupted answer: %s", req.AllText())
			}
			r.await("the old card without buttons", func(v *feishusim.View) bool {
				m := replies(v, r.chat, id)[0]
				return !hasButtons(m) && strings.Contains(m.Text(), "说到一半") &&
					strings.Contains(m.Text(), "下面继续")
			})
			r.checkRuns("out.txt", 1)
		})
	}
}

// These are the actions on the cards, as the platform sends them back.
const (
	doContinue = "continue"
	doDrop     = "drop"
)

func TestAnInterruptedAnswerIsDropped(t *testing.T) {
	r := newRig(t, allowBash)
	id, card := r.interruptAnswer(true)
	r.press(card, doDrop)
	r.await("the card without buttons", func(v *feishusim.View) bool {
		m := replies(v, r.chat, id)[0]
		return !hasButtons(m) && strings.Contains(m.Text(), "不处理了")
	})
	if got := r.press(card, doContinue); !strings.Contains(got, "已经结束") {
		t.Errorf("got %q", got)
	}
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// The platform is down when the answer is complete: it is delivered when the platform is back, also after a restart.
func TestAnAnswerWaitsForThePlatform(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			r := newRig(t)
			hold := make(chan struct{})
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Text("一"), modelsim.Hold(hold), modelsim.Text("二"),
			}})
			id := r.sim.Say(r.chat, r.user, "说点什么")
			r.shows(r.chat, id, "一")
			back := r.sim.Inject(feishusim.Fault{
				Path: "/open-apis/", Status: http.StatusBadGateway, Body: "<html>502</html>",
			})
			close(hold)
			r.awaitLog("turn ended")
			if restart {
				r.stop()
			}
			if m := replies(r.sim.View(), r.chat, id)[0]; strings.Contains(m.Text(), "二") {
				t.Fatalf("the platform was not down: %q", m.Text())
			}
			back()
			if restart {
				r.start()
			}
			if got := visibleText(r.answer(r.chat, id)); got != "一二" {
				t.Errorf("answer %q", got)
			}
			if got := r.ask("数到 3"); got != "1 2 3" {
				t.Errorf("next answer %q", got)
			}
		})
	}
}

func TestALateMessageIsAnsweredOnRequest(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"button", "word", "drop"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			ago := feishusim.Time(time.Now().Add(-3 * time.Hour))
			id := r.sim.Say(r.chat, r.user, "数到 3", ago)
			card := r.answer(r.chat, id)
			if got := visibleText(card); !strings.Contains(got, "晚到了 3 小时") || !offers(card, doContinue) {
				t.Errorf("card %q", got)
			}
			if got := r.ask("/status"); !strings.Contains(got, "空闲") {
				t.Errorf("status %q", got)
			}
			if n := len(r.model.Requests()); n != 0 {
				t.Fatalf("the model was asked %d times", n)
			}
			switch how {
			case "button":
				r.press(card, doContinue)
			case "word":
				r.sim.Say(r.chat, r.user, "继续")
			case "drop":
				r.press(card, doDrop)
				r.await("the end of it", func(v *feishusim.View) bool { return !hasButtons(replies(v, r.chat, id)[0]) })
				if got := r.press(card, doContinue); !strings.Contains(got, "已经结束") {
					t.Errorf("got %q", got)
				}
				return
			}
			r.awaitModel("the question", func(list []modelsim.Request) bool {
				return len(list) == 1 && strings.Contains(list[0].LastUser(), "数到 3")
			})
			r.await("the answer on the same card", func(v *feishusim.View) bool {
				list := replies(v, r.chat, id)
				return len(list) == 1 && !list[0].Last().Streaming && !offers(list[0], doContinue) &&
					!strings.Contains(list[0].Text(), "晚到")
			})
		})
	}
	t.Run("command", func(t *testing.T) {
		r := newRig(t)
		r.ask("我叫小明")
		id := r.sim.Say(r.chat, r.user, "/reset", feishusim.Time(time.Now().Add(-3*time.Hour)))
		got := visibleText(r.answer(r.chat, id))
		if !strings.Contains(got, "/reset") || !strings.Contains(got, "没有执行") {
			t.Errorf("reply %q", got)
		}
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			t.Errorf("answer %q", got)
		}
	})
}

// Fifty messages arrive while an answer runs: they take one further turn, all in order, each in the prompt once.
func TestABurstOfFifty(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("等"), modelsim.Hold(hold), modelsim.Text("好"),
	}})
	now := time.Now()
	r.sim.Say(r.chat, r.user, "第 0 条", feishusim.Time(now))
	r.awaitModel("the first", func(list []modelsim.Request) bool { return len(list) == 1 })
	var want, sent []string
	for i := 1; i <= 50; i++ {
		want = append(want, fmt.Sprintf("第 %d 条", i))
		sent = append(sent, r.sim.Say(
			r.chat, r.user, want[i-1], feishusim.Time(now.Add(time.Duration(i)*time.Millisecond)),
		))
	}
	r.awaitAcks(sent...)
	close(hold)
	var got []string
	r.awaitModel("all of them", func(list []modelsim.Request) bool {
		got = nil
		for _, req := range list[1:] {
			_, current, _ := readPrompt(req.LastUser())
			got = append(got, strings.Split(current, "\n\n")...)
		}
		return len(got) >= 50
	})
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("%d turns", n)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the agent was asked %q", got)
	}
}

// A question that waits for a process is not started when one becomes free during a stop.
func TestAStopStartsNoTurn(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.MaxProcesses, c.Shutdown.Duration = 1, 20*time.Second })
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("一"), modelsim.Hold(hold), modelsim.Text("二"),
	}})
	id := r.sim.Say(r.chat, r.user, "说点什么")
	r.awaitModel("the first", func(list []modelsim.Request) bool { return len(list) == 1 })
	waits := r.sim.Say(other, red, "数到 3")
	r.knowsCard(other, waits, "排队")
	stop := r.stop
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	r.until("the question to wait for the next start", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued'`) == 1
	})
	r.until("the notice of the stop", func() bool { // the stop does not wait for a slow platform
		return strings.Contains(replies(r.sim.View(), other, waits)[0].Text(), "重启") ||
			strings.Contains(r.logs.String(), "card not drawn")
	})
	close(hold)
	<-stopped
	if got := visibleText(r.answer(r.chat, id)); got != "一二" {
		t.Errorf("the answer that ran says %q", got)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	r.start()
	r.await("the answer", func(v *feishusim.View) bool { return visibleText(replies(v, other, waits)[0]) == "1 2 3" })
}
