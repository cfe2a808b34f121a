package bridge

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/bridge/toolset"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/racetest"
)

// commandCase is what a command does in a chat in which nothing was said yet.
type commandCase struct {
	args    string                              // given with the command
	reply   i18n.Phrase                         // that begins the reply to whoever may give it; as far as its first verb
	inGroup i18n.Phrase                         // that does so in a group and its topics; zero = the same
	charge  bool                                // in a group only admins may
	tells   func(l i18n.Lang, p place) []string // what else the reply says
	does    func(w *memoryRig, c db.Chat) bool  // whether it did what it is to do; nil = it changes nothing
	only    chat.Kind                           // where it does it; empty = everywhere
}

// setting is what a command does that sets something for the chat.
func setting(is func(db.Settings) bool) func(*memoryRig, db.Chat) bool {
	return func(_ *memoryRig, c db.Chat) bool { return is(c.Settings) }
}

func newConversation(_ *memoryRig, c db.Chat) bool { return c.Epoch == 1 }

// scheduled is what a command does that makes as many schedules.
func scheduled(n int) func(*memoryRig, db.Chat) bool {
	return func(w *memoryRig, c db.Chat) bool {
		list, err := w.store.Schedules().Of(w.ctx, c.Key)
		w.must(err)
		return len(list) == n && list[0].State == schedules.Active && !list[0].Next.IsZero()
	}
}

// granted is what a command does that lets somebody talk.
func granted(subject func(db.Chat) string) func(*memoryRig, db.Chat) bool {
	return func(w *memoryRig, c db.Chat) bool {
		key, err := chat.ParseRoom(subject(c))
		w.must(err)
		ok, err := w.store.Access().Allow(w.ctx, "ou_nobody", key)
		w.must(err)
		return ok
	}
}

// commandCases has rows for every command of the table, the first one for all of its names.
var commandCases = map[string][]commandCase{
	"help": {
		{reply: i18n.HelpHead, tells: func(i18n.Lang, place) []string { return []string{"/resume", "//compact"} }},
		{args: "cd", reply: i18n.Phrase{ZH: "`/cd", EN: "`/cd"}},
	},
	"new":   {{reply: i18n.NewBegun, does: newConversation}},
	"reset": {{reply: i18n.ResetDone, does: newConversation}},
	// it is answered when it is done
	"compact": {{does: func(_ *memoryRig, c db.Chat) bool { return c.Compacting != "" }}},
	"stop":    {{reply: i18n.NothingToStop}},
	"retry":   {{reply: i18n.RetryNothing}},
	"status": {{reply: i18n.Status, tells: func(l i18n.Lang,
		_ place) []string {
		return []string{i18n.StatusIdle.In(l), "one"}
	}}},
	"title": {
		{reply: i18n.TitleNone},
		{args: "周会", reply: i18n.TitleSet, does: func(_ *memoryRig, c db.Chat) bool { return c.Topic == "周会" }},
	},
	"search":  {{reply: i18n.SearchUsage}, {args: "heron", reply: i18n.Phrase{ZH: "没有找到", EN: "Nothing found"}}},
	"resume":  {{reply: i18n.ResumeNothing}, {args: "3", reply: i18n.ResumeUnknown}},
	"history": {{reply: i18n.HistoryNothing}, {args: "many", reply: i18n.HistoryUsage}},
	"export":  {{reply: i18n.ExportBegun, charge: true}},
	"context": {{reply: i18n.ContextHead}},
	"remember": {
		{reply: i18n.RememberWhat},
		{args: "周二", reply: i18n.RememberedForUser, inGroup: i18n.RememberedForChat,
			does: func(w *memoryRig, c db.Chat) bool {
				list, err := w.store.Memories().List(w.ctx, c.Key)
				w.must(err)
				return len(list) == 1 && list[0].Text == "周二" && list[0].Scope == toolset.UsualScope(c.Kind)
			}},
	},
	"memory": {{reply: i18n.MemoryNone}, {args: "what", reply: i18n.MemoryUsage},
		{args: "forget 7", reply: i18n.MemoryUnknown}},
	"allow": {{reply: i18n.AllowNone}, {args: "revoke 7", reply: i18n.AllowUnknown},
		{args: "what", reply: i18n.AllowUsage}},
	"approvals": {{reply: i18n.DecisionsNone}, {args: "30", reply: i18n.DecisionsNone},
		{args: "0", reply: i18n.DecisionsUsage}},
	"model": {
		{reply: i18n.ModelNow},
		{args: "opus", reply: i18n.ModelSet, charge: true,
			does: setting(func(s db.Settings) bool { return s.Model == "opus" })},
		{args: "--yolo", reply: i18n.ModelBad, charge: true},
	},
	"effort": {
		{reply: i18n.EffortNow},
		{args: "high", reply: i18n.EffortSet, charge: true,
			tells: func(l i18n.Lang, _ place) []string { return []string{i18n.EffortHigh.In(l)} },
			does:  setting(func(s db.Settings) bool { return s.Effort == "high" })},
		{args: "最高", reply: i18n.EffortSet, charge: true,
			does: setting(func(s db.Settings) bool { return s.Effort == "max" })},
		{args: "9000", reply: i18n.EffortBad, charge: true,
			tells: func(l i18n.Lang, _ place) []string { return []string{i18n.EffortXHigh.In(l)} }},
	},
	"lang":     {{reply: i18n.LangNow}, {args: "fr", reply: i18n.LangBad}},
	"projects": {{reply: i18n.ProjectsHead, tells: func(i18n.Lang, place) []string { return []string{"`one`", "`own`"} }}},
	"cd": {
		{reply: i18n.ProjectsHead},
		{args: "nowhere", reply: i18n.NoSuchProject, charge: true},
		{args: "own", reply: i18n.ProjectChanged, charge: true,
			does: setting(func(s db.Settings) bool { return s.Project == "own" })},
	},
	"mode": {
		{reply: i18n.ModeNow},
		{args: "yolo", reply: i18n.NoSuchMode, charge: true},
		{args: "bypassPermissions", reply: i18n.ModeTooHigh, charge: true},
		{args: "plan", reply: i18n.ModeChanged, charge: true,
			does: setting(func(s db.Settings) bool { return s.Mode == "plan" })},
	},
	"cost": {
		{reply: i18n.CostSum, tells: func(l i18n.Lang, _ place) []string { return []string{i18n.CostDay.In(l), "$0.00"} }},
		{args: "month", reply: i18n.CostSum, tells: func(l i18n.Lang,
			_ place) []string {
			return []string{i18n.CostMonth.In(l)}
		}},
		{args: "century", reply: i18n.CostUsage},
	},
	"whoami": {{reply: i18n.WhoAmI, tells: func(l i18n.Lang, p place) []string {
		role := i18n.RoleMember
		if p.who == "ou_admin" {
			role = i18n.RoleAdmin
		}
		return []string{p.who, "`" + p.key.ID + "`", role.In(l)}
	}}},
	"admin": {
		{reply: i18n.AdminUsage},
		{args: "users", reply: i18n.UsersHead, inGroup: i18n.OnlyPrivate},
		{args: "users allow ou_nobody", reply: i18n.GrantGiven, inGroup: i18n.OnlyPrivate, only: chat.Private,
			does: granted(func(db.Chat) string { return "oc_elsewhere" })},
		{args: "chats", reply: i18n.ChatsHead, inGroup: i18n.OnlyPrivate},
		{args: "chats allow", reply: i18n.GrantGiven, does: granted(func(c db.Chat) string { return c.Key.ID })},
		{args: "budgets", reply: i18n.Budgets, inGroup: i18n.OnlyPrivate},
		{args: "cost", reply: i18n.CostSum, inGroup: i18n.OnlyPrivate},
		{args: "reload", reply: i18n.NoReload},
	},
	"doctor": {{reply: i18n.DoctorBegun}},
	"handoff": {
		{reply: i18n.HandoffNoTerminal}, {args: "what", reply: i18n.HandoffUsage}, {args: "back"},
	},
	"login": {
		{args: "what", reply: i18n.LoginUsage, inGroup: i18n.LoginPrivate},
		{reply: i18n.LoginBegun, inGroup: i18n.LoginPrivate, only: chat.Private, does: func(w *memoryRig, _ db.Chat) bool {
			return w.logins().IsRunning()
		}},
	},
	"notify": {
		{reply: i18n.NotifyOn},
		{args: "off", reply: i18n.NotifyOff, does: setting(func(s db.Settings) bool { return s.Notify == db.NotifyOff })},
		{args: "loud", reply: i18n.NotifyUsage},
	},
	"every": {
		{reply: i18n.EveryUsage},
		{args: "0 9 * * 1-5 看看 look", reply: i18n.ScheduleMade, does: scheduled(1)},
		{args: "0 9 * * 1-5", reply: i18n.ScheduleNoTask},
		{args: "0 9 * * 1-5 /reset", reply: i18n.ScheduleCommand},
		{args: "* * * * * look", reply: i18n.ScheduleTooOften},
		{args: "sometimes look", reply: i18n.EveryUsage},
	},
	"at": {
		{reply: i18n.AtUsage},
		{args: "2199-05-04 09:00 look", reply: i18n.ScheduleMade, does: scheduled(1)},
		{args: "2020-05-04 09:00 look", reply: i18n.SchedulePast},
		{args: "3:30 look", reply: i18n.ScheduleBad},
	},
	"trigger": {
		{reply: i18n.TriggerUsage},
		{args: "Not_A_Name look", reply: i18n.TriggerUsage},
	},
	"schedule": {
		{reply: i18n.ScheduleNone},
		{args: "pause 7", reply: i18n.ScheduleUnknown},
		{args: "what", reply: i18n.ScheduleUsage},
		{args: "zone Nowhere/Else", reply: i18n.ScheduleBadZone},
		{args: "zone Europe/Berlin", reply: i18n.ScheduleZone, does: setting(func(s db.Settings) bool { return s.Zone == "Europe/Berlin" })},
	},
	"digest": {{reply: i18n.DigestOwner}, {args: "on 09:00", reply: i18n.DigestOwner}},
	"mention": {
		{reply: i18n.MentionPrivate, inGroup: i18n.MentionNow},
		{args: "all", reply: i18n.MentionPrivate, inGroup: i18n.MentionSet, only: chat.Group,
			does: setting(func(s db.Settings) bool {
				return s.Mention == string(chat.MentionNone)
			})},
	},
}

// head is what a reply made of p begins with.
func head(p i18n.Phrase, l i18n.Lang) string {
	before, _, _ := strings.Cut(p.In(l), "%")
	return before
}

var spanOfCode = regexp.MustCompile("`[^`]*`")

// matrix is a world in which there are an admin, a user, and strangers.
func matrix(t *testing.T) *memoryRig {
	own := t.TempDir()
	w := testWorld(t, func(cfg *Config) {
		cfg.Access = access.Config{Owner: "ou_boss", Admins: []string{"ou_admin"}, Allow: []string{"ou_user"}}
		cfg.Projects.Named = map[string]workplace.Project{"own": {Path: own}}
	})
	w.open()       // there is nothing to recover
	w.takePlaces() // the test claims the turns
	return w
}

// Every command by every name, in both languages, by an admin, a user and a stranger, in private, in a group and in
// a topic.
func TestEveryCommand(t *testing.T) {
	racetest.Skip(t)
	for _, c := range commands() {
		rows := commandCases[c.name]
		if len(rows) == 0 {
			t.Errorf("/%s has no row in commandCases", c.name)
			continue
		}
		if len(c.aliases) == 0 || i18n.Detect(c.aliases[0]) != i18n.Chinese {
			t.Errorf("/%s has no Chinese name", c.name)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i, row := range rows {
				w := matrix(t)
				for n, name := range append([]string{c.name}, c.aliases...) {
					if i > 0 && n > 0 {
						break
					}
					for _, l := range []i18n.Lang{i18n.Chinese, i18n.English} {
						for _, who := range []string{"ou_admin", "ou_user", "ou_stranger"} {
							id := fmt.Sprintf("oc_%d_%s_%s_", n, l, who)
							topic := chat.FeishuChat(id + "topics")
							topic.Thread = "omt_1"
							for _, p := range []place{{chat.FeishuChat(id + "private"), chat.Private, who},
								{chat.FeishuChat(id + "group"), chat.Group, who}, {topic, chat.Group, who}} {
								c.try(w, p, strings.TrimSpace("/"+name+" "+row.args), l, row)
							}
						}
					}
				}
			}
		})
	}
}

// try gives the command in a new chat that speaks l.
func (c command) try(w *memoryRig, p place, line string, l i18n.Lang, row commandCase) {
	w.Helper()
	chatNow := func() db.Chat {
		w.Helper()
		got := w.chat(p)
		got.Lang = "" // in which was spoken last
		return got
	}
	if p.who == "ou_stranger" {
		c.ignored(w, p, line, l)
		return
	}
	w.expect(w.order(p, "/lang "+string(l)), head(i18n.LangSet, l))
	before := chatNow()
	if before.Settings != (db.Settings{Lang: string(l)}) {
		w.Errorf("/lang %s sets %+v", l, before.Settings)
	}
	if p.kind == chat.Group { // whoever does not speak to the bot gives it no command
		w.receive(p, line, false)
		if got := chatNow(); got != before || w.answered(p) {
			w.Errorf("%s that is said to others: %+v", line, got)
		}
	}

	want, may := row.reply, true
	switch {
	case c.admin && p.who == "ou_user":
		want, may = i18n.ForAdminsCommand, false
	case row.charge && p.kind == chat.Group && p.who == "ou_user":
		want, may = i18n.ForAdminsInGroups, false
	case p.kind == chat.Group && row.inGroup != (i18n.Phrase{}):
		want = row.inGroup
	}
	w.receive(p, line, true)
	if may && row.does != nil && (row.only == "" || row.only == p.kind) {
		if got := chatNow(); !row.does(w, got) {
			w.Errorf("%s by %s in %v does not do it: %+v", line, p.who, p.key, got)
		}
	} else if got := chatNow(); got != before {
		w.Errorf("%s by %s in %v makes it %+v", line, p.who, p.key, got)
	}
	w.forgetLogin()
	if want == (i18n.Phrase{}) {
		return
	}
	post, err := w.store.Outbox().Next(w.ctx, p.key) // where it was given, in answer to it
	w.must(err)
	if post.Key != p.key || post.ReplyTo != fmt.Sprintf("om_%d", w.said) {
		w.Errorf("%s in %v is answered in %v to %q", line, p.key, post.Key, post.ReplyTo)
	}
	got := w.delivered(p)
	if !strings.HasPrefix(got, head(want, l)) {
		w.Errorf("%s by %s in %v: %q, want %q", line, p.who, p.key, got, head(want, l))
	}
	if may && row.tells != nil {
		w.expect(got, row.tells(l, p)...)
	}
	words := spanOfCode.ReplaceAllString(got, "")
	for said := range strings.FieldsSeq(line) {
		words = strings.ReplaceAll(words, strings.TrimPrefix(said, "/"), "")
	}
	if (i18n.Detect(words) == i18n.Chinese) != (l == i18n.Chinese) {
		w.Errorf("%s in %s is answered with %q", line, l, got)
	}
}

// ignored checks that a stranger's command does nothing: not in a chat of his own, and not where others talk to the
// bot.
func (c command) ignored(w *memoryRig, p place, line string, l i18n.Lang) {
	w.Helper()
	w.receive(p, "/lang "+string(l), true)
	w.receive(p, line, true)
	if _, err := w.store.Chats().Get(w.ctx, p.key); !errors.Is(err, db.ErrNotFound) {
		w.Errorf("%s of a stranger left something: %v", line, err)
	}
	if p.kind == chat.Private {
		return
	}
	w.order(p.by("ou_user"), "/lang "+string(l))
	before := w.chat(p)
	w.receive(p, line, true)
	if after := w.chat(p); after != before || w.answered(p) {
		w.Errorf("%s of a stranger in %v makes it %+v", line, p.key, after)
	}
}

// answered reports whether something is to be said in a chat.
func (w *memoryRig) answered(p place) bool {
	w.Helper()
	_, err := w.store.Outbox().Next(w.ctx, p.key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		w.Fatal(err)
	}
	return err == nil
}

// Every name reaches its command, however it is written, also from a group that wants to be heard for commands only.
func TestEveryNameReachesItsCommand(t *testing.T) {
	t.Parallel()
	w := matrix(t)
	group := team.by("ou_user")
	w.order(group, "/mention commands")
	for _, c := range commands() {
		for _, name := range append([]string{c.name}, c.aliases...) {
			for _, slash := range []string{"/", "／"} {
				for tail, args := range map[string]string{"": "", " ": "", " a b ": "a b", "\u3000甲": "甲", "\na\nb": "a\nb"} {
					for _, written := range []string{name, strings.ToUpper(name)} {
						got, called, with := parseCommand(slash + written + tail)
						if got == nil || got.name != c.name || called != "/"+c.name || with != args {
							t.Errorf("%q is %q with %q", slash+written+tail, called, with)
						}
					}
				}
				m := chat.Incoming{Key: group.key, Kind: group.kind, Text: slash + name, Actor: chat.Actor{ID: group.who}}
				if !w.receiver().toBot(w.ctx, m) {
					t.Errorf("%q is not heard in a group that wants commands to be", m.Text)
				}
			}
		}
	}
}

// A button does in a group what the command may do there, by whoever presses it.
func TestAButtonInAGroup(t *testing.T) {
	t.Parallel()
	w := matrix(t)
	w.order(team.by("ou_user"), "/lang zh")
	for i, tc := range []struct {
		who, line string
		want      i18n.Phrase
	}{
		{"ou_user", "/model opus", i18n.ForAdminsInGroups}, {"ou_admin", "/model opus", i18n.ModelSet},
		{"ou_admin", "/login", i18n.LoginPrivate}, {"ou_admin", "/admin users", i18n.OnlyPrivate},
		{"ou_user", "/admin users", i18n.ForAdminsCommand},
		{"ou_user", "/export", i18n.ForAdminsInGroups}, {"ou_user", "/status", i18n.Status},
	} {
		p := chat.Press{ID: fmt.Sprint(i), Key: team.key, Card: "om_card", Actor: chat.Actor{ID: tc.who},
			Action: chat.Action{Do: turncard.DoCommand, ID: tc.line}}
		if toast, err := w.bridge.HandlePress(w.ctx, p); err != nil || toast != "" {
			t.Errorf("%s: %q, %v", tc.line, toast, err)
		}
		w.expect(w.delivered(team), head(tc.want, i18n.Chinese))
	}
	if w.logins().IsRunning() {
		t.Error("a login has begun in a group")
	}
}

// The list shows what whoever asks may give, and a button for what is frequent.
func TestHelpIsForWhoAsks(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	boss, user := place{alice.key, chat.Private, "ou_boss"}, place{bob.key, chat.Private, "ou_user"}
	w.expect(w.order(boss, "/help"), "/doctor", "/login", "管理员", "/model", "`/停止`", "`//compact`")
	w.expect(w.order(user, "/help"), "!/doctor", "!/login", "!管理员", "/model")
	if got := w.order(boss, "/help"); strings.Count(got, "\n- `/") != maxLines {
		t.Errorf("more than %d commands are explained: %s", maxLines, got)
	}
	free := 0
	for _, c := range commands() {
		if !c.admin {
			free++
		}
		if !slices.Contains(commandGroups, c.group) || c.admin != (c.group == i18n.GroupAdmin) {
			t.Errorf("/%s is in group %q", c.name, c.group.In(i18n.English))
		}
		if c.name != "help" { // it does not list itself
			w.expect(w.order(boss, "/help"), "`/"+c.name+"`")
		}
	}
	w.expect(w.order(boss, "/help"), "!`/help`")
	for _, all := range []string{"/help all", "/help 全部"} {
		if got := w.order(user, all); strings.Count(got, "\n- `/") != free {
			t.Errorf("%s does not explain all: %s", all, got)
		}
	}
	w.expect(w.order(boss, "/help login"), "/login [cancel", "`/登录`")
	w.expect(w.order(user, "/help login"), "没有 /login 这个命令")
	w.expect(w.order(user, "/help ／恢复"), "`/resume [编号]`", "回到其中一个", "`/恢复` `/会话`")
	w.expect(w.order(user, "/帮助 /resme"), "/resume")
	w.order(user, "/lang en")
	w.expect(w.order(user, "/help"), "!`/停止`", "Just send", "/resume")

	w.receive(user, "/help", true)
	p, err := w.store.Outbox().Next(w.ctx, user.key)
	w.must(err)
	if n := len(p.Card.Buttons); n != maxLines+1 || p.Card.Buttons[0] != turncard.CommandButton("New", "/new") {
		t.Errorf("buttons %+v", p.Card.Buttons)
	}
}

func TestNearestCommand(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"hlep": "help", "stpo": "stop", "hist": "history", "histroy": "history", "modle": "model", "rest": "reset",
		"now":     "new",
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
}

// A slip of the hand is offered to be put right by a button, which gives the whole line.
func TestUnknownCommands(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	w.receive(alice, "/histroy 20", true)
	p, err := w.store.Outbox().Next(w.ctx, alice.key)
	w.must(err)
	if p.Card == nil || len(p.Card.Buttons) != 1 ||
		p.Card.Buttons[0] != turncard.CommandButton("/history 20", "/history 20") {
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
	t.Parallel()
	w := testWorld(t)
	w.order(alice, "/help")
	press := func(id, who, line string) {
		w.Helper()
		_, err := w.bridge.HandlePress(w.ctx, chat.Press{
			ID: id, Key: alice.key, Card: "om_card", Actor: chat.Actor{ID: who},
			Action: chat.Action{Do: turncard.DoCommand, ID: line}})
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
	if c := w.chat(alice); c.Settings.Model != "sonnet" {
		t.Errorf("%+v", c.Settings)
	}
	press("p2", "ou_user", "/doctor")
	w.expect(w.delivered(alice), i18n.ForAdminsCommand.Sprintf(i18n.Chinese, "/doctor"))
	for i, forged := range []string{"", "hello", "/nosuch", "//compact", "/", "rm -rf /", "new"} {
		press(fmt.Sprintf("forged%d", i), alice.who, forged)
	}
	if p, err := w.store.Outbox().Next(w.ctx, alice.key); err == nil {
		t.Errorf("a forged button was answered: %+v", p)
	}
	w.must(w.store.Outbox().MarkDelivered(w.ctx, p, ""))
	stranger := newMemoryRig(t, t.TempDir(), func(cfg *Config) { cfg.Access = access.Config{Owner: "ou_boss"} })
	stranger.order(place{alice.key, chat.Private, "ou_boss"}, "/help")
	toast, err := stranger.bridge.HandlePress(w.ctx, chat.Press{ID: "p", Key: alice.key, Actor: chat.Actor{ID: "ou_x"},
		Action: chat.Action{Do: turncard.DoCommand, ID: "/new"}})
	w.must(err)
	if toast == "" {
		t.Error("a stranger who presses is told nothing")
	}
	if c := stranger.chat(alice); c.Epoch != 0 {
		t.Error("a stranger began a new conversation")
	}
}

// The list of commands that users read has all of them, in both languages.
func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../docs/commands.md", "../docs/commands.zh.md"} {
		data, err := os.ReadFile(page)
		must(t, err)
		for _, c := range commands() {
			if text := string(data); !strings.Contains(text, "`/"+c.name+"`") &&
				!strings.Contains(text, "`/"+c.name+" ") {
				t.Errorf("/%s is missing from %s", c.name, page)
			}
		}
	}
}
