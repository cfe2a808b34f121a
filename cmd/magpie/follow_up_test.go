package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

const (
	begins   = "开始吧"
	begun    = "已经在后台运行。"
	followUp = "后台的结果出来了。"
)

// tellsOfTheEnd matches the requests that tell the agent that a background command has ended. If it was stopped, the
// CLI tells it with the next question.
func tellsOfTheEnd(q *modelsim.Request) bool {
	last := q.Messages[len(q.Messages)-1].Text
	return strings.Contains(last, "<task-notification>") && strings.Contains(last, "<status>completed</status>")
}

// inBackground asks for a command that is still running in the background after the answer. It returns the question's
// id, and a function that ends the command, after which the agent takes the steps.
func (r *rig) inBackground(steps ...modelsim.Step) (id string, end func()) {
	r.Helper()
	gate := filepath.Join(r.TempDir(), "gate")
	r.model.Script(
		modelsim.Rule{Match: tellsOfTheEnd, Times: 1, Steps: steps},
		modelsim.Rule{Match: asksFor(begins), Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash", map[string]any{
			"command": "for i in $(seq 900); do [ -e " + gate + " ] && break; sleep 0.1; done", "description": "wait",
			"run_in_background": true,
		})}},
		modelsim.Rule{Match: tells("running in background"), Times: 1, Steps: []modelsim.Step{modelsim.Text(begun)}},
	)
	id = r.sim.Say(r.chat, r.user, begins)
	showed := func(words string) { // whatever else is shown by now: the command's time may be over
		r.Helper()
		r.await("an answer with "+words, func(v *feishusim.View) bool {
			list := replies(v, r.chat, id)
			return len(list) > 0 && seen(list[0], words).Text != ""
		})
	}
	showed(begun)
	r.until("the end of the turn", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE id = 1 AND state = 'done'`) == 1
	})
	showed("后台还在继续")
	return id, func() { must(r, os.WriteFile(gate, nil, 0o600)) }
}

// awaitFollowUp waits for the second message that answers a question, until it contains the words.
func (r *rig) awaitFollowUp(id, words string) (m feishusim.Message) {
	r.Helper()
	r.await("a second card with "+words, func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		for _, m = range list[min(1, len(list)):] {
			if strings.Contains(m.Text(), words) && !running(m) && !m.Last().Streaming {
				return true
			}
		}
		return false
	})
	return m
}

// allowBash lets commands run.
func allowBash(c *config.Config) { c.Claude.AllowedTools = []string{"Bash"} }

// What the agent writes after a background command has ended is a card of its own, with the permissions of the asker:
// it may need approvals, costs, and is part of the History. A question in the meantime is answered at once.
func TestAFollowUp(t *testing.T) {
	r := newRig(t, allowBash)
	file := r.inProject("result.txt")
	r.model.Script(modelsim.Rule{Match: tells("File created"), Times: 1,
		Steps: []modelsim.Step{modelsim.Text("写好了。")}})
	id, end := r.inBackground(modelsim.Text(followUp),
		modelsim.Tool("Write", map[string]string{"file_path": file, "content": "x"}))
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("meanwhile: %q", got)
	}
	end()
	r.await("the approval for the file", func(v *feishusim.View) bool { return len(replies(v, r.chat, id)) == 3 })
	list := replies(r.sim.View(), r.chat, id)
	for _, m := range list {
		if offers(m, "allow") {
			r.press(m, "allow")
		}
	}
	if got := visibleText(r.awaitFollowUp(id, "写好了")); got != "写好了。" { // after the decision
		t.Errorf("later: %q", got)
	}
	if got := r.awaitFollowUp(id, followUp).Text(); !strings.Contains(got, "下面继续") {
		t.Errorf("before the decision: %q", got)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	for query, want := range map[string]int{
		`SELECT COUNT(*) FROM turns WHERE follows = 1 AND state = 'done'`:                                      1,
		`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`:                                      0,
		`SELECT COUNT(*) FROM ledger l JOIN turns t ON t.id = l.turn_id WHERE follows = 1 AND user_id <> ''`:   1,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content LIKE '` + followUp + `%'`:          1,
		`SELECT COUNT(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE follows = 1 AND role = 'tool'`: 2,
	} {
		if got := r.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	started := r.started()
	if got := r.ask("数到 2"); got != "1 2" || r.started() != started {
		t.Errorf("the next answer: %q", got)
	}
}

// The same with the real CLI and a subagent, which may need approvals, too. The session continues afterwards, also in
// another process.
func TestASubagentOfTheCLIGoesOnInTheBackground(t *testing.T) {
	r := newRig(t, realCLI(t))
	file := r.inProject("made")
	subtask := func(q *modelsim.Request) bool { return strings.Contains(q.Messages[0].Text, "the subtask") }
	r.model.Script(
		modelsim.Rule{Match: subtask, Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]string{"command": "touch " + file, "description": "touch"}),
		}},
		modelsim.Rule{Match: subtask, Times: 1, Steps: []modelsim.Step{modelsim.Text("made it")}},
		modelsim.Rule{Match: tellsOfTheEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text(followUp)}},
		modelsim.Rule{Match: asksFor(begins), Times: 1, Steps: []modelsim.Step{modelsim.Tool("Agent", map[string]any{
			"description": "make", "prompt": "the subtask", "subagent_type": "general-purpose", "run_in_background": true,
		})}},
		modelsim.Rule{Match: tells("Async agent launched"), Times: 1, Steps: []modelsim.Step{modelsim.Text(begun)}},
	)
	id := r.sim.Say(r.chat, r.user, begins)
	asked := r.askedByASubagent(id)
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("meanwhile: %q", got)
	}
	r.press(asked, "allow")
	r.awaitFollowUp(id, followUp)
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	r.until("the end of the turn", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
	})
	r.stop()
	r.start()
	if got := r.ask("数到 2"); got != "1 2" {
		t.Errorf("after a restart: %q", got)
	}
	if strings.Contains(r.logs.String(), "session lost") {
		t.Error("the session is not resumed")
	}
}

// A subagent in the background that waits for a permission goes on waiting after a follow-up about something else.
func TestASubagentAsksWhileAFollowUpEnds(t *testing.T) {
	r := newRig(t, realCLI(t))
	file, hold := r.inProject("made"), make(chan struct{})
	of := func(task string) func(q *modelsim.Request) bool {
		return func(q *modelsim.Request) bool { return strings.Contains(q.Messages[0].Text, task) }
	}
	agent := func(task string) modelsim.Step {
		return modelsim.Tool("Agent", map[string]any{
			"description": "make", "prompt": task, "subagent_type": "general-purpose", "run_in_background": true,
		})
	}
	r.model.Script(
		modelsim.Rule{Match: of("the first task"), Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]string{"command": "touch " + file, "description": "touch"}),
		}},
		modelsim.Rule{Match: of("the first task"), Times: 1, Steps: []modelsim.Step{modelsim.Text("made it")}},
		modelsim.Rule{Match: of("the second task"), Times: 1, Steps: []modelsim.Step{
			modelsim.Hold(hold), modelsim.Text("looked"),
		}},
		modelsim.Rule{Match: tellsOfTheEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text(followUp)}},
		modelsim.Rule{Match: tellsOfTheEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text("也做好了。")}},
		modelsim.Rule{Match: asksFor(begins), Times: 1, Steps: []modelsim.Step{
			agent("the first task"), agent("the second task"),
		}},
		modelsim.Rule{Match: tells("Async agent launched"), Times: 1, Steps: []modelsim.Step{modelsim.Text(begun)}},
	)
	id := r.sim.Say(r.chat, r.user, begins)
	asked := r.askedByASubagent(id)
	close(hold)
	r.awaitFollowUp(id, followUp)
	r.until("the next follow-up to be expected", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns t JOIN approvals a ON a.needed_by = t.id
			WHERE follows = 1 AND started_at = 0 AND a.state = 'waiting'`) == 1
	})
	r.press(asked, "allow")
	r.awaitFollowUp(id, "也做好了")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// addSubagent writes what the CLI writes about a subagent in the background of the chat's session: a message with that
// many tokens. The scripted agent has no subagents.
func (r *rig) addSubagent(tokens int) {
	r.Helper()
	models, err := r.store().Access().Spenders(r.Context(), "model", chat.Key{}, time.Time{}, 1)
	if err != nil || len(models) != 1 {
		r.Fatalf("models: %+v, %v", models, err)
	}
	folder := filepath.Join(strings.TrimSuffix(r.transcriptPath(), ".jsonl"), "subagents")
	must(r, os.MkdirAll(folder, 0o700))
	line := fmt.Sprintf(`{"type":"assistant","isSidechain":true,"timestamp":%q,"message":{"id":"sub_1","model":%q,`+
		`"usage":{"input_tokens":%d}}}`, time.Now().UTC().Format(time.RFC3339Nano), models[0].ID, tokens)
	must(r, os.WriteFile(filepath.Join(folder, "agent-1.jsonl"), []byte(line+"\n"), 0o600))
}

// What subagents use in the background costs money however that ends. A process that is ended, or dies, reports
// nothing: the transcripts of its subagents tell what was used.
func TestSubagentsThatAreCutOffArePaidFor(t *testing.T) {
	t.Parallel()
	const used = 54_321
	for name, end := range map[string]func(r *rig, id string){
		"stopped":               func(r *rig, _ string) { r.sim.Say(r.chat, r.user, "/stop") },
		"a new conversation":    func(r *rig, _ string) { r.sim.Say(r.chat, r.user, "/new") },
		"recalled":              func(r *rig, id string) { r.sim.Recall(id) },
		"the process dies":      func(r *rig, _ string) { r.killProcess() },
		"the program ends":      func(r *rig, _ string) { r.stop(); r.start() },
		"with the next turn":    func(r *rig, _ string) { r.cutNextTurn() },
		"stopped with the next": func(r *rig, _ string) { r.startNextTurn(); r.sim.Say(r.chat, r.user, "/stop") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash)
			id, _ := r.inBackground(modelsim.Text(followUp))
			r.addSubagent(used)
			end(r, id)
			booked := fmt.Sprintf(`SELECT COUNT(*) FROM ledger WHERE user_id <> '' AND turn_id > 0 AND tokens >= %d
				AND cost_usd > 0`, used)
			r.until("the subagent to be booked", func() bool { return r.count(booked) == 1 })
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if got := r.ask("数到 3"); got != "1 2 3" || r.count(booked) != 1 {
				t.Errorf("the next answer: %q; booked %d times", got, r.count(booked))
			}
		})
	}
}

// startNextTurn starts a turn that waits for a command, while the chat's agent still works in the background.
func (r *rig) startNextTurn() {
	r.Helper()
	r.model.Script(modelsim.Rule{Match: asksFor("等一下"), Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Bash", map[string]string{"command": "sleep 300", "description": "wait"}),
	}})
	r.shows(r.chat, r.sim.Say(r.chat, r.user, "等一下"), "sleep 300")
}

// cutNextTurn kills the process in such a turn.
func (r *rig) cutNextTurn() {
	r.Helper()
	r.startNextTurn()
	r.killProcess()
}

// The same with a subagent of the real CLI. What it has used before the conversation got its title is part of the
// title's cost: the CLI only knows what its process has used in all.
func TestASubagentOfTheCLIIsPaidFor(t *testing.T) {
	t.Parallel()
	for name, titled := range map[string]bool{"by its turn": false, "with the title": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, realCLI(t), allowBash, func(c *config.Config) { c.Context.Titles = titled })
			asked := make(chan struct{})
			r.model.Script(modelsim.Rule{Match: isTitle, Times: 1, Steps: []modelsim.Step{
				modelsim.Hold(asked), modelsim.Text(`{"title": "making"}`),
			}})
			r.startSubagent()
			close(asked)
			if titled {
				r.until("the cost of the title", func() bool {
					return r.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'title' AND tokens > 0`) == 1
				})
			}
			r.sim.Say(r.chat, r.user, "/stop")
			const booked = `SELECT COUNT(*) FROM ledger WHERE turn_id = 1 AND user_id <> '' AND tokens > 0 AND cost_usd > 0`
			if !titled {
				r.until("the subagent to be booked", func() bool { return r.count(booked) == 2 })
				return
			}
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if r.ask("数到 3"); r.count(booked) != 1 {
				t.Errorf("the subagent is booked beside the title: %d expenses of the turn", r.count(booked))
			}
		})
	}
}

// startSubagent has the agent start a subagent in the background, and waits until the subagent has used the model.
func (r *rig) startSubagent() {
	r.Helper()
	subtask := func(q *modelsim.Request) bool { return strings.Contains(q.Messages[0].Text, "the subtask") }
	answered, over := make(chan struct{}), make(chan struct{})
	r.Cleanup(func() { close(over) })
	r.model.Script(
		modelsim.Rule{Match: subtask, Times: 1, Steps: []modelsim.Step{
			modelsim.Hold(answered), modelsim.Tool("Bash", map[string]string{"command": "true", "description": "look"}),
		}},
		modelsim.Rule{Match: subtask, Times: 1, Steps: []modelsim.Step{modelsim.Hold(over)}},
		modelsim.Rule{Match: asksFor(begins), Times: 1, Steps: []modelsim.Step{modelsim.Tool("Agent", map[string]any{
			"description": "make", "prompt": "the subtask", "subagent_type": "general-purpose", "run_in_background": true,
		})}},
		modelsim.Rule{Match: tells("Async agent launched"), Times: 1, Steps: []modelsim.Step{modelsim.Text(begun)}},
	)
	id := r.sim.Say(r.chat, r.user, begins)
	r.shows(r.chat, id, "后台还在继续")
	close(answered)
	r.until("the subagent's transcript", func() bool {
		list, err := filepath.Glob(filepath.Join(strings.TrimSuffix(r.transcriptPath(), ".jsonl"), "subagents", "*.jsonl"))
		must(r, err)
		return slices.ContainsFunc(list, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && bytes.Contains(text, []byte("tool_use"))
		})
	})
}

// waiting are the processes that wait for the end of inBackground's command.
func (r *rig) waiting() []string { return r.waitingFor("gate") }

// waitingFor are the processes of a command that waits for a file.
func (r *rig) waitingFor(gate string) (list []string) {
	own := []byte(filepath.Dir(r.TempDir()) + "/")
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, err := os.ReadFile(file)
		if err == nil && bytes.Contains(args, own) && bytes.Contains(args, []byte("/"+gate+" ] && break")) {
			list = append(list, filepath.Base(filepath.Dir(file)))
		}
	}
	return list
}

// /stop ends the background command and its process; nothing more is reported about it.
func TestAStopEndsABackgroundCommand(t *testing.T) {
	r := newRig(t, realCLI(t), allowBash)
	id, _ := r.inBackground(modelsim.Text(followUp))
	if len(r.waiting()) == 0 {
		t.Fatal("the background command to run")
	}
	stop := r.sim.Say(r.chat, r.user, "/stop")
	r.await("the reply", func(v *feishusim.View) bool { return len(replies(v, r.chat, stop)) == 1 })
	r.until("the end of its process", func() bool { return r.pool().Stats().Idle+r.pool().Stats().Running == 0 })
	r.until("the end of the command", func() bool { return len(r.waiting()) == 0 })
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("the next answer: %q", got)
	}
	if n := len(replies(r.sim.View(), r.chat, id)); n != 1 {
		t.Errorf("%d messages answer", n)
	}
	if n := r.count(`SELECT COUNT(*) FROM turns WHERE follows = 1 AND state = 'cancelled'`); n != 1 {
		t.Error("the follow-up is still expected")
	}
}

// A follow-up can be stopped like any answer, also by somebody who waits behind it.
func TestAFollowUpIsStopped(t *testing.T) {
	r := newRig(t, allowBash)
	id, end := r.inBackground(modelsim.Text("后台的结果"), modelsim.Hang())
	end()
	r.await("the follow-up", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		return len(list) == 2 && strings.Contains(visibleText(list[1]), "后台的结果")
	})
	r.sim.Say(r.chat, r.user, "停")
	if got := visibleText(r.awaitFollowUp(id, "已停止")); !strings.Contains(got, "后台的结果") {
		t.Errorf("stopped: %q", got)
	}
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("the next answer: %q", got)
	}
}

// When the budget is used up, the follow-up is not read.
func TestAFollowUpWithoutABudget(t *testing.T) {
	r := newRig(t, allowBash, func(c *config.Config) { c.Budget.ChatDayTokens = 1 << 40 })
	id, end := r.inBackground(modelsim.Text(followUp))
	limits := r.cfg.Budget
	limits.ChatDayTokens = 1
	r.setBudget(limits)
	end()
	if got := visibleText(r.awaitFollowUp(id, "额度")); strings.Contains(got, followUp) {
		t.Errorf("it says %q", got)
	}
	r.until("the end of its process", func() bool { return r.pool().Stats().Idle+r.pool().Stats().Running == 0 })
}

// A background command ends when its time limit is over, and with its process. People are told, and can continue where
// that is possible.
func TestABackgroundCommandEndsEarly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit  time.Duration
		cut    func(*rig)
		says   string
		goesOn bool
	}{
		"its time is over":    {limit: time.Second, cut: func(*rig) {}, says: "时间上限", goesOn: true},
		"a new conversation":  {limit: time.Hour, cut: func(r *rig) { r.sim.Say(r.chat, r.user, "/new") }, says: "重新开始"},
		"a restart":           {limit: time.Hour, cut: func(r *rig) { r.stop(); r.start() }, says: "中断", goesOn: true},
		"the agent has ended": {limit: time.Hour, cut: (*rig).killProcess, says: "中断", goesOn: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, func(c *config.Config) { c.Claude.BackgroundLimit.Duration = tc.limit })
			r.model.Script(modelsim.Rule{Match: asksFor("继续"), Times: 1,
				Steps: []modelsim.Step{modelsim.Text("接着做完了。")}})
			id, _ := r.inBackground(modelsim.Text(followUp))
			tc.cut(r)
			card := r.awaitFollowUp(id, tc.says)
			if offers(card, doContinue) != tc.goesOn {
				t.Errorf("it says %s", card.Text())
			}
			if tc.goesOn {
				r.press(card, doContinue)
				r.awaitFollowUp(id, "接着做完了")
			}
		})
	}
}

// followUpSteps are the steps of a follow-up; true = tested with the real CLI.
var followUpSteps = map[string]bool{
	"follow-up: queueing": false, "follow-up: queued": false, "follow-up: reading": true, "follow-up: read": false,
	"follow-up: stored": false,
}

// The program is killed during a follow-up, or after it. Its answer is shown once, and nothing runs again: what the
// agent finished alone is in its transcript.
func TestACrashAroundAFollowUp(t *testing.T) {
	t.Parallel()
	for step, ofTheCLI := range followUpSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, allowBash, func(c *config.Config) {
				if ofTheCLI {
					realCLI(t)(c)
				}
			})
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			rest := make(chan struct{})
			id, end := s.inBackground(modelsim.Hold(rest), modelsim.Text(followUp))
			alone := step != "follow-up: read" && step != "follow-up: stored"
			if !alone {
				close(rest)
			}
			end()
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			if alone {
				close(rest)
			}
			s.awaitNoAgents(patience)
			s.run()
			s.connected()
			if got := visibleText(s.awaitFollowUp(id, followUp)); got != followUp {
				t.Errorf("it says %q", got)
			}
			s.followed(id, 2)
		})
	}
}

// followed checks that a follow-up has ended, and that the question has that many answers. It ends the program.
func (s *service) followed(id string, messages int) {
	s.Helper()
	s.until("an empty outbox", func() bool { return s.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if n := len(replies(s.sim.View(), s.chat, id)); n != messages {
		s.Errorf("%d messages answer, want %d: %s", n, messages, s.transcript())
	}
	if n := s.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running') OR follows > 0`); n != messages-1 {
		s.Errorf("%d turns, want %d", n, messages-1)
	}
	if n := count(s.model.Requests(), tellsOfTheEnd); n > messages-1 {
		s.Errorf("the agent was notified %d times of the end", n)
	}
	s.terminate()
	s.awaitNoAgents(2 * busy)
	s.clean()
}

// The program is killed while the background command runs, which ends with its agent: people are told, and can
// continue.
func TestACrashWhileACommandRunsInTheBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{}, allowBash)
	s.run()
	s.connected()
	id, _ := s.inBackground(modelsim.Text(followUp))
	s.model.Script(modelsim.Rule{Match: asksFor("继续"), Times: 1, Steps: []modelsim.Step{modelsim.Text("接着做完了。")}})
	s.kill()
	s.run()
	s.connected()
	card := s.awaitFollowUp(id, "中断")
	s.press(card, doContinue)
	s.awaitFollowUp(id, "接着做完了")
	s.until("an empty outbox", func() bool { return s.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if n := count(s.model.Requests(), tellsOfTheEnd); n != 0 {
		t.Errorf("the agent was notified %d times of the end", n)
	}
	s.terminate()
	s.awaitNoAgents(2 * busy)
	s.clean()
}

// The program is killed just when a new conversation has started: nothing more is shown of the old one's background
// command.
func TestACrashAfterANewConversation(t *testing.T) {
	t.Parallel()
	s := newService(t, feishusim.Config{}, allowBash)
	s.run("MAGPIE_CRASH_AT=follow-up: reading")
	s.connected()
	id, end := s.inBackground(modelsim.Text(followUp))
	end()
	if !s.died(patience) {
		t.Fatalf("the program did not come to this step: %s", s.logs)
	}
	s.awaitNoAgents(patience)
	s.sql(`UPDATE chats SET epoch = epoch + 1`)
	s.run()
	s.connected()
	if card := s.awaitFollowUp(id, "重新开始"); offers(card, doContinue) || strings.Contains(card.Text(), followUp) {
		t.Errorf("it says %s", card.Text())
	}
	s.followed(id, 2)
}

// The program is killed during the agent's second follow-up. The first one is not repeated; of the second, people see
// what was visible, or all of it if the agent finished alone.
func TestACrashInTheSecondFollowUp(t *testing.T) {
	t.Parallel()
	for _, finishes := range []bool{true, false} {
		t.Run(fmt.Sprintf("finishes=%v", finishes), func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, allowBash, func(c *config.Config) {
				if finishes { // a finished turn is read from the transcript
					realCLI(t)(c)
				}
			})
			s.run()
			s.connected()
			gate, hold := filepath.Join(s.TempDir(), "gate-2"), make(chan struct{})
			again := modelsim.Tool("Bash", map[string]any{
				"command": "for i in $(seq 900); do [ -e " + gate + " ] && break; sleep 0.1; done", "description": "again",
				"run_in_background": true,
			})
			id, end := s.inBackground(again)
			s.model.Script(modelsim.Rule{Match: doortest.AfterTool, Times: 1, Steps: []modelsim.Step{modelsim.Text(followUp)}})
			end()
			s.awaitFollowUp(id, followUp)
			s.model.Script(modelsim.Rule{Match: tellsOfTheEnd, Times: 1, Steps: []modelsim.Step{
				modelsim.Text("第二次，"), modelsim.Hold(hold), modelsim.Text("也好了。"),
			}})
			must(t, os.WriteFile(gate, nil, 0o600))
			s.await("the beginning of the second follow-up", func(v *feishusim.View) bool {
				list := replies(v, s.chat, id)
				return len(list) == 3 && strings.Contains(visibleText(list[2]), "第二次")
			})
			s.kill()
			want := "第二次，"
			if finishes {
				close(hold)
				s.awaitNoAgents(patience)
				want = "第二次，也好了。"
			}
			s.run()
			s.connected()
			card := s.awaitFollowUp(id, want)
			if got := visibleText(card); finishes && got != want || offers(card, doContinue) == finishes ||
				strings.Contains(got, followUp) {
				t.Errorf("it says %q", got)
			}
			s.followed(id, 3)
		})
	}
}

// A session that is full is not replaced by a summary while its agent works in the background, which would end that.
// /status says that it works.
func TestAFullSessionWaitsForItsBackground(t *testing.T) {
	r := newRig(t, allowBash)
	id, end := r.inBackground(modelsim.Text(followUp))
	r.shows(r.chat, r.sim.Say(r.chat, r.user, "/status"), "后台还在工作")
	r.sql(`UPDATE chats SET session_tokens = 1000000000`)
	if got := r.ask("数到 3"); got != "1 2 3" || len(r.waiting()) == 0 {
		t.Fatalf("meanwhile: %q; processes of the command: %q", got, r.waiting())
	}
	end()
	r.awaitFollowUp(id, followUp)
}

// A summary that is ordered while the agent works in the background ends nothing of that: it is made when the work has
// ended, however that ends, and whoever has ordered it is answered then.
func TestCompactWaitsForTheBackground(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]bool{"between turns": false, "during a turn": true} {
		for how, ends := range map[string]func(r *rig, id string, end func()){
			"with a follow-up": func(r *rig, id string, end func()) { end(); r.awaitFollowUp(id, followUp) },
			"stopped":          func(r *rig, _ string, _ func()) { r.sim.Say(r.chat, r.user, "/stop") },
			"the agent dies":   func(r *rig, _ string, _ func()) { r.killProcess() },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				r := newRig(t, allowBash, func(c *config.Config) { c.Context.KeepRecent = 1 })
				id, end := r.inBackground(modelsim.Text(followUp))
				started, goOn := r.started(), func() {}
				if during {
					next, release := r.startAnswer(r.chat)
					goOn = func() { release(); r.answer(r.chat, next) }
				}
				order := r.sim.Say(r.chat, r.user, "/compact")
				r.until("the order", func() bool { return r.count(`SELECT COUNT(*) FROM chats WHERE compact_for <> ''`) == 1 })
				if goOn(); !during { // a question does not make it begin either
					r.ask("数到 3")
				}
				if len(r.waiting()) == 0 || r.started() != started {
					t.Fatal("the background command has ended")
				}
				if n := count(r.model.Requests(), isSummary); n != 0 {
					t.Fatalf("%d summaries before the end of the work", n)
				}
				ends(r, id, end)
				if got := r.outcome(order); !strings.Contains(got, "较早的") {
					t.Errorf("/compact: %q", got)
				}
				if n := count(r.model.Requests(), isSummary); n != 1 {
					t.Errorf("%d summaries", n)
				}
			})
		}
	}
}

// Recalling a question ends its background command: the agent writes nothing about it later.
func TestAQuestionIsRecalledWhileItsAgentWorks(t *testing.T) {
	r := newRig(t, allowBash, suggests)
	r.model.Script(modelsim.Rule{Match: isSuggestion, Steps: []modelsim.Step{modelsim.Text("数到 4")}})
	id, end := r.inBackground(modelsim.Text(followUp))
	r.sim.Recall(id)
	r.until("the end of the follow-up", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
	})
	end()
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("the next answer: %q", got)
	}
	for query, want := range map[string]int{
		`SELECT COUNT(*) FROM turns WHERE follows = 1 AND state = 'cancelled'`:                  1,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content LIKE '后台的%'`:        0,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND state = '' AND turn_id = 1`: 0,
	} {
		if got := r.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// The same while another question is being answered by the same process: its answer is complete, and nothing about the
// recalled one follows it. What was started for the other question goes on.
func TestAQuestionIsRecalledWhileAnotherIsAnswered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){"scripted": func(*config.Config) {}, "CLI": realCLI(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, change)
			id, _ := r.inBackground(modelsim.Text(followUp))
			if len(r.waiting()) == 0 {
				t.Fatal("the background command does not run")
			}
			next, goOn := r.startAnswer(r.chat)
			started := r.started()
			r.sim.Recall(id)
			r.until("the end of the command", func() bool { return len(r.waiting()) == 0 })
			goOn()
			card := r.answer(r.chat, next)
			if got := visibleText(card); got != "一二" || strings.Contains(card.Text(), "后台") {
				t.Errorf("the other answer: %q", card.Text())
			}
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if n := r.count(`SELECT COUNT(*) FROM turns WHERE follows > 0 AND state <> 'cancelled'`); n != 0 ||
				r.started() != started || count(r.model.Requests(), tells("<task-notification>")) != 0 {
				t.Errorf("%d follow-ups; the agent was told, or its process was ended", n)
			}
		})
	}
}

// tellsOfAnEnd is tellsOfTheEnd after another command was stopped, of which the CLI also tells the agent then.
func tellsOfAnEnd(q *modelsim.Request) bool {
	return strings.Contains(q.AllText(), "<status>completed</status>")
}

const otherGate = "other-gate"

// alsoInBackground is inBackground for another question, after it.
func (r *rig) alsoInBackground() (id string, end func()) {
	r.Helper()
	gate := filepath.Join(r.TempDir(), otherGate)
	r.model.Script(
		modelsim.Rule{Match: tellsOfAnEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text(followUp)}},
		modelsim.Rule{Match: asksFor("还有一件"), Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash", map[string]any{
			"command":     "for i in $(seq 900); do [ -e " + gate + " ] && break; sleep 0.1; done",
			"description": "wait", "run_in_background": true,
		})}},
		modelsim.Rule{Match: tells("running in background"), Times: 1, Steps: []modelsim.Step{modelsim.Text("也在跑了。")}},
	)
	id = r.sim.Say(r.chat, r.user, "还有一件")
	r.shows(r.chat, id, "也在跑了")
	r.until("the end of the second turn", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE follows = 0 AND state = 'done'`) == 2
	})
	return id, func() { must(r, os.WriteFile(gate, nil, 0o600)) }
}

// What the agent says about a task stands below the question for which it runs, whichever ends first.
func TestFollowUpsOfTwoQuestions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){"scripted": func(*config.Config) {}, "CLI": realCLI(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, change)
			id, end := r.inBackground(modelsim.Text("第一件好了。"))
			other, endOther := r.alsoInBackground()
			endOther()
			r.awaitFollowUp(other, followUp)
			end()
			r.awaitFollowUp(id, "第一件好了")
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			for _, asked := range []string{id, other} {
				if n := len(replies(r.sim.View(), r.chat, asked)); n != 2 {
					t.Errorf("%d messages answer %s", n, asked)
				}
			}
		})
	}
}

// Recalling the later one of two questions ends its command only: what follows is about the first one only.
func TestALaterQuestionIsRecalledWhileItsAgentWorks(t *testing.T) {
	r := newRig(t, allowBash)
	id, end := r.inBackground()
	other, _ := r.alsoInBackground()
	r.sim.Recall(other)
	r.until("the end of its command", func() bool { return len(r.waitingFor(otherGate)) == 0 })
	end()
	r.awaitFollowUp(id, followUp)
	r.until("the end of the turns", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
	})
	if n := count(r.model.Requests(), tells("<task-notification>")); n != 1 {
		t.Errorf("the agent was told %d times", n)
	}
}

// The same while nothing is being answered: the process goes on with what it does for the other question, and tells its
// result.
func TestAQuestionIsRecalledWhileItsAgentWorksForAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){"scripted": func(*config.Config) {}, "CLI": realCLI(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, change)
			id, _ := r.inBackground()
			other, end := r.alsoInBackground()
			started := r.started()
			r.sim.Recall(id)
			r.until("the end of the command", func() bool { return len(r.waiting()) == 0 })
			end()
			r.awaitFollowUp(other, followUp)
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if n := r.count(`SELECT COUNT(*) FROM turns WHERE follows = 1 AND state <> 'cancelled'`); n != 0 ||
				r.started() != started || count(r.model.Requests(), tellsOfAnEnd) != 1 {
				t.Errorf("%d follow-ups of the recalled question; or the process was ended, or the agent told twice", n)
			}
		})
	}
}

// The same while the agent tells about the recalled one: what it does for the other question goes on, and is told.
func TestAQuestionIsRecalledWhileItsResultIsTold(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){"scripted": func(*config.Config) {}, "CLI": realCLI(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, change)
			id, end := r.inBackground()
			other, endOther := r.alsoInBackground()
			r.model.Script(modelsim.Rule{
				Match: tellsOfAnEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text("第一件的结果"), modelsim.Hang()},
			})
			end()
			r.await("the follow-up", func(v *feishusim.View) bool {
				list := replies(v, r.chat, id)
				return len(list) == 2 && strings.Contains(visibleText(list[1]), "第一件的结果")
			})
			started := r.started()
			r.sim.Recall(id)
			r.until("the end of the follow-up", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE follows = 1 AND state = 'cancelled'`) == 1
			})
			endOther()
			r.awaitFollowUp(other, followUp)
			r.until("the end of the turns", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
			if r.started() != started {
				t.Error("the process was ended")
			}
		})
	}
}

// The same while the recalled one is answered for the first time.
func TestAQuestionIsRecalledWhileItIsAnsweredBesideAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){"scripted": func(*config.Config) {}, "CLI": realCLI(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, allowBash, change)
			id, end := r.inBackground()
			r.model.Script(modelsim.Rule{Match: tellsOfAnEnd, Times: 1, Steps: []modelsim.Step{modelsim.Text(followUp)}})
			next, _ := r.startAnswer(r.chat)
			started := r.started()
			r.sim.Recall(next)
			r.until("the end of its turn", func() bool {
				return r.count(`SELECT COUNT(*) FROM turns WHERE follows = 0 AND state = 'cancelled'`) == 1
			})
			end()
			r.awaitFollowUp(id, followUp)
			if r.started() != started {
				t.Error("the process was ended")
			}
		})
	}
}

// A follow-up whose questions were deleted meanwhile, with [db] history_ttl, ends like any other.
func TestAFollowUpWhoseQuestionIsDeleted(t *testing.T) {
	r := newRig(t, allowBash, suggests)
	r.model.Script(modelsim.Rule{Match: isSuggestion, Steps: []modelsim.Step{modelsim.Text("数到 4")}})
	hold := make(chan struct{})
	id, end := r.inBackground(modelsim.Text(followUp), modelsim.Hold(hold))
	r.sql(`DELETE FROM messages WHERE role = 'user'`)
	end()
	r.await("the follow-up", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		return len(list) == 2 && strings.Contains(list[1].Text(), followUp)
	})
	close(hold) // what is suggested before somebody reads the follow-up is lost
	r.until("the cost of the suggestion", func() bool {
		return r.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'suggestion' AND user_id = '' AND cost_usd > 0`) == 1
	})
}

// askedByASubagent is the card on which a subagent of the first turn, which has ended, asks for a permission.
func (r *rig) askedByASubagent(id string) (asked feishusim.Message) {
	r.Helper()
	r.await("the subagent's approval", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		i := slices.IndexFunc(list, func(m feishusim.Message) bool { return offers(m, "allow") })
		if i >= 0 {
			asked = list[i]
		}
		return i >= 0 && r.count(`SELECT COUNT(*) FROM turns WHERE id = 1 AND state = 'done'`) == 1
	})
	return asked
}
