package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

func TestTitleOfAChat(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	w.expect(w.order(alice, "/title"), "还没有标题")
	w.expect(w.order(alice, "/标题 “周会准备”\n第二行"), "标题已改为：周会准备")
	w.expect(w.order(alice, "/title"), "标题：周会准备")
	w.expect(w.order(alice, "/status"), "**标题**：周会准备")
	w.expect(w.order(alice, "/title 问 ming@example.com"), "!ming@")
	w.expect(w.order(alice, "/title \"\""), "这个标题不能用")
	w.must(w.store.Chats().SetTopic(w.ctx, alice.key, 0, "the agent's", nil))
	if c, err := w.store.Chats().Get(w.ctx, alice.key); err != nil || strings.Contains(c.Topic, "agent") {
		t.Errorf("%q %v", c.Topic, err)
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	settings := func() db.Settings {
		w.Helper()
		c, err := w.store.Chats().Get(w.ctx, alice.key)
		w.must(err)
		return c.Settings
	}
	w.expect(w.order(alice, "/model"), "当前模型：默认")
	w.expect(w.order(alice, "/model claude-opus-4-8[1m]"), "claude-opus-4-8[1m]")
	w.expect(w.order(alice, "/思考 high"), "“高”")
	w.expect(w.order(alice, "/status"), "**模型**：claude-opus-4-8[1m]（思考深度：高）")
	if s := settings(); s.Model != "claude-opus-4-8[1m]" || s.Effort != "high" {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"--dangerously-skip-permissions", "a b", "$(id)", "模型"} {
		w.expect(w.order(alice, "/model "+bad), "不能使用模型")
	}
	w.expect(w.order(alice, "/effort extreme"), "没有“extreme”", "很高")
	w.order(alice, "/model 默认")
	w.order(alice, "/effort default")
	if s := settings(); s.Model != "" || s.Effort != "" {
		t.Errorf("%+v", s)
	}
	w.expect(w.order(alice, "/lang English"), "OK, English from now on.")
	w.expect(w.order(alice, "/lang fr"), "“fr” isn't supported")
	w.expect(w.order(alice, "/lang auto"), "好的，语言恢复为自动。")
	w.expect(w.order(alice, "/lang"), "当前语言：自动")
	if got, want := w.offered(alice, "/lang"), []string{
		"中文: /lang zh", "English: /lang en", "自动: /lang default",
	}; !slices.Equal(got, want) {
		t.Errorf("the buttons of /lang are %q, want %q", got, want)
	}
	if s := settings(); s.Lang != "" {
		t.Errorf("%+v", s)
	}

	w.expect(w.order(team.by("ou_user"), "/model"), "当前模型")
	w.expect(w.order(team.by("ou_user"), "/model opus"), i18n.ForAdminsInGroups.ZH)
	w.expect(w.order(team.by("ou_user"), "/lang zh"), "好的，以后用中文。")
	w.expect(w.order(team.by("ou_boss"), "/model opus"), "opus")
	w.expect(w.order(team.by("ou_user"), "/mode"), "`default`")
	w.expect(w.order(team.by("ou_user"), "/mode plan"), i18n.ForAdminsInGroups.ZH)
	w.expect(w.order(team.by("ou_user"), "/cd"), "/cd")
	w.expect(w.order(team.by("ou_user"), "/cd nowhere"), i18n.ForAdminsInGroups.ZH)
	w.expect(w.order(team.by("ou_boss"), "/mode plan"), "plan")
	w.expect(w.order(team.by("ou_boss"), "/cd nowhere"), "没有这个项目")
}

// The language of a chat is what was set for it, else what is configured, else what it speaks.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lang, first string
		said        []string
		want        i18n.Lang
	}{
		{"", "", nil, i18n.Chinese},
		{"", "en", nil, i18n.English},
		{"", "", []string{"hello there"}, i18n.English},
		{"", "en", []string{"你好"}, i18n.Chinese},
		{"", "", []string{"hello there", "/状态"}, i18n.Chinese},
		{"", "", []string{"/status", "hello there"}, i18n.English},
		{"", "", []string{"你好", "git status"}, i18n.Chinese},
		{"", "", []string{"你好", "git status", "What is the status of my branch?"}, i18n.English},
		{"", "", []string{"hello there", "/status"}, i18n.English},
		{"en", "", []string{"你好"}, i18n.English},
		{"zh", "en", []string{"hello there"}, i18n.Chinese},
		{"en", "", []string{"/lang zh"}, i18n.Chinese},
		{"", "", []string{"你好", "/lang en", "你好"}, i18n.English},
	} {
		w := testWorld(t, func(c *Config) { c.Lang, c.NewLang = tc.lang, tc.first })
		for _, text := range tc.said {
			w.receive(alice, text, true)
		}
		w.receive(alice, "/title", true)
		got := ""
		for p, err := w.store.Outbox().Next(w.ctx, alice.key); err == nil; p, err = w.store.Outbox().Next(w.ctx, alice.key) {
			got = p.Text
			w.must(w.store.Outbox().MarkDelivered(w.ctx, p, ""))
		}
		if got != i18n.TitleNone.In(tc.want) {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

func TestRetryAsksAgain(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "/retry")
	l.sent()
	if got := l.rec.TakeSaid(); !slices.Equal(got, []string{i18n.RetryNothing.ZH}) {
		t.Errorf("%q", got)
	}
	l.say("om_2", "第一个问题")
	l.settled(1)
	l.say("om_3", "/重试")
	l.settled(2)
	l.say("om_4", "/retry")
	l.settled(3)
	list, err := l.store.Messages().Latest(t.Context(), room, 10)
	l.must(err)
	var said []string
	for _, m := range list {
		said = append(said, m.Text)
	}
	again := retryNote(i18n.Chinese) + "第一个问题"
	want := []string{"第一个问题", "echo: 第一个问题", again, "echo: 第一个问题", again, "echo: 第一个问题"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// What the agent is to carry out itself reaches it as it is, without the History, and nothing else does.
func TestCommandsOfTheAgentsOwn(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "你好")
	l.settled(1)
	l.say("om_2", "//context")
	l.settled(2)
	l.say("om_3", "/retry")
	l.settled(3)
	for _, text := range []string{"//config theme=dark", "//nosuch", "//clear"} {
		l.say("om_"+text, text)
		l.sent()
		if got := l.rec.TakeSaid(); len(got) != 1 || !strings.Contains(got[0], "不能交给") ||
			!strings.Contains(got[0], "`//compact`") {
			t.Errorf("%s: %q", text, got)
		}
	}
	for i, text := range []string{"// a comment", "//compact\nis what I wrote", "见 //compact"} {
		l.say("om_talk"+text, text)
		l.settled(4 + i)
	}
	paths, err := filepath.Glob(filepath.Join(home(l.config), "claude", "projects", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v %v", paths, err)
	}
	var all string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		l.must(err)
		all += string(data)
	}
	if n := strings.Count(all, `"content":"/context"`); n != 2 {
		t.Errorf("/context came %d times", n)
	}
	for _, never := range []string{`"content":"/config`, `"content":"/compact`, `"content":"/clear`} {
		if strings.Contains(all, never) {
			t.Errorf("the agent was given %s", never)
		}
	}
}

func home(c claude.Config) string {
	for _, kv := range c.Environ {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// A chat goes back to a session of its own, by number, id or button; that of another chat is not found.
func TestResume(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "first question")
	l.settled(1)
	first := l.chat().Session.ID
	l.say("om_2", "/new")
	l.say("om_3", "second question")
	l.settled(2)
	second := l.chat()
	l.rec.TakeSaid()
	reply := func(id, text string) string {
		l.Helper()
		l.say(id, text)
		l.sent()
		got := l.rec.TakeSaid()
		if len(got) != 1 {
			l.Fatalf("%s: %q", text, got)
		}
		return got[0]
	}
	elsewhere := incoming("om_4", "elsewhere")
	elsewhere.Key = chat.FeishuChat("oc_other")
	l.receive(elsewhere)
	l.settled(3)
	other, err := l.store.Chats().Get(t.Context(), elsewhere.Key)
	l.must(err)

	warned := 0
	for i, unknown := range []string{other.Session.ID, other.Session.ID[:8], "3", "0", "-1", "x", first[:7]} {
		if !isNumber(unknown) { // the beginning of an id may be one
			warned++
		}
		if got := reply("om_unknown"+unknown, "/resume "+unknown); got != i18n.ResumeUnknown.EN {
			t.Errorf("%d %s: %q", i, unknown, got)
		}
	}
	if n := strings.Count(l.logs.String(), "a session was asked for that the chat has not had"); n != warned {
		t.Errorf("%d warnings, want %d", n, warned)
	}
	if got := l.chat(); got.Session != second.Session || got.Epoch != second.Epoch {
		t.Errorf("the chat has changed: %+v", got)
	}
	if got := reply("om_5", "/resume 1"); got != i18n.ResumeIsNow.EN {
		t.Errorf("%q", got)
	}
	if got := reply("om_6", "/resume 2"); !strings.HasPrefix(got, head(i18n.ResumeDone, i18n.English)) ||
		!strings.Contains(got, "first question") {
		t.Errorf("%q", got)
	}
	if got := l.chat(); got.Session.ID != first || got.Epoch != second.Epoch+1 {
		t.Errorf("%+v", got)
	}
	l.say("om_7", "third question")
	l.settled(4)
	if got := l.chat().Session; got.ID != first {
		t.Errorf("the answer came from %s, want %s", got.ID, first)
	}
	l.rec.TakeSaid()
	if got := reply("om_8", "/resume "+strings.ToUpper(second.Session.ID[:12])); !strings.Contains(got,
		"second question") {
		t.Errorf("%q", got)
	}
	l.must(os.RemoveAll(filepath.Join(home(l.config), "claude", "projects")))
	if got := reply("om_9", "/resume 1"); !strings.HasPrefix(got, head(i18n.ResumeLost, i18n.English)) ||
		!strings.Contains(got, i18n.ResumeLost.EN[len("Back in this session: %s"):]) {
		t.Errorf("%q", got)
	}
	l.say("om_10", "fourth question")
	l.settled(5)
}

// The list of sessions has a button for each that does not go on already.
func TestTheListOfSessions(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	titled := func() bool { return l.chat().Topic != "" }
	l.say("om_1", "a first question")
	l.settled(1)
	l.until("the title of the first", titled)
	first := l.chat().Session.ID
	l.say("om_2", "/new")
	l.say("om_3", "a second one")
	l.settled(2)
	l.until("the title of the second", titled)
	set := l.commandSet()
	o, err := set.resume(t.Context(), invocation{Incoming: incoming("om_4", "/resume"), chat: l.chat(), lang: i18n.English})
	l.must(err)
	if o.card == nil || len(o.card.Buttons) != 1 || o.card.Buttons[0] != turncard.CommandButton("2", "/resume "+first) {
		t.Fatalf("%+v", o)
	}
	for _, want := range []string{"1. ", "**echo: a second one** (questions: 1, `", "← current", "2. ", "**echo: a first question**",
		first[:8]} {
		if !strings.Contains(o.card.Body, want) {
			t.Errorf("%q is not in %q", want, o.card.Body)
		}
	}
	l.until("the chat to be free", func() bool { return l.enter(room) })
	_, stop := context.WithCancelCause(t.Context())
	l.beginTurn(room, 99, stop)
	for _, p := range []plan{set.resume, set.retry, set.forwardCommand} {
		given := invocation{Incoming: incoming("om_5", "//compact"), args: first, chat: l.chat(), lang: i18n.English}
		o, err := p(t.Context(), given)
		if err != nil || o.reply != i18n.Busy.EN || len(o.effects) > 0 || o.ask != "" {
			t.Errorf("while a turn runs: %+v %v", o, err)
		}
	}
	l.endTurn(room)
}

// The version is for admins, and only where nobody else reads along.
func TestStatusTellsTheVersionToAdmins(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Version = "v9.9.9" })
	boss := alice.by("ou_boss")
	w.expect(w.order(boss, "/status"), "**版本**：v9.9.9")
	w.expect(w.order(alice, "/status"), "!v9.9.9")
	w.expect(w.order(team.by("ou_boss"), "/status"), "!v9.9.9")
	w.expect(w.order(alice, "/status"), "!排队")
	w.receive(alice, "一个问题", true)
	w.receive(alice, "还有一个", true)
	w.expect(w.order(alice, "/status"), "**排队**：2 条消息")
	w.expect(w.order(bob, "/status"), "!排队")
}

// So are the limits, and why they are what they are.
func TestStatusTellsTheLimitsToAdmins(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Version = "v9.9.9" })
	boss := alice.by("ou_boss")
	w.expect(w.order(boss, "/status"), "正在回答 0/1（不超过进程数）", "进程 0/1（由配置指定）", "空闲进程立即结束（由配置指定）")
	w.expect(w.order(alice, "/status"), "!正在回答", "!由配置指定")
	w.expect(w.order(team.by("ou_boss"), "/status"), "!正在回答", "!由配置指定")
}

// Admins read in words what the agent is given, and not the configuration's word for it.
func TestStatusSaysTheContextModeInWords(t *testing.T) {
	t.Parallel()
	for mode, words := range map[contextmgr.Mode]i18n.Phrase{
		contextmgr.Hybrid: i18n.StatusHybrid, contextmgr.Resume: i18n.StatusResume,
		contextmgr.Database: i18n.StatusDatabase, contextmgr.Economy: i18n.StatusEconomy,
	} {
		w := testWorld(t, func(c *Config) { c.Version, c.Context.Mode = "v9.9.9", mode })
		boss := alice.by("ou_boss")
		w.expect(w.order(boss, "/status"), "**上下文模式**："+words.ZH, "!"+string(mode))
		w.order(boss, "/lang en")
		w.expect(w.order(boss, "/status"), "**Context mode**: "+words.EN+"\n", "!**Context mode**: "+string(mode))
	}
}

// Admins are told how many messages wait, and why, without what the platform says in its own words.
func TestStatusTellsAdminsWhatWaitsToBeSent(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Version = "v9.9.9" })
	boss, told := alice.by("ou_boss"), map[string]bool{}
	w.expect(w.order(boss, "/status"), "!等待发出的消息")
	w.order(team, "/status")
	w.must(w.store.Outbox().Enqueue(w.ctx, db.Post{Key: team.key, Idem: "unsent", Text: "unsent"}))
	for _, o := range []chat.Obstacle{
		chat.UnknownObstacle, chat.NotAvailable, chat.NoPermission, chat.NotShared, chat.OutOfRange, chat.BotOff,
		chat.WrongCredentials, chat.AppDisabled, chat.AppNotInstalled,
	} {
		p, err := w.store.Outbox().Next(w.ctx, team.key)
		w.must(err)
		w.must(w.store.Outbox().Delay(w.ctx, p, time.Now(), db.Failure{Obstacle: o, Why: "code 4711"}, false))
		words := obstaclePhrase(o)
		told[words.EN] = true
		w.order(boss, "/lang zh")
		w.expect(w.order(boss, "/status"), "\n**等待发出的消息**：1 条（"+words.ZH+"）\n", "!4711")
		w.order(boss, "/lang en")
		w.expect(w.order(boss, "/status"), "\n**Messages waiting to be sent**: 1 ("+words.EN+")\n", "!4711")
	}
	if len(told) != 9 {
		t.Errorf("%d reasons are told apart", len(told))
	}
	w.expect(w.order(alice, "/status"), "!waiting to be sent", "!等待发出的消息")
}

func TestACheckUp(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	finds := func(s CheckState) func(context.Context) CheckState {
		return func(context.Context) CheckState { return s }
	}
	l.remake(func(c *Config) {
		c.Access = access.Config{Owner: "ou_1"}
		c.Checks = []Check{{"cli", finds(OK)}, {"login", finds(Fail)}, {"disk", finds(Warn)}, {"moon", finds(OK)}}
	})
	l.start()
	l.say("om_1", "/doctor")
	var got []string
	l.until("a report", func() bool { got = append(got, l.rec.TakeSaid()...); return len(got) == 2 })
	if len(got) != 2 || got[0] != i18n.DoctorBegun.ZH {
		t.Fatalf("%q", got)
	}
	for _, want := range []string{i18n.DoctorFail.ZH, "✅ " + i18n.CheckCLI.ZH, "❌ " + i18n.CheckLogin.ZH,
		"⚠️ " + i18n.CheckDisk.ZH, fmt.Sprintf("正在回答 0/%d", l.pool.Limits().Turns)} {
		if !strings.Contains(got[1], want) {
			t.Errorf("%q is not in %q", want, got[1])
		}
	}
}

// An answer of the agent's own command that says nothing, in a session of its own, leaves nothing to resume.
func TestACommandThatSaysNothing(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	for _, tc := range []struct {
		resume bool
		result claude.Result
		said   string
		kept   bool
	}{
		{false, claude.Result{}, i18n.Passed.ZH, false},
		{true, claude.Result{}, i18n.Passed.ZH, true},
		{false, claude.Result{Usage: claude.Usage{Input: 1}}, i18n.Passed.ZH, true},
		{true, claude.Result{Failure: claude.FailUnknown}, "", true},
	} {
		tr := l.turnOf(db.Claim{Resume: tc.resume})
		tr.session.recordStart("s", "/")
		tr.painter = turncard.NewPainter(nil, turncard.Target{}, turncard.State{})
		tr.handleCommandResult(tc.result)
		if kept := tr.session.kept; tr.view.Answer() != tc.said || (kept.ID != "") != tc.kept {
			t.Errorf("%+v: %q, kept %q", tc, tr.view.Answer(), kept.ID)
		}
	}
}

// A list that is empty says so.
func TestNobodyWasDecidedAbout(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Access = access.Config{Owner: "ou_boss"} })
	boss := place{chat.FeishuChat("oc_boss"), chat.Private, "ou_boss"}
	w.expect(w.order(boss, "/admin users"), "申请与授权："+i18n.Nobody.ZH)
	w.order(boss, "/admin users allow ou_1")
	w.expect(w.order(boss, "/admin users"), "申请与授权：\n", "`ou_1` 已允许")
}

// An ID that cannot be one is refused with a reason, and access to a chat without the bot says so.
func TestAccessForAnID(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Access = access.Config{Owner: "ou_boss"} })
	boss := place{chat.FeishuChat("oc_boss"), chat.Private, "ou_boss"}
	w.expect(w.order(boss, "/admin chats allow oc_team。"), "`oc_team。`", "不是 ID", "oc_…", "!已允许")
	w.expect(w.order(boss, "/admin users allow ou_"), "ou_…", "!已允许")
	w.expect(w.order(boss, "/admin users allow ou_1-a"), "已允许", "!聊天")
	if _, err := w.store.Chats().Join(w.ctx, chat.Change{
		Key: chat.FeishuChat("oc_team"), Kind: chat.Group, Did: chat.Added, Time: time.UnixMilli(1),
	}, nil); err != nil {
		t.Fatal(err)
	}
	w.expect(w.order(boss, "/admin chats allow oc_team"), "已允许 `oc_team`。", "!检查")
	w.expect(w.order(boss, "/admin chats allow oc_other"), "已允许 `oc_other`。", "检查")
	if _, _, err := w.store.Chats().Leave(w.ctx, chat.Change{
		Key: chat.FeishuChat("oc_team"), Kind: chat.Group, Did: chat.Removed, Time: time.UnixMilli(2),
	}); err != nil {
		t.Fatal(err)
	}
	w.expect(w.order(boss, "/admin chats allow oc_team"), "已允许 `oc_team`。", "检查")
	w.expect(w.order(boss, "/admin chats revoke oc_team"), "已撤销")
}
