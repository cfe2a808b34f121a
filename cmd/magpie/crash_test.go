package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// crashSteps finds the steps in the source, so a new step is tested.
func crashSteps(t *testing.T) []string {
	t.Helper()
	call := regexp.MustCompile(`failpoint\.At\("([^"]+)"\)`)
	var steps []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		for _, m := range call.FindAllSubmatch(src, -1) {
			steps = append(steps, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(steps)
	if len(steps) < 25 || len(slices.Compact(slices.Clone(steps))) != len(steps) {
		t.Fatalf("%d steps, want 25 or more and each once: %q", len(steps), steps)
	}
	return steps
}

// beforehand matches steps before the agent has its question: after a crash there it cannot finish alone.
var beforehand = regexp.MustCompile(`^(message: .*|turn: .*|process: .*|prompt: sending)$`)

// afterwards matches steps after the agent has finished, so it cannot be cut off there.
var afterwards = regexp.MustCompile(`^(agent: finished|end: .*|delivery: .*)$`)

// ofTheCLI reports whether a step is tested with the real CLI: those at which it has the question or writes. How far it
// got on its own is in its transcript. If it hangs in its tool, it has done the same at each of these steps. At the two
// steps left out it has got no further than at the one before.
func ofTheCLI(step string, finished bool) bool {
	if !finished {
		return step == "prompt: sent" || step == "agent: tool done"
	}
	return strings.HasPrefix(step, "agent: ") && step != "agent: text" && step != "agent: tool noted"
}

// ofOthers are the steps that an ordinary turn does not reach, by the tests that kill the program at each of them.
func ofOthers(all []string) map[string][]string {
	those := func(kind *regexp.Regexp) []string {
		return slices.DeleteFunc(slices.Clone(all), func(step string) bool { return !kind.MatchString(step) })
	}
	return map[string][]string{
		"TestACrashAroundADecision":       decisionSteps,
		"TestACrashAroundATypedAnswer":    typedAnswerSteps,
		"TestACrashAroundAnAddition":      steerSteps,
		"TestACrashAroundAFollowUp":       slices.Collect(maps.Keys(followUpSteps)),
		"TestACrashWhilePeopleAreAsked":   slices.Collect(maps.Keys(askingSteps)),
		"TestACrashInASummary":            those(summarySteps), // these tests find their steps in the source, too
		"TestACrashWhileAFileIsDelivered": those(fileSteps),
	}
}

// TestACrashAtEveryStep kills the program at each step of a turn. Whatever the agent had done by then, the message is
// stored, the whole answer becomes visible once by itself, no tool runs twice, no card streams forever, and no process
// is left. That includes an agent that still works when the program is back.
func TestACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	steps := crashSteps(t)
	for test, theirs := range ofOthers(steps) {
		for _, step := range theirs {
			i := slices.Index(steps, step)
			if i < 0 {
				t.Fatalf("%s: there is no step %q, or another test covers it, too", test, step)
			}
			steps = slices.Delete(steps, i, i+1)
		}
	}
	for _, step := range steps {
		for _, finished := range []bool{false, true} {
			if !finished && afterwards.MatchString(step) || finished && beforehand.MatchString(step) {
				continue
			}
			t.Run(fmt.Sprintf("%s, agent finished=%v", step, finished), func(t *testing.T) {
				t.Parallel()
				crashAt(t, step, finished, false)
			})
		}
	}
}

// ofTheGroup are steps at which the agent had said nothing, had said something, was about to use a tool that changes
// something, and had used it.
var ofTheGroup = []string{"prompt: sent", "draft: stored", "agent: tool noted", "agent: tool done"}

// TestACrashOfTheWholeGroup kills the agent with the program, as systemd does with a group, and pm2 with a tree. If the
// agent had changed nothing, the whole answer arrives by itself all the same; else the card offers to continue.
func TestACrashOfTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, step := range ofTheGroup {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			crashAt(t, step, false, true)
		})
	}
}

// killAgents kills the agents as the end of their group does, and waits for their end.
func (s *service) killAgents() {
	s.Helper()
	for _, agent := range s.agents() {
		pid, _, _ := strings.Cut(agent, " ")
		n, err := strconv.Atoi(pid)
		must(s, err)
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
	}
	s.awaitNoAgents(patience)
}

const (
	crashQuestion = "请运行一次"
	crashAnswer   = "先看一下。\n\n已经运行过了。"
)

// crashRedeliver is the redelivery schedule of an event that the program did not acknowledge.
var crashRedeliver = []time.Duration{
	500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second,
}

// crashAt asks for something that needs a tool. If finished, the agent completes its turn after the crash; otherwise it
// hangs in its tool until the program runs again, or, if group, is killed with the program.
func crashAt(t *testing.T, step string, finished, group bool) {
	s := newService(t, feishusim.Config{Redeliver: crashRedeliver}, func(c *config.Config) {
		c.Claude.AllowedTools = []string{"Bash"}
		if ofTheCLI(step, finished) {
			realCLI(t)(c)
		}
	})
	marker := filepath.Join(s.TempDir(), "marker")
	tool, rest := make(chan struct{}), make(chan struct{})
	if finished {
		close(rest)
	}
	early := group && !strings.HasPrefix(step, "agent: ") // before the tool, at which the agent waits for its death
	if !early {
		close(tool)
	}
	s.model.Script(
		modelsim.Rule{
			Name:  "after the tool",
			Match: afterTool,
			Steps: []modelsim.Step{modelsim.Hold(rest), modelsim.Text("已经运行过了。")},
		},
		modelsim.Rule{
			Name:  "go on",
			Match: asksFor("继续"),
			Steps: []modelsim.Step{modelsim.Text("接着完成了。")},
		},
		modelsim.Rule{
			Name: "question",
			Match: func(r *modelsim.Request) bool {
				return strings.Contains(r.LastUser(), crashQuestion) // a note may follow it
			},
			Steps: []modelsim.Step{
				modelsim.Text("先看一下。"), modelsim.Wait(150 * time.Millisecond), modelsim.Hold(tool),
				modelsim.Tool("Bash", map[string]string{"command": "echo run >> " + marker, "description": "run"}),
			},
		})

	s.run("MAGPIE_CRASH_AT=" + step)
	s.connected()
	var id string
	if step == "turn: claiming" { // a question to an idle chat is claimed when it is stored
		id = s.behindAnother()
	} else {
		id = s.sim.Say(s.chat, s.user, crashQuestion)
	}
	if !s.died(patience) {
		t.Fatalf("the program did not come to this step: %s", s.logs)
	}
	shown, drawn := visible(s.sim.View(), s.chat, id), s.drawn(id)
	outlives := !finished && !group && ofTheCLI(step, finished)
	if outlives {
		s.checkWall()
	}
	changed := false
	switch {
	case finished:
		s.awaitNoAgents(patience) // the agent ends because its input has ended
	case group:
		s.killAgents()
		changed = !early
		if close(rest); early {
			close(tool)
		}
	}
	s.run()
	s.connected()

	var cards []feishusim.Message
	s.until("the end", func() bool {
		if !finished && !group {
			s.release(rest)
		}
		cards = replies(s.sim.View(), s.chat, id)
		return len(cards) > 0 && !cards[0].Last().Streaming && !running(cards[0]) &&
			(visibleText(cards[0]) == crashAnswer || offers(cards[0], doContinue))
	})
	if len(cards) != 1 {
		t.Errorf("%d messages answer", len(cards))
	}
	switch got := visibleText(cards[0]); {
	case changed:
		s.checkContinues(id, cards[0], shown)
	case got != crashAnswer:
		t.Errorf("the card says %q", got)
	}
	s.checkStored(id)
	switch found := strings.Contains(s.logs.String(), "the agent of an earlier run goes on"); {
	case found:
		if next := cards[0].States[drawn]; !strings.Contains(next.Text, "服务重启了，回答没有中断") {
			t.Errorf("while the agent goes on, the card first says %q", next.Text)
		}
	case outlives:
		t.Error("the agent was not found")
	}
	runs, _ := os.ReadFile(marker)
	if n := bytes.Count(runs, []byte("run")); n > 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if n := asked(s.model.Requests()); n > 1 && shown != "" && !group {
		t.Errorf("the model was asked %d times, although %q was visible", n, shown)
	} else if n > 2 {
		t.Errorf("the model was asked %d times", n)
	}
	if took := s.terminate(); took > s.cfg.Shutdown.Duration+busy {
		t.Errorf("the stop took %v", took)
	}
	s.awaitNoAgents(2 * busy)
	s.clean()
}

// drawn is how often the card that answers a message was drawn; 0 = it was not posted.
func (s *service) drawn(id string) (n int) {
	for _, m := range replies(s.sim.View(), s.chat, id) {
		n = len(m.States)
	}
	return n
}

// checkWall checks that the agents are behind the wall, if this kernel has one: in other namespaces than the program.
func (s *service) checkWall() {
	s.Helper()
	agents := s.agents()
	if len(agents) == 0 {
		s.Error("no agent has outlived the program")
	}
	if err := s.cfg.Claude.Wall.Missing(); err != nil {
		s.Logf("agents have no wall here: %v", err)
		return
	}
	for _, agent := range agents {
		pid, _, _ := strings.Cut(agent, " ")
		for _, kind := range []string{"mnt", "user"} {
			own, _ := os.Readlink("/proc/self/ns/" + kind)
			if its, err := os.Readlink("/proc/" + pid + "/ns/" + kind); err != nil || its == own {
				s.Errorf("the agent is in the namespace %s of the program: %s, %v", its, agent, err)
			}
		}
	}
}

// behindAnother asks the question while another one is being answered, so that it is queued.
func (s *service) behindAnother() (id string) {
	s.Helper()
	answer := make(chan struct{})
	s.model.Script(modelsim.Rule{
		Name: "another question",
		Match: func(r *modelsim.Request) bool {
			return strings.HasSuffix(strings.TrimSpace(r.LastUser()), "先等一下")
		},
		Steps: []modelsim.Step{modelsim.Hold(answer), modelsim.Text("好的。")},
	})
	// It is answered once the turns of the earlier process were recovered; until then every question is queued.
	s.answer(s.chat, s.sim.Say(s.chat, s.user, "/stop"))
	s.sim.Say(s.chat, s.user, "先等一下")
	s.until("the other question", func() bool { return len(s.model.Requests()) == 1 })
	id = s.sim.Say(s.chat, s.user, crashQuestion)
	s.until("the question in the queue", func() bool {
		return s.count(`SELECT COUNT(*) FROM messages WHERE message_id = '`+id+`'`) == 1
	})
	close(answer)
	return id
}

// release lets an agent that was restarted after the crash continue, once it is in its tool.
func (s *service) release(rest chan struct{}) {
	for _, r := range s.model.Requests() {
		if r.End.IsZero() && afterTool(&r) {
			select {
			case <-rest:
			default:
				close(rest)
			}
		}
	}
}

// visible is what people see of the answer.
func visible(v *feishusim.View, chatID, id string) string {
	var b strings.Builder
	for _, m := range replies(v, chatID, id) {
		if strings.Contains(m.Text(), "先看一下") {
			b.WriteString(m.Text())
		}
	}
	return b.String()
}

// afterTool reports whether a request passes a tool's result to the model. A note of the CLI may follow it: without the
// bridge, the MCP server of its tools no longer responds.
func afterTool(r *modelsim.Request) bool {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != "system" {
			return strings.HasPrefix(m.Text, "[tool_result")
		}
	}
	return false
}

func asksTheQuestion(r *modelsim.Request) bool {
	return !afterTool(r) && strings.HasSuffix(strings.TrimSpace(r.LastUser()), crashQuestion)
}

// asked counts the requests with the question itself.
func asked(list []modelsim.Request) int {
	n := 0
	for _, r := range list {
		if asksTheQuestion(&r) {
			n++
		}
	}
	return n
}

// checkContinues checks a card that reports the interruption, and presses its button.
func (s *service) checkContinues(id string, card feishusim.Message, shown string) {
	s.Helper()
	if !strings.Contains(visibleText(card), "中断") ||
		shown != "" && !strings.Contains(visibleText(card), "先看一下。") {
		s.Errorf("the card says %q, before the crash %q", visibleText(card), shown)
	}
	s.press(card, doContinue)
	s.await("the rest", func(v *feishusim.View) bool {
		list := replies(v, s.chat, id)
		return len(list) == 2 && visibleText(list[1]) == "接着完成了。" && !list[1].Last().Streaming &&
			!hasButtons(list[0])
	})
}

// checkStored checks the database: the question is stored once, every turn has ended, nothing is left to deliver.
func (s *service) checkStored(id string) {
	s.Helper()
	for query, want := range map[string]int{
		`SELECT COUNT(*) FROM messages WHERE message_id = '` + id + `'`:                      1,
		`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`:                    0,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content LIKE '%已经运行过了%'`: s.want(id),
	} {
		if got := s.count(query); got != want {
			s.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	s.until("an empty outbox", func() bool { return s.count(`SELECT COUNT(*) FROM outbox`) == 0 })
}

// want is how many complete answers the History must contain: as many as are visible.
func (s *service) want(id string) int {
	n := 0
	for _, m := range replies(s.sim.View(), s.chat, id) {
		n += strings.Count(m.Text(), "已经运行过了")
	}
	return n
}

// An agent that outlives the program goes on: the card says so and can stop it, and the chat's next question waits for
// its end.
func TestAnAgentThatOutlivesTheProgramIsStopped(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	rest := make(chan struct{})
	t.Cleanup(func() { close(rest) })
	s.model.Script(
		modelsim.Rule{Name: "next", Match: asksFor("另一个问题"), Steps: []modelsim.Step{modelsim.Text("另一个回答。")}},
		modelsim.Rule{Name: "question", Match: asksFor(crashQuestion), Steps: []modelsim.Step{
			modelsim.Text("先看一下。"), modelsim.Hold(rest),
		}},
	)
	s.run()
	s.connected()
	id := s.sim.Say(s.chat, s.user, crashQuestion)
	card := func() (m feishusim.Message) {
		s.until("the card", func() bool {
			list := replies(s.sim.View(), s.chat, id)
			if len(list) == 1 {
				m = list[0]
			}
			return len(list) == 1 && strings.Contains(m.Text(), "先看一下")
		})
		return m
	}
	card()
	s.kill()
	s.run()
	s.connected()
	s.until("the news that it goes on", func() bool { return strings.Contains(card().Text(), "服务重启了，回答没有中断") })
	next := s.sim.Say(s.chat, s.user, "另一个问题")
	s.until("the next question in the queue", func() bool {
		return s.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued'`) == 1
	})
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("%d requests while the agent goes on", n)
	}
	s.press(card(), "stop")
	if m := s.turnDone(s.chat, id); visibleText(m) != "先看一下。" || !strings.Contains(string(m.Last().Card), "已停止") {
		t.Errorf("stopped: %s", m.Last().Card)
	}
	if got := visibleText(s.answer(s.chat, next)); got != "另一个回答。" {
		t.Errorf("the next answer is %q", got)
	}
	s.clean()
}
