package main

import (
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

	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
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
		"TestACrashAroundASchedule":       those(scheduleSteps),
		"TestACrashInASummary":            those(summarySteps), // these tests find their steps in the source, too
		"TestACrashWhileAFileIsDelivered": those(fileSteps),
	}
}

// TestACrashOfAnUnfinishedAnswer kills the program at each step of a turn at which its agent can go on alone and hangs in
// its tool: at all others, and with an agent that has finished, [TestFeishuIsADoor] does. The CLI itself is killed at
// where it has the question or writes, whether it finishes or not.
func TestACrashOfAnUnfinishedAnswer(t *testing.T) {
	t.Parallel()
	d := feishuDoor(t)
	for _, step := range d.Steps {
		for _, finished := range []bool{false, true} {
			cli := ofTheCLI(step, finished)
			if finished && !cli || !finished && (doortest.Beforehand(step) || doortest.Afterwards(step)) {
				continue
			}
			t.Run(fmt.Sprintf("%s, agent finished=%v", step, finished), func(t *testing.T) {
				t.Parallel()
				c := doortest.Crash{Step: step, Finished: finished, CLI: cli}
				if cli && !finished {
					c.Left = func(_ *testing.T, s doortest.Service) { s.(feishuHouse).checkWall() }
				}
				c.Run(t, d)
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
	d := feishuDoor(t)
	for _, step := range ofTheGroup {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			doortest.Crash{Step: step, Group: true}.Run(t, d)
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

// crashRedeliver is the redelivery schedule of an event that the program did not acknowledge.
var crashRedeliver = []time.Duration{
	500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second,
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

// An agent that outlives the program goes on: the card says so and can stop it, and the chat's next question waits for
// its end.
func TestAnAgentThatOutlivesTheProgramIsStopped(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{})
	rest := make(chan struct{})
	t.Cleanup(func() { close(rest) })
	s.model.Script(
		modelsim.Rule{Name: "next", Match: asksFor("另一个问题"), Steps: []modelsim.Step{modelsim.Text("另一个回答。")}},
		modelsim.Rule{Name: "question", Match: asksFor("请运行一次"), Steps: []modelsim.Step{
			modelsim.Text("先看一下。"), modelsim.Hold(rest),
		}},
	)
	s.run()
	s.connected()
	id := s.sim.Say(s.chat, s.user, "请运行一次")
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
