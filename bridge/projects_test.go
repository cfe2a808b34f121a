package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/approval"
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// However the path is written, no agent works in the root, in a home folder, or in the program's own folders.
func TestWhereNoAgentWorks(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "home/me/work", "home/me/magpie/data/agents", "home/me/data2")
	home, data := filepath.Join(dir, "home/me"), filepath.Join(dir, "home/me/magpie/data")
	deliverytest.Link(t, home, filepath.Join(dir, "link-home"))
	deliverytest.Link(t, "/", filepath.Join(dir, "link-root"))
	deliverytest.Link(t, data, filepath.Join(dir, "home/me/work/link-data"))
	deliverytest.Link(t, filepath.Join(dir, "home/me/work"), filepath.Join(dir, "link-work"))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	g := Guard{Homes: []string{"/no/such/home", filepath.Join(dir, "link-home")}, Data: data}
	for name, fine := range map[string]bool{
		"/": false, "home/me": false, "home": false, "": false, "link-home": false, "link-root": false,
		"home/me/work/../": false, "home/me/./work/..": false,
		"home/me/magpie": false, "home/me/magpie/data": false, "home/me/magpie/data/agents": false,
		"home/me/work/link-data": false,
		"home/me/work":           true, "link-work": true, "home/me/data2": true, "nowhere": false, "file": false,
	} {
		path := filepath.Join(dir, name)
		if strings.Contains(name, "..") {
			path = dir + "/" + name
		}
		if name == "/" {
			path = name
		}
		real, err := g.ResolveDir(path)
		if (err == nil) != fine {
			t.Errorf("%q: %q, %v", name, real, err)
		}
		if fine && strings.Contains(real, "link") {
			t.Errorf("%q: %q is not the real folder", name, real)
		}
	}
	g.Data = filepath.Join(dir, "home/me/work/data") // not made yet
	if _, err := g.ResolveDir(filepath.Join(dir, "home/me/work")); err == nil {
		t.Error("data that is about to be made is not guarded")
	}
}

// An agent may only read where the most that its project allows is less than the usual mode, or the project is gone.
func TestWhereAnAgentOnlyReads(t *testing.T) {
	t.Parallel()
	cfg := Config{Project: "/p", PermissionMode: claude.PlanMode, AskEverything: true, Projects: map[string]Project{
		"plans": {Path: "/plans", Mode: claude.PlanMode}, "silent": {Path: "/silent", Mode: "dontAsk"},
		"edits": {Path: "/edits", Mode: editsMode}, "plain": {Path: "/plain"}, "free": {Path: "/free", Bypass: true},
	}}
	for project, readOnly := range map[string]bool{
		"plans": true, "silent": true, "gone": true, "edits": false, "free": false, "plain": true, "": true,
	} {
		want := approval.Workspace{Dir: "/here", ReadOnly: readOnly, AskAll: true}
		c := db.Chat{Settings: db.Settings{Project: project}}
		if got := cfg.workspace(c, "/here"); got != want {
			t.Errorf("project %q: %+v", project, got)
		}
	}
}

// An agent that works beside the configuration reads the app secret, and writes what it may do.
func TestNoAgentWorksBesideTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "bridge/work", "etc", "linked", "secrets/run")
	for _, name := range []string{"bridge/magpie.toml", "etc/magpie.toml", "secrets/run/secret"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	deliverytest.Link(t, filepath.Join(dir, "etc/magpie.toml"), filepath.Join(dir, "linked/magpie.toml"))
	g := Guard{Files: []string{filepath.Join(dir, "bridge/magpie.toml"), filepath.Join(dir, "linked/magpie.toml"),
		filepath.Join(dir, "secrets/run/secret")}}
	for name, fine := range map[string]bool{
		"": false, "bridge": false, "etc": false, "linked": false, "secrets": false, "secrets/run": false,
		"bridge/work": true, "bridge/new/one": true,
	} {
		if err := g.CheckDir(filepath.Join(dir, name)); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := g.ResolveDir(filepath.Join(dir, "etc")); err == nil {
		t.Error("a project beside the configuration passes the check")
	}
}

func TestProjectsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "a", "data/web")
	cfg := Config{Project: dir, Guard: Guard{Data: filepath.Join(dir, "data")}, Projects: map[string]Project{
		"fine": {Path: filepath.Join(dir, "a")}, "bad name": {Path: filepath.Join(dir, "a")},
		"default": {Path: filepath.Join(dir, "a")},
		"nowhere": {Path: filepath.Join(dir, "b")}, "nothing": {}, "mode": {Path: filepath.Join(dir, "a"), Mode: "yolo"},
		"bypass": {Path: filepath.Join(dir, "a"), Mode: "bypassPermissions"},
		"both":   {Path: filepath.Join(dir, "a"), Mode: "plan", Bypass: true},
		"inside": {Path: filepath.Join(dir, "data", "web")}, "data": {Path: filepath.Join(dir, "data")},
	}}
	err := cfg.CheckProjects()
	for _, want := range []string{"[claude] project: ", "bad name: the name must be", "default: the name must be",
		"nowhere: ",
		"nothing: path", "mode: mode", "bypass: mode bypass", "both: bypass",
		dir + " contains the data folder " + dir + "/data", "Magpie keeps its data in " + dir + "/data;",
		dir + "/data/web lies in the data folder " + dir + "/data",
		`as in [db] url = "` + dataElsewhere(os.Geteuid()) + `"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "fine") {
		t.Errorf("%v", err)
	}
	// Only root can make a folder in /var/lib.
	for user, want := range map[int]string{
		0: "sqlite:///var/lib/magpie/magpie.db", 1000: "sqlite://~/.local/share/magpie/magpie.db",
		-1: "sqlite://~/.local/share/magpie/magpie.db",
	} {
		if got := dataElsewhere(user); got != want {
			t.Errorf("user %d is to put the database at %s", user, got)
		}
	}
}

// An agent's user gets its project as a whole, which must be no folder of the system.
func TestFoldersOfTheSystemAreNoProjects(t *testing.T) {
	t.Parallel()
	for dir, refused := range map[string]bool{
		"/etc": true, "/usr/": true, "/etc/../var": true, "/etc/nginx-of-a-test": false, t.TempDir(): false,
	} {
		if err := (Guard{}).CheckDir(dir); (err != nil) != refused {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// No chat's agent may do more than its project allows, whatever mode the chat has chosen.
func TestAProjectIsACeiling(t *testing.T) {
	t.Parallel()
	projects := map[string]Project{"plain": {Path: "/plain"}, "edits": {Path: "/edits", Mode: editsMode},
		"plans": {Path: "/plans", Mode: "plan"}, "free": {Path: "/free", Bypass: true}}
	for _, tc := range []struct{ usual, project, chosen, want string }{
		{"default", "", "", "default"}, {"default", "", "plan", "plan"}, {"default", "", "acceptEdits", "default"},
		{"default", "", bypassMode, "default"},
		{"default", "plain", bypassMode, "default"}, {"default", "edits", bypassMode, editsMode},
		{"default", "edits", "", "default"},
		{"acceptEdits", "plans", "", "plan"}, {"default", "free", bypassMode, bypassMode}, {"default", "free", "", "default"},
		{bypassMode, "", "", bypassMode}, {bypassMode, "plain", "", editsMode}, {bypassMode, "free", "", bypassMode},
		{"default", "edits", "nonsense", editsMode}, {"default", "gone", bypassMode, "plan"},
		{"default", "/edits", "auto", editsMode},
	} {
		cfg := Config{Project: "/usual", PermissionMode: tc.usual, Projects: projects}
		if got := cfg.permissionMode(db.Chat{Settings: db.Settings{Project: tc.project, Mode: tc.chosen}}); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// A project is found by its name also when the usual one's folder is called the same.
func TestANamedProjectComesFirst(t *testing.T) {
	t.Parallel()
	cfg := Config{Project: "/srv/web", Projects: map[string]Project{"Web": {Path: "/other/web"},
		"api": {Path: "/srv/api"}}}
	for name, want := range map[string]string{"web": "/other/web", "API": "/srv/api", "default": "/srv/web",
		"默认": "/srv/web", "nowhere": ""} {
		if got, ok := cfg.findProject(name); ok != (want != "") || ok && got.Dir != want {
			t.Errorf("%q: %+v", name, got)
		}
	}
	delete(cfg.Projects, "Web")
	if got, ok := cfg.findProject("web"); !ok || got.Dir != "/srv/web" {
		t.Errorf("the usual one by its folder: %+v", got)
	}
}

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
	l.remake(func(c *Config) { c.Projects = map[string]Project{"other": {Path: other}} })
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
		c.PermissionMode = "default"
		c.Projects = map[string]Project{"Web": {Path: filepath.Join(dir, "a"), Mode: editsMode},
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
	if c := l.chat(); c.Settings.Project != "Web" || c.Settings.Mode != editsMode {
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
