package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/internal/operator/config"
)

func TestStrangersAreIgnoredAndTheOwnerIsNot(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Access = access.Config{} })
	id := r.sim.Say(r.chat, r.user, "你好")
	if got := visibleText(r.answer(r.chat, id)); !strings.Contains(got, r.user.OpenID) {
		t.Errorf("without an owner the reply is %q, want the user's id in it", got)
	}
	r.stop()
	r.cfg.Access.Owner = r.user.OpenID
	r.start()
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	r.sim.Say(other, red, "你好")
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	for _, m := range r.sim.Messages(other) {
		if m.FromBot {
			t.Errorf("a stranger got %q", m.Text())
		}
	}
}

func TestCommandsSpeakTheChatsLanguage(t *testing.T) {
	r := newRig(t)
	if got := r.ask("/help"); !strings.Contains(got, "/reset") || !strings.Contains(got, "命令") {
		t.Errorf("/help: %q", got)
	}
	if got := r.ask("/status"); !strings.Contains(got, "空闲") || !strings.Contains(got, "**会话**") {
		t.Errorf("/status: %q", got)
	}
	if got := r.ask("/stop"); got != "现在没有正在进行的回答。" {
		t.Errorf("/stop: %q", got)
	}
	if got := r.ask("/hlep"); !strings.Contains(got, "/hlep") || !strings.Contains(got, "/help") {
		t.Errorf("/hlep: %q", got)
	}
	r.ask("please count to 3")
	if got := r.ask("/help"); !strings.Contains(got, "Commands") {
		t.Errorf("/help in English: %q", got)
	}
	if got := r.ask("/reset"); got != "Conversation cleared. Your next message starts from scratch." {
		t.Errorf("/reset in English: %q", got)
	}
}

// The modes, as a chat's second turn sees them after its process has ended.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mode           contextmgr.Mode
		session        contextmgr.SessionMode
		resume, prefix bool
	}{
		{contextmgr.Hybrid, contextmgr.Stable, true, true},
		{contextmgr.Resume, contextmgr.Stable, true, false},
		{contextmgr.Database, contextmgr.Stable, false, true},
		{contextmgr.Economy, contextmgr.Stable, true, false},
		{contextmgr.Hybrid, contextmgr.Fresh, false, true},
	} {
		t.Run(string(tc.mode)+" "+string(tc.session), func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				c.Context.Mode, c.Context.SessionMode, c.Claude.KeepAlive.Duration = tc.mode, tc.session, 0
			})
			r.ask("我叫小明")
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			<-r.built
			b := <-r.built
			if b.Prompt.UseResume != tc.resume || (prefixed(b) > 0) != tc.prefix {
				t.Errorf("resume %v, %d messages in the prefix", b.Prompt.UseResume, prefixed(b))
			}
			req := r.lastRequest()
			_, _, prefixed := readPrompt(req.LastUser())
			if prefixed != tc.prefix {
				t.Errorf("the model saw a prefix: %v", prefixed)
			}
		})
	}
}

// A chat has its own project folder and permission mode.
func TestAChatsOwnProjectAndPermissions(t *testing.T) {
	own := t.TempDir()
	r := newRig(t, realCLI(t), func(c *config.Config) {
		c.Projects = map[string]workplace.Project{"site": {Path: own, Mode: "acceptEdits"}}
	})
	r.ask("数到 3")
	if got := r.ask("/cd site"); !strings.Contains(got, "site") {
		t.Errorf("/cd: %q", got)
	}
	if got := r.ask("/mode acceptEdits"); !strings.Contains(got, "acceptEdits") {
		t.Errorf("/mode: %q", got)
	}
	r.ask("运行 `touch made.txt`")
	if _, err := os.Stat(filepath.Join(own, "made.txt")); err != nil {
		t.Errorf("not made in the chat's own project: %v", err)
	}
	if got := r.ask("/status"); !strings.Contains(got, "site") || strings.Contains(got, own) ||
		!strings.Contains(got, "**会话**：进行中") {
		t.Errorf("/status: %q", got)
	}
}
