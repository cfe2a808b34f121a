package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/db/dbtest"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// beside starts a second bridge of r's app, on another machine as it were. All events arrive there.
func (r *rig) beside() *rig {
	r.Helper()
	b := &rig{TB: r.TB, sim: r.sim, model: r.model, user: r.user, chat: r.chat, built: make(chan bridge.BuiltContext, 1000),
		logs: &logbook{tb: r.TB}, load: r.load}
	b.cfg = r.cfg
	b.cfg.Node, b.cfg.Data = "b", r.TempDir()
	b.cfg.Claude = claudetest.ModelConfig(r, r.model.URL())
	b.cfg.Claude.Project = r.cfg.Claude.Project
	b.start()
	r.Cleanup(func() { b.stop() })
	r.sim.DeliverTo(r.sim.Connected())
	return b
}

// handleTwice has each event that arrives at the wrong bridge handled twice, as after a crash before it is removed.
func (r *rig) handleTwice() {
	r.Helper()
	r.sql(`CREATE FUNCTION again() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO forwarded (room, kind, payload) VALUES (NEW.room, NEW.kind, NEW.payload);
		RETURN NULL;
	END $$`)
	r.sql(`CREATE TRIGGER again AFTER INSERT ON forwarded FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION again()`)
}

// Whatever arrives at a bridge that has not the chat reaches the one that has, which answers. It may come there twice.
func TestEventsAtTheWrongBridge(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t)
	if got := a.ask("你好"); !strings.Contains(got, "你好") {
		t.Errorf("answer %q", got)
	}
	b := a.beside()
	a.handleTwice()
	if got := a.ask("再问一句"); !strings.Contains(got, "再问一句") {
		t.Errorf("answer %q", got)
	}

	// an approval
	a.calls(bash(appendLine("out.txt")), modelsim.Text("做完了"))
	id := a.sim.Say(a.chat, a.user, "动手吧")
	a.press(a.approval(a.chat, id, 1), doAllow)
	if got := visibleText(a.turnDone(a.chat, id)); got != "做完了" {
		t.Errorf("answer %q", got)
	}
	if n := strings.Count(a.project("out.txt"), "\n"); n != 1 {
		t.Errorf("the command ran %d times", n)
	}

	// a button and a word that stop, and a recall
	for how, stop := range map[string]func(card feishusim.Message){
		"button": func(card feishusim.Message) { a.press(card, "stop") },
		"word":   func(feishusim.Message) { a.sim.Say(a.chat, a.user, "停") },
		"recall": func(card feishusim.Message) { a.sim.Recall(card.ParentID) },
	} {
		a.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
		id := a.sim.Say(a.chat, a.user, "说点什么")
		var card feishusim.Message
		a.await("half of the answer", func(v *feishusim.View) bool {
			list := replies(v, a.chat, id)
			if len(list) == 1 {
				card = list[0]
			}
			return strings.Contains(card.Text(), "说到一半")
		})
		stop(card)
		a.await("the stop by "+how, func(v *feishusim.View) bool {
			list := v.Messages(a.chat)
			i := slices.IndexFunc(list, func(m feishusim.Message) bool { return m.ID == card.ID })
			return i < 0 || !running(list[i]) && !list[i].Last().Streaming
		})
	}

	// an edited question
	id = a.sim.Say(a.chat, a.user, "我叫小明")
	a.answer(a.chat, id)
	a.sim.Edit(id, json.RawMessage(`{"text":"我叫小红"}`))
	var offer feishusim.Message
	a.await("the offer", func(v *feishusim.View) bool {
		list := replies(v, a.chat, id)
		if len(list) == 2 {
			offer = list[1]
		}
		return len(list) == 2 && strings.Contains(list[1].Text(), "已编辑")
	})
	if n := b.started(); n != 0 {
		t.Errorf("the bridge that has not the chat started %d agents", n)
	}
	a.until("no event to wait", func() bool { return a.count(`SELECT COUNT(*) FROM forwarded`) == 0 })

	// the way of a press
	start := time.Now()
	a.press(offer, "drop")
	a.await("the decision", func(v *feishusim.View) bool {
		list := replies(v, a.chat, id)
		return !hasButtons(list[1])
	})
	t.Logf("a press at the wrong bridge changed the card after %v", time.Since(start))

	// the other one takes over
	a.stop()
	if got := b.ask("还在吗"); !strings.Contains(got, "还在吗") {
		t.Errorf("answer %q", got)
	}
	if n := b.started(); n != 1 {
		t.Errorf("the bridge that took over started %d agents", n)
	}
}

// Events of many chats arrive at either of two bridges. Each message is answered once, and by the bridge that has its chat.
func TestTwoBridgesAnswerEachMessageOnce(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t)
	b := a.beside()
	a.sim.DeliverTo(0)
	const chats, rounds = 6, 4
	var users []feishusim.User
	for n := range chats {
		users = append(users, a.sim.AddUser(fmt.Sprintf("第%d位", n+1)))
	}
	for round := range rounds {
		ids := map[string]string{}
		for n, user := range users {
			room := a.sim.PrivateChat(user)
			ids[room] = a.sim.Say(room, user, fmt.Sprintf("第%d位的第%d问", n+1, round+1))
		}
		for room, id := range ids {
			if got := visibleText(a.answer(room, id)); !strings.Contains(got, fmt.Sprintf("的第%d问", round+1)) {
				t.Errorf("answer %q", got)
			}
		}
	}
	if n := a.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`); n != chats*rounds {
		t.Errorf("%d turns are done", n)
	}
	t.Logf("%d and %d agents", a.started(), b.started())
	if a.started()+b.started() != chats {
		t.Errorf("%d agents answer in %d chats", a.started()+b.started(), chats)
	}
}

// The code of a login arrives at another bridge than the one that has asked for it. No code is stored on the way.
func TestALoginCodeAtTheWrongBridge(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	a := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Claude = claudetest.ScriptedConfig(t)
		c.Claude.MaxProcesses = 2
	})
	a.cfg.Access = access.Config{Owner: a.user.OpenID}
	a.start()
	t.Cleanup(func() { a.stop(); a.clean() })
	a.sim.Say(a.chat, a.user, "/login")
	a.awaitMessage("https://claude.example/oauth/authorize?code=true&state=scripted")
	b := a.beside()
	a.sim.Say(a.chat, a.user, "good#scripted")
	a.awaitMessage("登录成功")
	b.stop()
	a.stop()
	if strings.Contains(a.everything()+b.logs.String(), "good#scripted") {
		t.Error("the code was stored")
	}
}

// BenchmarkPressAtTheWrongBridge measures how long an approval takes from the press to the agent, whose next request to the
// model tells: where the press arrives at the bridge that has the chat, and where it arrives at another one.
func BenchmarkPressAtTheWrongBridge(b *testing.B) {
	dbtest.OfPostgres(b)
	a := newRig(b)
	press := func() time.Duration {
		a.calls(bash(appendLine("out.txt")), modelsim.Text("做完了"))
		id := a.sim.Say(a.chat, a.user, "动手吧")
		card := a.approval(a.chat, id, 1)
		n := len(a.model.Requests()) + 1
		began := time.Now()
		a.press(card, doAllow)
		took := a.requested(n).At.Sub(began)
		a.turnDone(a.chat, id)
		return took
	}
	var here, elsewhere []time.Duration
	const presses = 15
	for b.Loop() {
		for range presses {
			here = append(here, press())
		}
	}
	a.beside()
	for range len(here) {
		elsewhere = append(elsewhere, press())
	}
	b.ReportMetric(ms(median(here)), "ms-here")
	b.ReportMetric(ms(median(elsewhere)), "ms-elsewhere")
}

// A program asks at any bridge, whichever has its chat: a question, a stream, a command, a retry at another bridge.
func TestAProgramAsksAtTheWrongBridge(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t, withPages)
	b := a.beside()
	at := a.token("ci").with("X-Magpie-Room", "r")
	if got := at.answers("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	other := client{b, at.secret, at.header}
	if got, _ := other.streamed(other.post(t.Context(), true, "数到 4")); got != "1 2 3 4" {
		t.Errorf("streamed %q", got)
	}
	rest := make(chan struct{})
	a.model.Script(modelsim.Rule{Match: asksFor("慢慢"), Steps: []modelsim.Step{
		modelsim.Text("前半，"), modelsim.Hold(rest), modelsim.Text("后半。"),
	}})
	got := make(chan string)
	for _, c := range []client{other, at.with("X-Stainless-Retry-Count", "1")} {
		go func() { text, _ := c.streamed(c.post(t.Context(), true, "慢慢说")); got <- text }()
		a.until("the question", func() bool { return a.prog.api.Waiting()+b.prog.api.Waiting() > 0 && len(a.model.Requests()) == 3 })
	}
	a.until("both", func() bool { return a.prog.api.Waiting() == 1 && b.prog.api.Waiting() == 1 })
	close(rest)
	for range 2 {
		if text := <-got; text != "前半，后半。" {
			t.Errorf("streamed %q", text)
		}
	}
	if text := other.answers("/new"); text == "" {
		t.Error("a command has no answer")
	}
	if n := a.count(`SELECT COUNT(*) FROM turns`); n != 3 || b.started() != 0 {
		t.Errorf("%d turns, and %d agents of the bridge that has not the chat", n, b.started())
	}
}

// Of several bridges the one that has the chat asks what is due there, and what a program has called for at another one.
func TestAScheduleRunsAtOneOfTwoBridges(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t, withPages, withFiles)
	a.ask("你好")
	b := a.beside()
	a.sim.Say(a.chat, a.user, "/at 2099-05-04 09:00 数到 3")
	a.awaitMessage("任务 1")
	a.sim.Say(a.chat, a.user, "/trigger ci 数到 4")
	a.awaitMessage("任务 2")
	a.comeDue()
	a.awaitMessage("1 2 3")
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.prog.http.Addr().String()+"/api/triggers/ci", strings.NewReader("x"))
	must(t, err)
	q.Header.Set("Authorization", "Bearer "+a.tokenFor("ci", a.trigger(2)).secret)
	resp, err := http.DefaultClient.Do(q)
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.Status)
	}
	a.awaitMessage("1 2 3 4")
	if n := a.scheduled(); n != 2 || b.started() != 0 {
		t.Errorf("asked %d times, %d agents of the bridge that has not the chat", n, b.started())
	}
}
