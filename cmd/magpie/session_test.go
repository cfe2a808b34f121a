package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge"
	"magpie/contextmgr"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// nextBuilt is the context of the next turn.
func (r *rig) nextBuilt() bridge.BuiltContext {
	r.Helper()
	select {
	case b := <-r.built:
		return b
	case <-time.After(patience):
		r.Fatal("no context was built")
		return bridge.BuiltContext{}
	}
}

// prefixTexts are the texts of the prefix in the last request.
func (r *rig) prefixTexts() []string {
	r.Helper()
	req := r.lastRequest()
	list, _, ok := readPrompt(req.LastUser())
	if !ok {
		return nil
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.Text
	}
	return texts
}

// lastSession is the chat's session.
func (r *rig) lastSession() string {
	r.Helper()
	return r.chatNow().Session.ID
}

func economy(c *config.Config) {
	c.Context.Mode, c.Claude.KeepAlive.Duration = contextmgr.Economy, 0
}

func TestAVerifiedSessionNeedsNoPrefix(t *testing.T) {
	r := newRig(t, economy)
	r.ask("我叫小明")
	session := r.lastSession()
	for range 2 {
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			t.Errorf("answer %q", got)
		}
		if got := r.lastRequest(); got.LastUser() != "我叫什么名字？" || got.SessionID != session {
			t.Errorf("the model was asked %q in session %s, want %s", got.LastUser(), got.SessionID, session)
		}
	}
}

// machine makes the program run on another machine from its next start on, with its own transcripts.
func (r *rig) machine(name string, environ []string) {
	r.Helper()
	r.stop()
	r.cfg.Node, r.cfg.Claude.Environ = name, environ
	r.start()
}

// A session that lacks the other machine's answers gets exactly those, in economy mode. In hybrid mode it gets the
// recent part as always. Each machine continues with its own session.
func TestTwoMachinesTakeTurns(t *testing.T) {
	t.Parallel()
	for _, mode := range []contextmgr.Mode{contextmgr.Economy, contextmgr.Hybrid} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				c.Node, c.Context.Mode, c.Claude.KeepAlive.Duration = "desktop", mode, 0
			})
			desktop, laptop := r.cfg.Claude.Environ, claudetest.Environ(t, r.model.URL())
			r.ask("我叫小明")
			first := r.lastSession()
			r.nextBuilt()

			r.machine("laptop", laptop)
			if got := r.ask("我的猫叫花花。我叫什么名字？"); !strings.Contains(got, "小明") {
				t.Errorf("on the laptop: %q", got)
			}
			if b := r.nextBuilt(); b.Lost != claude.LostMachine || b.Prompt.UseResume || prefixed(b) != 2 {
				t.Errorf("context on the laptop: lost %q, %+v", b.Lost, b.Prompt.Stats)
			}
			if got := r.ask("/status"); !strings.Contains(got, "会话在另一台电脑上，已恢复 2 条消息") ||
				!strings.Contains(got, "可续接") {
				t.Errorf("/status on the laptop: %q", got)
			}
			second := r.lastSession()

			r.machine("desktop", desktop)
			if got := r.ask("/status"); !strings.Contains(got, "在另一台电脑或另一个文件夹") {
				t.Errorf("/status on the desktop: %q", got)
			}
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("back on the desktop: %q", got)
			}
			want := []string{"我的猫叫花花。我叫什么名字？"}
			if mode == contextmgr.Hybrid {
				want = []string{"我叫小明", "好的，小明，我记住了。", want[0]}
			}
			got := r.prefixTexts()
			if b := r.nextBuilt(); b.Prompt.ResumeID != first || b.Lost != "" || len(got) != len(want)+1 ||
				!slices.Equal(got[:len(want)], want) {
				t.Errorf("context on the desktop: session %q, want %q; lost %q; prefix %q",
					b.Prompt.ResumeID, first, b.Lost, got)
			}

			r.machine("laptop", laptop)
			r.ask("我叫什么名字？")
			if b := r.nextBuilt(); b.Prompt.ResumeID != second ||
				mode == contextmgr.Economy && prefixed(b) != 2 {
				t.Errorf("context on the laptop again: session %q, want %q; %+v",
					b.Prompt.ResumeID, second, b.Prompt.Stats)
			}
		})
	}
}

// A session whose transcript was replaced by another chat's is refused: nothing of the other chat leaks, and the user
// sees one normal answer.
func TestASwappedTranscriptIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []contextmgr.Mode{contextmgr.Economy, contextmgr.Resume} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Context.Mode = mode })
			red := r.sim.AddUser("小红")
			other := r.sim.PrivateChat(red)
			r.ask("我叫小明")
			r.answer(other, r.sim.Say(other, red, "我叫小红"))
			mine := r.transcriptPath()
			c := r.stored(other)
			theirs := r.transcriptOf(c)
			r.dropProcess()
			r.drop(other)
			data, err := os.ReadFile(theirs)
			must(t, err)
			session := r.lastSession()
			must(t, os.WriteFile(mine, []byte(strings.ReplaceAll(string(data), c.Session.ID, session)), 0o600))

			asked := len(r.model.Requests())
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			last := r.lastRequest()
			if n := len(r.model.Requests()) - asked; n != 1 || strings.Contains(last.AllText(), "小红") {
				t.Errorf("the model was asked %d times, at last %s", n, last.AllText())
			}
			if !strings.Contains(r.logs.String(), `"cause":"transcript holds another conversation"`) ||
				r.lastSession() == session {
				t.Error("the session was not refused")
			}
			if got := r.ask("/status"); !strings.Contains(got, "会话与对话内容不符，已恢复 2 条消息") {
				t.Errorf("/status: %q", got)
			}
		})
	}
}

// With a transcript from a backup the session continues, and its missing messages come from the database.
func TestAnOldSessionGetsItsMissingMessages(t *testing.T) {
	t.Parallel()
	for mode, want := range map[contextmgr.Mode]int{contextmgr.Economy: 2, contextmgr.Resume: 2, contextmgr.Hybrid: 4} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Context.Mode = mode })
			r.ask("数到 3")
			r.dropProcess()
			path, session := r.transcriptPath(), r.lastSession()
			backup, err := os.ReadFile(path)
			must(t, err)
			r.ask("我叫小明")
			r.dropProcess()
			must(t, os.WriteFile(path, backup, 0o600))
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			if got := r.prefixTexts(); len(got) != want || got[want-2] != "我叫小明" ||
				r.lastRequest().SessionID != session {
				t.Errorf("prefix %q in session %s, want %d messages in %s",
					got, r.lastRequest().SessionID, want, session)
			}
			if got := r.ask("/status"); !strings.Contains(got, "补上了缺少的消息") {
				t.Errorf("/status: %q", got)
			}
		})
	}
}

// A turn that was stopped, and one that failed, leave their questions in the session. It is still valid,
// unless its contents may be what the API refuses.
func TestASessionSurvivesFailedTurns(t *testing.T) {
	r := newRig(t, economy)
	r.ask("我叫小明")
	session := r.lastSession()
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
	id := r.sim.Say(r.chat, r.user, "说点什么")
	r.shows(r.chat, id, "说到一半")
	r.ask("/stop")
	r.answer(r.chat, id)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Fail(403, "permission_error", "no")}})
	r.ask("再说一次")
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if got := r.lastRequest(); got.SessionID != session || len(r.prefixTexts()) != 0 {
		t.Errorf("session %s, want %s; prefix %q", got.SessionID, session, r.prefixTexts())
	}
	if logs := r.logs.String(); strings.Contains(logs, `"cause"`) || strings.Contains(logs, "session is behind") {
		t.Error("the session was not trusted")
	}
}

// Without the session only the History is left: the user gets an answer, and /status gives the reason, also after a
// restart.
func TestTheContextDegrades(t *testing.T) {
	t.Parallel()
	for lang, tc := range map[string]struct {
		hello, again, both, lost string
	}{
		"zh": {"我叫小明", "数到 3", "续接会话 + 2 条历史消息", "会话丢失，已恢复 4 条消息"},
		"en": {
			"my name is Ann", "please count to 3", "resumed session + 2 earlier messages",
			"session lost – restored 4 messages",
		},
	} {
		t.Run(lang, func(t *testing.T) {
			r := newRig(t, oneProcessPerTurn)
			status := func(want string) {
				t.Helper()
				if got := r.ask("/status"); !strings.Contains(got, want) {
					t.Errorf("/status: %q, want %q in it", got, want)
				}
			}
			lose := func() { // after the end of the process, which would write the file again
				t.Helper()
				r.until("the end of the process", func() bool {
					s := r.pool().Stats()
					return s.Running == 0 && s.Idle == 0
				})
				must(t, os.Remove(r.transcriptPath()))
			}
			count := func() {
				t.Helper()
				if got := r.ask(tc.again); got != "1 2 3" {
					t.Errorf("answer %q", got)
				}
			}
			r.ask(tc.hello)
			count()
			status(tc.both)
			lose()
			count()
			status(tc.lost)
			if strings.Count(r.logs.String(), `"cause":"transcript missing"`) != 1 {
				t.Error("the lost session is not logged")
			}
			r.stop()
			r.start()
			status(tc.lost)
			r.ask("/new")
			if got := r.ask("/status"); strings.Contains(got, tc.lost) {
				t.Errorf("after /new: %q", got)
			}
		})
	}
}

// With fresh sessions each message has a new session, with the history before it, whatever the mode.
func TestFreshSessions(t *testing.T) {
	t.Parallel()
	for _, mode := range []contextmgr.Mode{contextmgr.Hybrid, contextmgr.Resume} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) { c.Context.Mode, c.Context.SessionMode = mode, contextmgr.Fresh })
			r.ask("我叫小明")
			for i := range 2 {
				if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
					t.Errorf("answer %q", got)
				}
				if got := r.prefixTexts(); len(got) != 2*(i+1) || got[0] != "我叫小明" {
					t.Errorf("carried %q", got)
				}
			}
			sessions := map[string]bool{}
			for _, req := range r.model.Requests() {
				sessions[req.SessionID] = true
				for _, m := range req.Messages {
					if m.Role == "assistant" {
						t.Errorf("an earlier session was resumed: %q", m.Text)
					}
				}
			}
			if len(sessions) != 3 {
				t.Errorf("%d sessions", len(sessions))
			}
			r.until("three transcripts", func() bool { // the CLI writes them concurrently
				files, err := filepath.Glob(filepath.Join(r.pool().Config().State, "*", "projects", "*", "*.jsonl"))
				must(t, err)
				return len(files) == 3
			})
			if got := r.ask("/status"); !strings.Contains(got, "新会话 + 4 条历史消息") {
				t.Errorf("/status: %q", got)
			}
		})
	}
}
