package bridge

import (
	"context"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// /stop stops the turn that was running when it arrived, not a later one.
func TestStopDoesNotStopTheNextTurn(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	_, first := context.WithCancelCause(t.Context())
	l.beginTurn(room, 7, first)
	o, err := l.commandSet().stop(t.Context(), invocation{Incoming: incoming("om_1", "/stop")})
	l.must(err)
	ctx, end := context.WithCancelCause(t.Context())
	l.beginTurn(room, 8, end)
	l.receiver().commands.carryOut(invocation{Incoming: incoming("om_1", "/stop")}, o)
	if ctx.Err() != nil {
		t.Error("the next turn was stopped")
	}
}

// /stop right after a question: the question has not been started, and must not be.
func TestStopStopsWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.enter(room) // as somebody who has not come to the chat's work yet
	l.say("om_1", "hello")
	l.say("om_2", "/stop")
	l.say("om_3", "/stop") // the same, said twice
	l.queue().jobs.Enqueue(func(ctx context.Context) { l.queue().work(ctx, room) })
	l.ended(convo.Cancelled, 1)
	l.sent()
	l.stopsQuietly()
	if n := l.pool.Stats().Started; n != 0 {
		t.Errorf("%d agents were started", n)
	}
	l.say("om_4", "hello again")
	l.ended(convo.Done, 1)
	if said, _, _ := l.rec.SoFar(); len(said) != 2 || said[0] != i18n.Stopped.In(i18n.Chinese) &&
		said[0] != i18n.Stopped.In(i18n.English) {
		t.Errorf("said %q", said)
	}
}

func TestChineseNamesOfCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/新会话": "/new", "／停止": "/stop", "/清空": "/reset", "/压缩": "/compact", "/状态": "/status", "／帮助": "/help",
		"/历史 20": "/history 20", "/上下文 昨天 说了什么": "/context 昨天 说了什么", "/记住　周二\n发布 ": "/remember 周二\n发布",
		"/记忆 show 3":      "/memory show 3",
		"/Remember  tea ": "/remember tea",
	} {
		cmd, name, args := parseCommand(text)
		if got := strings.TrimSpace(name + " " + args); cmd == nil || got != want {
			t.Errorf("parseCommand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCommandNamesAreUnique(t *testing.T) {
	t.Parallel()
	of := map[string]string{}
	for _, c := range commands() {
		for _, name := range append([]string{c.name}, c.aliases...) {
			if other, taken := of[name]; taken || name != strings.ToLower(name) {
				t.Errorf("%q of /%s is taken by %q, or cannot be found", name, c.name, other)
			}
			of[name] = c.name
		}
	}
}

func TestOnlyAdminsMayGiveTheirCommands(t *testing.T) {
	t.Parallel()
	a := &access.Config{Owner: "ou_owner", Admins: []string{"ou_admin"}, Allow: []string{"*"}}
	for who, want := range map[string]bool{"ou_owner": true, "ou_admin": true, "ou_user": false, "": false} {
		if got := (command{admin: true}).allowedFor(*a, chat.Actor{ID: who}); got != want {
			t.Errorf("%q may: %v", who, got)
		}
		if !(command{}).allowedFor(*a, chat.Actor{ID: who}) {
			t.Errorf("%q may not give an ordinary command", who)
		}
	}
	if (command{admin: true}).allowedFor(access.Config{}, chat.Actor{}) {
		t.Error("without an owner, nobody is one")
	}
}

// A setting changes in the transaction of its command, and language and project follow.
func TestACommandChangesTheSettings(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	own := t.TempDir()
	l.remake(func(c *Config) { c.Projects.Named = map[string]workplace.Project{"own": {Path: own}} })
	l.start()
	l.must(l.receiver().commands.execute(t.Context(), invocation{Incoming: incoming("om_1", "/lang en"), args: "en"},
		func(_ context.Context, o invocation) (commandResult, error) {
			if o.args != "en" || o.lang != i18n.Chinese || o.chat.Kind != "" {
				t.Errorf("ordered %+v", o)
			}
			return commandResult{
				reply: "done", effects: []db.Effect{
					db.ChangeSettings{To: db.Settings{Lang: o.args}}, db.ChangeSettings{To: db.Settings{Project: "own", Mode: "plan"}},
				}}, nil
		}))
	c := l.chat()
	if c.Settings.Lang != "en" || l.cfg().Projects.DirOf(c) != own || l.cfg().Projects.ModeOf(c) != "plan" {
		t.Errorf("settings %+v", c.Settings)
	}
	if got := l.receiver().languages.LanguageFor(t.Context(), room, string(i18n.Chinese)); got != i18n.English {
		t.Errorf("the chat is answered in %q", got)
	}
	l.say("om_2", "/状态")
	want := strings.Split(i18n.Status.EN, "\n")[0]
	var said []string
	l.until("a reply", func() bool {
		said, _, _ = l.rec.SoFar()
		return l.unsent() == 0 && len(said) == 2
	})
	if head := strings.Split(want, "%s")[0]; !strings.HasPrefix(said[1], head) {
		t.Errorf("said %q, want it to begin with %q", said[1], head)
	}
}

// What is suggested for a mistyped command is what was asked for: the help of a command, or the command itself.
func TestASuggestionKeepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	set := l.commandSet()
	for _, tc := range []struct {
		plan       plan
		args, want string
	}{
		{set.help, "模", "/help model"}, {set.help, "/modle opus", "/help model"},
		{set.unknownCommand("/modle"), "opus", "/model opus"}, {set.unknownCommand("/stauts"), "", "/status"},
	} {
		got, err := tc.plan(t.Context(), invocation{Incoming: incoming("om_1", ""), args: tc.args, lang: i18n.Chinese})
		if l.must(err); got.card == nil || len(got.card.Buttons) != 1 || got.card.Buttons[0].Action.ID != tc.want ||
			got.card.Buttons[0].Label != tc.want {
			t.Errorf("%q: %+v", tc.want, got.card)
		}
	}
}
