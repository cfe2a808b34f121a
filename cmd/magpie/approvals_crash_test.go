package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// asking makes the agent ask for a command that adds a line to out.txt, and again whenever the turn is continued.
func (s *service) asking() (id string) {
	s.Helper()
	s.model.Script(
		modelsim.Rule{Match: doortest.AfterTool, Steps: []modelsim.Step{modelsim.Text("接着做完了")}},
		modelsim.Rule{Steps: []modelsim.Step{bash(appendLine("out.txt"))}},
	)
	return s.sim.Say(s.chat, s.user, "动手吧")
}

// killedAsking kills the program while people are asked, and returns the card and its button's value.
func (s *service) killedAsking() (id string, card feishusim.Message, allow any) {
	s.Helper()
	s.run()
	s.connected()
	id = s.asking()
	card = s.approval(s.chat, id, 1)
	allow = s.button(card, doAllow)
	s.kill()
	return id, card, allow
}

// refusesPress checks that a card's request can no longer be decided.
func (s *service) refusesPress(card feishusim.Message, value any) {
	s.Helper()
	got, err := s.sim.Press(s.Context(), card.ID, s.user, value)
	if err != nil || !strings.Contains(string(got), "已失效") && !strings.Contains(string(got), "已经处理过") {
		s.Errorf("a late press: %s, %v", got, err)
	}
}

// checkEnded checks how often the command has run, that nothing is left to do, and ends the program.
func (s *service) checkEnded(runs int) {
	s.Helper()
	s.until("an empty outbox", func() bool {
		return s.count(`SELECT COUNT(*) FROM outbox`)+s.count(`SELECT COUNT(*) FROM approvals WHERE state = 'waiting'`)+
			s.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
	})
	s.checkRuns("out.txt", runs)
	s.terminate()
	s.clean()
}

// pressContinue presses "Continue" on the card of an interrupted turn, and allows what its agent asks for then.
func (s *service) pressContinue(id string, asked int) {
	s.Helper()
	s.press(s.turnDone(s.chat, id), doContinue)
	s.press(s.approval(s.chat, id, asked+1), doAllow)
	s.awaitContinued(id, 2)
	s.checkEnded(1)
}

// askingSteps are the steps around an approval, each with what is checked afterwards.
var askingSteps = map[string]func(s *service, id string){
	"approval: asking": func(s *service, id string) { s.pressContinue(id, 0) },
	"approval: stored": decidedAfterwards,
	"approval: posted": decidedAfterwards,
	// Nobody decided in time. The turn says so, and can be continued.
	"approval: expiring": expiredAfterwards,
	"approval: expired":  expiredAfterwards,
	// The turn is being stopped.
	"approval: withdrawing": stoppedAfterwards,
	"approval: withdrawn":   stoppedAfterwards,
}

func decidedAfterwards(s *service, id string) {
	s.Helper()
	card := s.awaitOpenApproval(id)
	s.press(card, doAllow)
	if got := visibleText(s.awaitContinued(id, 2)); got != "接着做完了" {
		s.Errorf("answer %q", got)
	}
	s.closed(card, "小明 已允许")
	s.checkApprovals(id, 1)
	s.checkEnded(1)
}

func expiredAfterwards(s *service, id string) {
	s.Helper()
	var card feishusim.Message
	s.await("the card to say that nobody decided", func(v *feishusim.View) bool {
		for _, card = range replies(v, s.chat, id) {
			if strings.Contains(card.Text(), "超时无人处理") {
				return !hasButtons(card)
			}
		}
		return false
	})
	if asks(card) {
		s.refusesPress(card, (&attackRig{rig: s.rig}).asked(card, doAllow))
	}
	s.checkRuns("out.txt", 0)
	asked := 0
	if asks(card) {
		asked = 1
	}
	s.pressContinue(id, asked)
}

func stoppedAfterwards(s *service, id string) {
	s.Helper()
	card := s.closed(s.anyApproval(id), "回答已结束，没有执行")
	if got := s.turnDone(s.chat, id); !strings.Contains(got.Text(), "已停止") {
		s.Errorf("the turn says %q", got.Text())
	}
	s.refusesPress(card, (&attackRig{rig: s.rig}).asked(card, doAllow))
	s.checkApprovals(id, 1)
	s.checkEnded(0)
}

// anyApproval is the card of an approval in answer to a message.
func (s *service) anyApproval(id string) (card feishusim.Message) {
	s.Helper()
	s.await("the card of the approval", func(v *feishusim.View) bool {
		for _, card = range replies(v, s.chat, id) {
			if asks(card) {
				return true
			}
		}
		return false
	})
	return card
}

// The program is killed at each step around an approval. Nothing runs that nobody has allowed, and nothing twice. The
// card keeps its buttons as long as the request can be decided, and otherwise shows its outcome. Steps after the CLI's
// request was shown are tested with the real CLI.
func TestACrashWhilePeopleAreAsked(t *testing.T) {
	t.Parallel()
	for step, afterwards := range askingSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) {
				if step == "approval: posted" {
					realCLI(t)(c)
				}
			})
			vars := []string{"MAGPIE_CRASH_AT=" + step}
			if strings.Contains(step, "expir") {
				vars = append(vars, "MAGPIE_ACCESS_APPROVAL_TIMEOUT=1s")
			}
			s.run(vars...)
			s.connected()
			id := s.asking()
			if strings.Contains(step, "withdr") {
				s.approval(s.chat, id, 1)
				s.sim.Say(s.chat, s.user, "/stop")
			}
			if !s.died(patience) {
				t.Fatalf("the program did not reach this step: %s", s.logs)
			}
			s.awaitNoAgents(patience) // the agent ends, and reports that it could not ask
			s.checkRuns("out.txt", 0)
			s.run()
			s.connected()
			afterwards(s, id)
		})
	}
}

// The program is killed while people are asked, and something else happens before the decision.
func TestBetweenAKillAndADecision(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(s *service, id string, card feishusim.Message, allow any){
		"the turn is stopped": func(s *service, id string, card feishusim.Message, allow any) {
			s.run()
			s.connected()
			s.awaitOpenApproval(id)
			if got := s.ask("/stop"); !strings.Contains(got, "已停止") {
				s.Errorf("got %q", got)
			}
			s.closed(card, "回答已结束，没有执行")
			s.refusesPress(card, allow)
			s.checkEnded(0)
		},
		"the turn is stopped while the program is down": func(s *service, id string, card feishusim.Message, allow any) {
			stop := s.sim.Say(s.chat, s.user, "/stop")
			s.run()
			s.connected()
			s.closed(card, "回答已结束，没有执行")
			if got := visibleText(s.answer(s.chat, stop)); !strings.Contains(got, "已停止") {
				s.Errorf("got %q", got)
			}
			s.refusesPress(card, allow)
			s.checkEnded(0)
		},
		"nobody decides in time": func(s *service, id string, card feishusim.Message, allow any) {
			s.sql(`UPDATE approvals SET expires_at = created_at + 1`)
			s.run()
			s.connected()
			s.closed(card, "超时无人处理")
			s.refusesPress(card, allow)
			s.pressContinue(id, 1)
		},
		"the session is lost": func(s *service, id string, card feishusim.Message, allow any) {
			must(s, os.RemoveAll(filepath.Dir(s.onlyTranscript())))
			s.run()
			s.connected()
			s.awaitOpenApproval(id)
			s.press(card, doAllow)
			s.awaitContinued(id, 2)
			if !s.agentRead(`"decision":"allowed"`) || !s.agentRead("动手吧") {
				s.Error("the agent does not know the request and the decision")
			}
			s.closed(card, "小明 已允许")
			s.checkApprovals(id, 1)
			s.checkEnded(1)
		},
		"two decide at the same moment":  twoDecide,
		"what was left is not known yet": pressedDuringRecovery,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{Redeliver: crashRedeliver})
			id, card, allow := s.killedAsking()
			then(s, id, card, allow)
		})
	}
}

// twoDecide has two people allow and refuse concurrently: one of the two decisions counts.
func twoDecide(s *service, id string, card feishusim.Message, allow any) {
	s.Helper()
	s.run()
	s.connected()
	s.awaitOpenApproval(id)
	toasts := make([]string, 2)
	var both sync.WaitGroup
	for i, value := range []any{allow, s.button(card, doRefuse)} {
		both.Go(func() {
			got, err := s.sim.Press(s.Context(), card.ID, s.user, value)
			if err != nil {
				s.Error(err)
			}
			toasts[i] = string(got)
		})
	}
	both.Wait()
	s.awaitContinued(id, 2)
	runs := s.count(`SELECT COUNT(*) FROM approvals WHERE state = 'approved'`)
	for i, says := range []string{"已允许", "已拒绝"} {
		counts := (i == 0) == (runs == 1)
		if counts && !confirmed(toasts[i], says) || !counts && strings.Contains(toasts[i], says) {
			s.Errorf("the toasts are %q, and the command ran %d times", toasts, runs)
		}
	}
	if n := s.count(`SELECT COUNT(*) FROM turns`); n != 2 {
		s.Errorf("%d turns", n)
	}
	s.checkApprovals(id, 1)
	s.checkEnded(runs)
}

// pressedDuringRecovery is a press before the turns of the last run were recovered: the toast asks to try again, and
// then the press counts.
func pressedDuringRecovery(s *service, id string, card feishusim.Message, allow any) {
	s.Helper()
	known := s.holdRecovery()
	s.run()
	s.connected()
	got, err := s.sim.Press(s.Context(), card.ID, s.user, allow)
	if err != nil || !strings.Contains(string(got), "请稍后再试") {
		s.Errorf("got %s, %v", got, err)
	}
	if n := s.count(`SELECT COUNT(*) FROM approvals WHERE state = 'waiting'`); n != 1 {
		s.Error("the press decided")
	}
	known()
	s.awaitOpenApproval(id)
	s.press(card, doAllow)
	s.awaitContinued(id, 2)
	s.closed(card, "小明 已允许")
	s.checkApprovals(id, 1)
	s.checkEnded(1)
}

// onlyTranscript is the transcript of the only session.
func (s *service) onlyTranscript() string {
	s.Helper()
	var list []string
	must(s, filepath.WalkDir(filepath.Dir(databaseOf(s.cfg)),
		func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".jsonl") {
				list = append(list, path)
			}
			return err
		}))
	if len(list) != 1 {
		s.Fatalf("transcripts: %q", list)
	}
	return list[0]
}

// holdRecovery keeps the next start from storing what it has decided about the turns of the last run, until known is
// called. It tries again and again meanwhile.
func (s *service) holdRecovery() (known func()) {
	s.Helper()
	held := dbtest.Trigger{Name: "held", On: "BEFORE UPDATE OF state ON turns", If: "NEW.state = 'interrupted'"}
	s.sql(held.Create())
	return func() {
		s.Helper()
		s.sql(held.Drop())
	}
}
