package doortest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/modelsim"
)

// lostSession removes the agent's transcript between two questions: the conversation goes on.
func lostSession(t *testing.T, s Service) {
	t.Helper()
	r := s.Open(1)
	ask(t, s, r, "我叫小蓝")
	s.Stop()
	var lost error
	for _, path := range s.Transcripts() {
		lost = errors.Join(lost, os.Remove(path))
	}
	s.Start("")
	if got := ask(t, s, r, "我叫什么名字？"); got != "你叫小蓝。" || lost != nil {
		t.Errorf("after the transcript was lost the answer is %q; %v", got, lost)
	}
}

// stopLetsFinish stops the service in the middle of an answer that ends soon: it is shown whole.
func stopLetsFinish(t *testing.T, s Service) {
	t.Helper()
	r, rest := s.Open(1), make(chan struct{})
	script(s, "快说完了", modelsim.Text("一"), modelsim.Hold(rest), modelsim.Text("二"))
	id := r.Say(Asker, "快说完了")
	growing(t, s, r, id, "一")
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Stop() }()
	until(t, s, "the stop to begin", func() bool { return !s.Ready() })
	close(rest)
	<-stopped
	s.Start("")
	if got := answer(t, s, r, id).Text; got != "一二" || asked(s, "快说完了") != 1 {
		t.Errorf("the answer is %q, the model was asked %d times", got, asked(s, "快说完了"))
	}
}

// stopInterrupts stops the service in the middle of an answer that does not end: it goes on after the start.
func stopInterrupts(t *testing.T, s Service) {
	t.Helper()
	r := s.Open(1)
	script(s, "慢慢说", modelsim.Text("另外一半"))
	script(s, "慢慢说", modelsim.Text("说到一半"), modelsim.Hang())
	id := r.Say(Asker, "慢慢说")
	growing(t, s, r, id, "说到一半")
	s.Stop()
	s.Start("")
	shown(t, s, r, id, "the rest", func(c Shown) bool { return c.ended() && c.Text == "另外一半" })
	if n := asked(s, "慢慢说"); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// health takes the platform away: the service says so, and answers what was asked meanwhile when it is back.
func health(t *testing.T, d Door, s Service) {
	t.Helper()
	r := s.Open(1)
	ask(t, s, r, "数到 3")
	until(t, s, "health", s.Ready)
	if d.Unplug == nil {
		return
	}
	plug := d.Unplug(s)
	until(t, s, "a complaint about the platform", func() bool { return !s.Ready() })
	id := r.Say(Asker, "数到 5")
	plug()
	until(t, s, "health", s.Ready)
	if got := answer(t, s, r, id).Text; got != "1 2 3 4 5" || asked(s, "数到 5") != 1 {
		t.Errorf("what was asked without the platform is answered %q, the model was asked %d times",
			got, asked(s, "数到 5"))
	}
}

// Crash kills a service at a step of a question's way. Whatever the agent had done by then, the question is stored, the
// whole answer is shown once by itself, no tool runs twice, nothing is shown as growing for ever, and no process is
// left. That includes an agent that still works when the service is back.
type Crash struct {
	Step     string
	Finished bool // the agent completes its turn after the crash; otherwise it hangs in its tool until the next start
	Group    bool // it is killed with the service, as systemd does with a group, and pm2 with a tree
	CLI      bool // it is the real CLI
	// Left looks at what the service has left when it was killed; nil = nothing is looked at.
	Left func(*testing.T, Service)
}

// Beforehand reports whether the agent has no question yet at a step: after a crash there it cannot finish alone.
func Beforehand(step string) bool {
	part, _, _ := strings.Cut(step, ": ")
	return slices.Contains([]string{"message", "turn", "process"}, part) || step == "prompt: sending"
}

// Afterwards reports whether the agent has finished at a step, so it cannot be cut off there.
func Afterwards(step string) bool {
	part, _, _ := strings.Cut(step, ": ")
	return slices.Contains([]string{"end", "delivery"}, part) || step == "agent: finished"
}

const (
	crashQuestion = "请运行一次"
	crashAnswer   = "先看一下。\n\n已经运行过了。"
)

// Run kills a service with this door.
func (c Crash) Run(t *testing.T, d Door) {
	if dbtest.OnPostgres() && !c.Group && !Beforehand(c.Step) && !Afterwards(c.Step) {
		t.Skip("with PostgreSQL agents end with their bridge, as with the group: another bridge may take their chats")
	}
	s := d.New(t, Options{CLI: c.CLI, Allowed: []string{"Bash"}})
	tool, rest := make(chan struct{}), make(chan struct{})
	if c.Finished {
		close(rest)
	}
	early := c.Group && !strings.HasPrefix(c.Step, "agent: ") // before the tool, at which the agent waits for its death
	if !early {
		close(tool)
	}
	s.Model().Script(
		modelsim.Rule{
			Name: "after the tool", Match: AfterTool,
			Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Text("已经运行过了。")},
		},
		modelsim.Rule{
			Name: "go on", Match: asksFor("继续"),
			Steps: []modelsim.Step{modelsim.Text("接着完成了。")},
		},
		modelsim.Rule{
			Name: "question", Match: asksFor(crashQuestion), // a note may follow it
			Steps: []modelsim.Step{modelsim.Text("先看一下。"), modelsim.Hold(tool), runOnce("marker")},
		})

	s.Start(c.Step)
	r := s.Open(1)
	id := c.ask(t, s, r)
	if !s.Died() {
		t.Fatalf("the service did not come to this step: %s", s.Log())
	}
	before := r.Answers(id)
	if c.Left != nil {
		c.Left(t, s)
	}
	switch {
	case c.Finished:
		until(t, s, "the end of the agent", func() bool { return len(s.Agents()) == 0 }) // its input has ended
	case c.Group:
		killAgents(t, s)
		if close(rest); early {
			close(tool)
		}
	}
	s.Start("")

	changed := c.Group && !early
	over := func(card Shown) bool {
		_, asks := card.Offers(doContinue)
		return card.ended() && (card.Text == crashAnswer || asks)
	}
	if !c.Finished && !c.Group {
		requested(t, s, AfterTool) // the agent is in its tool
		close(rest)
	}
	card := shown(t, s, r, id, "the end", over)
	switch {
	case changed:
		c.continues(t, s, r, id, card, seen(before))
	case card.Text != crashAnswer:
		t.Errorf("the card says %q", card.Text)
	}
	c.check(t, s, r, id, before)
	s.Stop()
	until(t, s, "the end of all agents", func() bool { return len(s.Agents()) == 0 })
}

// ask asks the question: at the one step that needs it, while another question is being answered.
func (c Crash) ask(t *testing.T, s Service, r Room) (id string) {
	t.Helper()
	if c.Step != "turn: claiming" { // a question to an idle chat is claimed when it is stored
		return r.Say(Asker, crashQuestion)
	}
	rest := make(chan struct{})
	script(s, "先等一下", modelsim.Hold(rest), modelsim.Text("好的。"))
	// It is answered once the turns of the earlier process were recovered; until then every question is queued.
	ask(t, s, r, "/stop")
	r.Say(Asker, "先等一下")
	requested(t, s, asksFor("先等一下"))
	id = r.Say(Asker, crashQuestion)
	until(t, s, "the question in the queue", func() bool {
		return s.Count(`SELECT COUNT(*) FROM messages WHERE message_id LIKE '%`+id+`'`) == 1
	})
	close(rest)
	return id
}

// requested waits for a request to the model that is not answered yet.
func requested(t *testing.T, s Service, which func(*modelsim.Request) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("timeout"))
	defer cancel()
	err := s.Model().Await(ctx, func(list []modelsim.Request) bool {
		return slices.ContainsFunc(list, func(q modelsim.Request) bool { return q.End.IsZero() && which(&q) })
	})
	if err != nil {
		t.Fatalf("waiting for a request to the model: %v; log:\n%s", err, s.Log())
	}
}

// killAgents kills the agents as the end of their group does, and waits for their end.
func killAgents(t *testing.T, s Service) {
	t.Helper()
	for _, pid := range s.Agents() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended
		}
	}
	until(t, s, "the end of the agents", func() bool { return len(s.Agents()) == 0 })
}

// continues checks a card that reports the interruption, and presses its button.
func (c Crash) continues(t *testing.T, s Service, r Room, id string, card Shown, seen bool) {
	t.Helper()
	if !strings.Contains(card.Text, "中断") || seen && !strings.Contains(card.Text, "先看一下。") {
		t.Errorf("the card says %q", card.Text)
	}
	press(t, r, card, doContinue)
	await(t, s, "the rest", func() bool {
		list := r.Answers(id)
		return len(list) == 2 && list[1].Text == "接着完成了。" && list[1].ended() && len(list[0].Buttons) == 0
	})
}

// check checks what was done, shown and stored.
func (c Crash) check(t *testing.T, s Service, r Room, id string, before []Shown) {
	t.Helper()
	cards, looks := r.Answers(id), 0
	if len(before) > 0 {
		looks = len(before[0].Looks)
	}
	switch found := strings.Contains(s.Log(), "the agent of an earlier run goes on"); {
	case found:
		// What the killed service was drawing may come first.
		if later := cards[0].Looks[looks:]; !slices.ContainsFunc(later, func(look string) bool {
			return strings.Contains(look, "服务重启了，回答没有中断")
		}) {
			t.Errorf("while the agent goes on, the card says %q", later)
		}
	case c.CLI && !c.Finished && !c.Group:
		t.Error("the agent was not found")
	}
	if n := runs(t, s, "marker"); n > 1 {
		t.Errorf("the tool ran %d times", n)
	}
	most := 2
	if seen(before) && !c.Group {
		most = 1
	}
	if n := asked(s, crashQuestion); n > most {
		t.Errorf("the model was asked %d times; shown before the crash: %+v", n, before)
	}
	complete := 0
	for _, card := range cards {
		complete += strings.Count(card.Text, "已经运行过了")
	}
	for query, want := range map[string]int{
		`SELECT COUNT(*) FROM messages WHERE message_id LIKE '%` + id + `'`:                  1,
		`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`:                    0,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content LIKE '%已经运行过了%'`: complete,
	} {
		if got := s.Count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	until(t, s, "an empty outbox", func() bool { return s.Count(`SELECT COUNT(*) FROM outbox`) == 0 })
}

// seen reports whether people have seen the beginning of the answer.
func seen(list []Shown) bool {
	return slices.ContainsFunc(list, func(s Shown) bool { return strings.Contains(s.Text, "先看一下") })
}
