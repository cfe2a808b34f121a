package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// Each way to lose a session, in one chat: the agent still knows the name, with one card, no error message and one
// model answer, and the chat has a session again. The real CLI is used where it takes part; what it needs then is the
// same each time.
func TestTheUserDoesNotNoticeALostSession(t *testing.T) {
	t.Parallel()
	other := func(c *config.Config) {
		c.Projects = map[string]workplace.Project{"other": {Path: t.TempDir()}}
	}
	t.Run("CLI", func(t *testing.T) {
		r := newRig(t, realCLI(t), other)
		r.losesSessions(func(l lostSession) bool { return l.ofTheCLI })
	})
	t.Run("scripted", func(t *testing.T) {
		r := newRig(t, other)
		r.losesSessions(func(l lostSession) bool { return l.name != "transcript torn" })
	})
}

// lostSession is a way to lose a session.
type lostSession struct {
	name     string
	lose     func()
	goes     bool // the session continues
	ofTheCLI bool // the CLI notices it, or has to start a session
}

// losesSessions loses the chat's session in several ways, one after another.
func (r *rig) losesSessions(chosen func(lostSession) bool) {
	r.Helper()
	r.ask("我叫小明")
	for _, tc := range []lostSession{
		{"transcript torn", func() {
			r.dropProcess()
			info, err := os.Stat(r.transcriptPath())
			must(r, err)
			must(r, os.Truncate(r.transcriptPath(), info.Size()/3))
		}, true, true}, // the rest of it is used
		{"transcript deleted", func() { r.dropProcess(); must(r, os.Remove(r.transcriptPath())) }, false, true},
		{"transcript emptied", func() { r.dropProcess(); must(r, os.Truncate(r.transcriptPath(), 0)) }, false, false},
		{"other project path", func() {
			move := func(s *db.Settings) { s.Project = "other" }
			must(r, r.store().Chats().Set(r.Context(), chat.FeishuChat(r.chat), move))
		}, false, false},
		{"unknown id", func() {
			c := r.chatNow()
			r.dropProcess()
			r.replaceSession(c)
		}, false, false},
		{"process killed", r.killProcess, true, true},
		{"config folder deleted", r.removeConfig, true, true},
		{"config folder deleted and process killed", func() { r.killProcess(); r.removeConfig() }, false, false},
	} {
		if !chosen(tc) {
			continue
		}
		before, asked := r.lastSession(), len(r.model.Requests())
		tc.lose()
		id := r.sim.Say(r.chat, r.user, "我的名字叫什么？")
		if got := visibleText(r.answer(r.chat, id)); got != "你叫小明。" {
			r.Errorf("%s: answer %q", tc.name, got)
		}
		if n := len(r.model.Requests()) - asked; n != 1 {
			r.Errorf("%s: the model was asked %d times", tc.name, n)
		}
		if goes := r.lastSession() == before; goes != tc.goes {
			r.Errorf("%s: the session continues: %v", tc.name, goes)
		}
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			r.Errorf("%s: next answer %q", tc.name, got)
		}
	}
}

func (r *rig) configDir() string {
	return filepath.Dir(filepath.Dir(filepath.Dir(r.transcriptPath())))
}

// removeConfig removes the CLI's folder, in which a running process may be writing.
func (r *rig) removeConfig() {
	r.Helper()
	dir := r.configDir()
	r.until("the CLI's folder to be removed", func() bool { return os.RemoveAll(dir) == nil })
}

// replaceSession sets the chat's session to an unknown id.
func (r *rig) replaceSession(c db.Chat) {
	r.Helper()
	r.sql(`UPDATE chats SET session_id = ?2, session_node = ?3 WHERE key = ?1`,
		c.Key.String(), uuid.NewString(), c.Session.Node)
}

// The session has become too long for the model: the same turn is answered from the History, in a new session.
func TestASessionThatIsTooLongIsReplaced(t *testing.T) {
	r := newRig(t, realCLI(t))
	r.ask("我叫小明")
	r.model.Script(modelsim.Rule{
		Match: func(q *modelsim.Request) bool { // requests that still contain the old session's messages
			return slices.ContainsFunc(q.Messages, func(m modelsim.Message) bool { return m.Role == "assistant" })
		},
		Steps: []modelsim.Step{
			modelsim.Fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
		},
	})
	id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
	if got := visibleText(r.answer(r.chat, id)); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if !strings.Contains(r.logs.String(), `"cause":"too long for the model"`) {
		t.Error("the cause is not logged")
	}
}

// The chat's session was started by a bridge on another machine.
func TestASessionOfAnotherMachineIsReplaced(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	c := r.chatNow()
	r.dropProcess()
	c.Session.Node = "elsewhere"
	r.replaceSession(c)
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if !strings.Contains(r.logs.String(), `"cause":"transcript lies on another machine"`) {
		t.Error("the cause is not logged")
	}
}
