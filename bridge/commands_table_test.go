package bridge

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"magpie/internal/chat"
)

// commandCase is what a command does in a chat in which nothing was said yet.
type commandCase struct {
	args  string // given with the command
	reply phrase // that begins the reply to whoever may give it; as far as its first verb
}

// commandCases has a row for every command of the table.
var commandCases = map[string]commandCase{
	"help":     {reply: texts.HelpHead},
	"new":      {reply: texts.New},
	"reset":    {reply: texts.Reset},
	"compact":  {}, // it is answered when it is done
	"stop":     {reply: texts.NothingToStop},
	"retry":    {reply: commandTexts.RetryNothing},
	"status":   {reply: texts.Status},
	"title":    {reply: commandTexts.TitleNone},
	"resume":   {reply: commandTexts.ResumeNothing},
	"history":  {reply: texts.HistoryNothing},
	"export":   {reply: commandTexts.ExportBegun},
	"context":  {reply: texts.ContextHead},
	"remember": {reply: texts.RememberWhat},
	"memory":   {reply: texts.MemoryNone},
	"allow":    {reply: approvalTexts.AllowNone},
	"model":    {reply: commandTexts.ModelNow},
	"effort":   {args: "high", reply: commandTexts.EffortSet},
	"lang":     {reply: commandTexts.LangNow},
	"projects": {reply: accessTexts.ProjectsHead},
	"cd":       {args: "nowhere", reply: accessTexts.NoSuchProject},
	"cost":     {args: "century", reply: accessTexts.CostUsage},
	"whoami":   {reply: accessTexts.WhoAmI},
	"admin":    {reply: accessTexts.AdminUsage},
	"mode":     {args: "yolo", reply: accessTexts.NoSuchMode},
	"doctor":   {reply: commandTexts.DoctorBegun},
	"mention":  {reply: outputTexts.MentionPrivate},
	"login":    {args: "what", reply: commandTexts.LoginUsage},
}

// head is what a reply made of p begins with.
func (p phrase) head(l lang) string {
	before, _, _ := strings.Cut(p.in(l), "%")
	return before
}

var spanOfCode = regexp.MustCompile("`[^`]*`")

// Every command by every name, in both languages, by an admin, a user and a stranger.
func TestEveryCommand(t *testing.T) {
	for _, c := range commands() {
		row, ok := commandCases[c.name]
		if !ok {
			t.Errorf("/%s has no row in commandCases", c.name)
			continue
		}
		if len(c.aliases) == 0 || langOf(c.aliases[0]) != zh {
			t.Errorf("/%s has no Chinese name", c.name)
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, t.TempDir(), func(cfg *Config) {
				cfg.Access = Access{Owner: "ou_boss", Admins: []string{"ou_admin"}, Allow: []string{"ou_user"}}
			})
			close(w.bridge.recovery.done) // there is nothing to recover
			defer func() { w.must(w.store.Close()) }()
			for n, name := range append([]string{c.name}, c.aliases...) {
				for _, l := range []lang{zh, en} {
					for _, who := range []string{"ou_admin", "ou_user", "ou_stranger"} {
						p := place{chat.FeishuChat(fmt.Sprintf("oc_%d_%s_%s", n, l, who)), chat.Private, who}
						c.try(w, p, name, l, row)
					}
				}
			}
		})
	}
}

// try gives the command in a new chat that speaks l.
func (c command) try(w *world, p place, name string, l lang, row commandCase) {
	w.Helper()
	line := strings.TrimSpace("/" + name + " " + row.args)
	if p.who == "ou_stranger" {
		w.hear(p, "/lang "+string(l), true)
		w.hear(p, line, true)
		if _, err := w.store.Chats().Get(w.ctx, p.key); err == nil {
			w.Errorf("%s of a stranger left something", line)
		}
		return
	}
	if got := w.order(p, "/lang "+string(l)); !strings.HasPrefix(got, commandTexts.LangSet.head(l)) {
		w.Errorf("/lang %s: %q", l, got)
	}
	if c.name == "compact" {
		w.hear(p, line, true)
		if got, err := w.store.Chats().Get(w.ctx, p.key); err != nil || got.Compacting == "" {
			w.Errorf("%s ordered no summary: %v", line, err)
		}
		return
	}
	want := row.reply
	if c.admin && p.who == "ou_user" {
		want = texts.ForAdmins
	}
	got := w.order(p, line)
	if !strings.HasPrefix(got, want.head(l)) || want == (phrase{}) {
		w.Errorf("%s by %s in %s: %q, want %q", line, p.who, l, got, want.head(l))
	}
	if words := spanOfCode.ReplaceAllString(got, ""); (langOf(words) == zh) != (l == zh) {
		w.Errorf("%s in %s is answered with %q", line, l, got)
	}
}

// The list shows what whoever asks may give, and a button for what is frequent.
func TestHelpIsForWhoAsks(t *testing.T) {
	w := testWorld(t)
	boss, user := place{alice.key, chat.Private, "ou_boss"}, place{bob.key, chat.Private, "ou_user"}
	w.expect(w.order(boss, "/help"), "/doctor", "/login", "管理员", "/model", "`/恢复`", "`//compact`")
	w.expect(w.order(user, "/help"), "!/doctor", "!/login", "!管理员", "/model")
	w.expect(w.order(boss, "/help login"), "/login [cancel", "`/登录`")
	w.expect(w.order(user, "/help login"), "没有 /login 这个命令")
	w.expect(w.order(user, "/help ／恢复"), "`/resume [编号]`", "回到其中一个", "`/恢复` `/会话`")
	w.expect(w.order(user, "/帮助 /resme"), "/resume")
	w.order(user, "/lang en")
	w.expect(w.order(user, "/help"), "!`/恢复`", "Just write", "/resume")

	w.hear(user, "/help", true)
	p, err := w.store.Outbox().Next(w.ctx, user.key)
	w.must(err)
	if n := len(p.Card.Buttons); n < 6 || n > mostButtons || p.Card.Buttons[0] != orderButton("New", "/new") {
		t.Errorf("buttons %+v", p.Card.Buttons)
	}
}

func TestNearestCommand(t *testing.T) {
	for word, want := range map[string]string{
		"hlep": "help", "stpo": "stop", "hist": "history", "histroy": "history", "modle": "model", "rest": "reset", "now": "new",
		"compakt": "compact", "statuss": "status", "resum": "resume", "xyzzy": "", "x": "", "": "", "deploy": "", "恢": "恢",
	} {
		c, ok := nearest(word, commands())
		switch {
		case want == "恢": // one letter too few in a short word
			if !ok || c.name != "resume" {
				t.Errorf("nearest(%q) = %q", word, c.name)
			}
		case ok != (want != "") || c.name != want:
			t.Errorf("nearest(%q) = %q, want %q", word, c.name, want)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"stop", "stop", 0}, {"stpo", "stop", 1}, {"kitten", "sitting", 3}, {"恢复", "恢夏", 1}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// A slip of the hand is offered to be put right by a button, which gives the whole line.
func TestUnknownCommands(t *testing.T) {
	w := testWorld(t)
	w.hear(alice, "/histroy 20", true)
	p, err := w.store.Outbox().Next(w.ctx, alice.key)
	w.must(err)
	if p.Card == nil || len(p.Card.Buttons) != 1 || p.Card.Buttons[0] != orderButton("/history 20", "/history 20") {
		t.Errorf("%+v", p)
	}
	w.expect(w.delivered(alice), "没有 /histroy 这个命令", "/history")
	w.expect(w.order(alice, "/xyzzy"), "没有 /xyzzy 这个命令", "/help")
	w.expect(w.order(alice, "/usage"), "//usage")
	w.expect(w.order(alice, "/modle "+strings.Repeat("x", 200)), "/model")
	w.expect(w.order(alice, "/logn"), "!/login", "没有 /logn") // he may not give it
}

// A pressed button gives its command as whoever presses it, once, and whatever else it says does nothing.
func TestAButtonGivesACommand(t *testing.T) {
	w := testWorld(t)
	w.order(alice, "/help")
	press := func(id, who, line string) {
		w.Helper()
		_, err := w.bridge.Press(w.ctx, chat.Press{ID: id, Key: alice.key, Card: "om_card", Actor: chat.Actor{ID: who}, Action: chat.Action{Do: doOrder, ID: line}})
		w.must(err)
	}
	press("p1", alice.who, "/model sonnet")
	press("p1", alice.who, "/model opus") // the same press, told again
	p, err := w.store.Outbox().Next(w.ctx, alice.key)
	w.must(err)
	if p.ReplyTo != "om_card" {
		t.Errorf("it answers %q", p.ReplyTo)
	}
	w.expect(w.delivered(alice), "sonnet")
	if c, err := w.store.Chats().Get(w.ctx, alice.key); err != nil || c.Settings.Model != "sonnet" {
		t.Errorf("%+v %v", c.Settings, err)
	}
	press("p2", "ou_user", "/doctor")
	w.expect(w.delivered(alice), texts.ForAdmins.ZH)
	for i, forged := range []string{"", "hello", "/nosuch", "//compact", "/", "rm -rf /", "new"} {
		press(fmt.Sprintf("forged%d", i), alice.who, forged)
	}
	if p, err := w.store.Outbox().Next(w.ctx, alice.key); err == nil {
		t.Errorf("a forged button was answered: %+v", p)
	}
	w.must(w.bridge.db.Outbox().Delivered(w.ctx, p, ""))
	stranger := newWorld(t, t.TempDir(), func(cfg *Config) { cfg.Access = Access{Owner: "ou_boss"} })
	stranger.order(place{alice.key, chat.Private, "ou_boss"}, "/help")
	toast, err := stranger.bridge.Press(w.ctx, chat.Press{ID: "p", Key: alice.key, Actor: chat.Actor{ID: "ou_x"}, Action: chat.Action{Do: doOrder, ID: "/new"}})
	w.must(err)
	if toast == "" {
		t.Error("a stranger who presses is told nothing")
	}
	if c, err := stranger.store.Chats().Get(w.ctx, alice.key); err != nil || c.Epoch != 0 {
		t.Errorf("a stranger began a new conversation: %v", err)
	}
}

// The list of commands that users read has all of them, in both languages.
func TestEveryCommandIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	chinese, english, _ := strings.Cut(string(text), "\n# Commands\n")
	for _, c := range commands() {
		for _, part := range []string{chinese, english} {
			if !strings.Contains(part, "`/"+c.name+"`") && !strings.Contains(part, "`/"+c.name+" ") {
				t.Errorf("/%s is missing from one of the languages", c.name)
			}
		}
	}
}
