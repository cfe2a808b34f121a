package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/internal/convo"
)

// ordered is what the bot replies to a command.
func (l *bridgeRig) ordered(id, text string) string {
	l.Helper()
	said, cards := l.rec.Replies()
	l.say(id, text)
	l.until("a reply to "+text, func() bool {
		s, c := l.rec.Replies()
		return len(s) > len(said) || len(c) > len(cards)
	})
	s, c := l.rec.Replies()
	for _, card := range c[len(cards):] { // with what its buttons say
		s = append(s, card.Body)
		for _, b := range card.Buttons {
			s[len(s)-1] += "\n" + b.Label + ": " + b.Action.ID
		}
	}
	return s[len(said)]
}

// A chat changes its project right before its turn begins: what the agent's tools go by is where the agent works.
func TestTheToolHandlersKnowWhereTheAgentWorks(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	other := t.TempDir()
	l.remake(func(c *Config) { c.Projects.Named = map[string]workplace.Project{"other": {Path: other}} })
	l.say("om_1", "hello")
	c := l.claim(room)
	l.say("om_2", "/cd other")
	var known, works string
	tn := l.turnOf(c)
	l.runWith(t.Context(), tn, func(ctx context.Context, tn *turn) turncard.Outcome {
		a, err := l.tools().RunningTurn(room)
		l.must(err)
		s, err := l.runner().specs.specFor(ctx, tn)
		l.must(err)
		known, works = a.Project, s.Dir
		return turncard.Outcome{State: convo.Done}
	})
	if known != other || works != realPath(other) {
		t.Errorf("the agent works in %s, its tools in %s", works, known)
	}
}

func TestAChatChangesItsProject(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	dir := deliverytest.Folders(t, "a", "secret")
	l.remake(func(c *Config) {
		c.Projects.Mode = "default"
		c.Projects.Named = map[string]workplace.Project{"Web": {Path: filepath.Join(dir, "a"), Mode: "acceptEdits"},
			"away": {Path: filepath.Join(dir, "b")}}
	})
	l.start()
	for i, tc := range []struct{ text, want string }{
		{"/projects", "`Web`"}, {"/项目", "← 当前"}, {"/cd", "Web: /cd Web"},
		{"/mode", "只做已允许的 (dontAsk): /mode dontAsk\n每次询问 (default): /mode default"}, {"/mode acceptEdits", "最高权限是“每次询问”（`default`）"},
		{"/cd web", "已切换到项目 Web"},
		{"/mode", "(acceptEdits): /mode acceptEdits"}, {"/projects", ": /cd default"}, {"/模式 接受编辑", "acceptEdits"}, {"/mode bypassPermissions", "不允许"},
		{"/mode yolo", "没有这个权限模式"},
		{"/cd away", "没有这个项目"}, {"/cd " + filepath.Join(dir, "secret"), "没有这个项目"}, {"/cd ../secret", "没有这个项目"},
		{"/cd /", "没有这个项目"},
		{"/cd ~", "没有这个项目"}, {"/cd Web --dangerously-skip-permissions", "没有这个项目"},
	} {
		got := l.ordered("om_"+string(rune('a'+i)), tc.text)
		if !strings.Contains(got, tc.want) || strings.Contains(got, dir) {
			t.Errorf("%s: %q, want %q in it", tc.text, got, tc.want)
		}
	}
	if c := l.chat(); c.Settings.Project != "Web" || c.Settings.Mode != "acceptEdits" {
		t.Errorf("settings %+v", c.Settings)
	}
	must(t, os.Remove(filepath.Join(dir, "a")))
	deliverytest.Link(t, "/", filepath.Join(dir, "a")) // since the program has started
	l.say("om_question", "你好")
	l.until("the end of the turn", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'failed' AND failure = 'project'`) == 1
	})
	l.awaitTurns(1) // its card is posted by then
	l.sent()
	if got := l.ordered("om_last", "/切换 默认"); !strings.Contains(got, "已切换到项目") {
		t.Errorf("/cd default: %q", got)
	}
}
