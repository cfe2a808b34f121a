package workplace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/approval"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
	places := Set{Default: "/p", Mode: claude.PlanMode, AskAll: true, Named: map[string]Project{
		"plans": {Path: "/plans", Mode: claude.PlanMode}, "silent": {Path: "/silent", Mode: "dontAsk"},
		"edits": {Path: "/edits", Mode: editsMode}, "plain": {Path: "/plain"}, "free": {Path: "/free", Bypass: true},
	}}
	for project, readOnly := range map[string]bool{
		"plans": true, "silent": true, "gone": true, "edits": false, "free": false, "plain": true, "": true,
	} {
		want := approval.Workspace{Dir: "/here", ReadOnly: readOnly, AskAll: true}
		c := db.Chat{Settings: db.Settings{Project: project}}
		if got := places.Workspace(c, "/here"); got != want {
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
	places := Set{Default: dir, Guard: Guard{Data: filepath.Join(dir, "data")}, Named: map[string]Project{
		"fine": {Path: filepath.Join(dir, "a")}, "bad name": {Path: filepath.Join(dir, "a")},
		"default": {Path: filepath.Join(dir, "a")},
		"nowhere": {Path: filepath.Join(dir, "b")}, "nothing": {}, "mode": {Path: filepath.Join(dir, "a"), Mode: "yolo"},
		"bypass": {Path: filepath.Join(dir, "a"), Mode: "bypassPermissions"},
		"both":   {Path: filepath.Join(dir, "a"), Mode: "plan", Bypass: true},
		"inside": {Path: filepath.Join(dir, "data", "web")}, "data": {Path: filepath.Join(dir, "data")},
	}}
	err := places.Check()
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
		places := Set{Default: "/usual", Mode: tc.usual, Named: projects}
		if got := places.ModeOf(db.Chat{Settings: db.Settings{Project: tc.project, Mode: tc.chosen}}); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// A project is found by its name also when the usual one's folder is called the same.
func TestANamedProjectComesFirst(t *testing.T) {
	t.Parallel()
	places := Set{Default: "/srv/web", Named: map[string]Project{"Web": {Path: "/other/web"},
		"api": {Path: "/srv/api"}}}
	for name, want := range map[string]string{"web": "/other/web", "API": "/srv/api", "default": "/srv/web",
		"默认": "/srv/web", "nowhere": ""} {
		if got, ok := places.Find(name); ok != (want != "") || ok && got.Dir != want {
			t.Errorf("%q: %+v", name, got)
		}
	}
	delete(places.Named, "Web")
	if got, ok := places.Find("web"); !ok || got.Dir != "/srv/web" {
		t.Errorf("the usual one by its folder: %+v", got)
	}
}

// A machine knows the projects of others by name, and neither looks for their folders nor works there.
// An app that has projects of its own has no others, whatever a chat has chosen before.
func TestProjectsOfAnApp(t *testing.T) {
	t.Parallel()
	s := Set{Default: "/srv/usual", Mode: "acceptEdits", Named: map[string]Project{
		"shop": {Path: "/srv/shop", Mode: "plan"}, "web": {Path: "/srv/web"}, "secret": {Path: "/srv/secret"},
	}, Only: map[string][]string{"feishu-sales": {"shop", "web"}}}
	of := func(channel, project string) (string, string) {
		c := db.Chat{Key: chat.Key{Channel: channel, Kind: "chat", ID: "oc_1"}, Settings: db.Settings{Project: project}}
		p, err := s.Of(c)
		if err != nil {
			return err.Error(), ""
		}
		return p.Dir, s.ModeOf(c)
	}
	for _, tc := range []struct{ channel, project, dir, mode string }{
		{"feishu", "", "/srv/usual", "acceptEdits"}, {"feishu", "secret", "/srv/secret", "acceptEdits"},
		{"feishu-sales", "", "/srv/shop", "plan"}, {"feishu-sales", "web", "/srv/web", "acceptEdits"},
		{"feishu-sales", "/srv/web", "/srv/web", "acceptEdits"},
		{"feishu-sales", "secret", ErrGone.Error(), ""}, {"feishu-sales", "/srv/secret", ErrGone.Error(), ""},
		{"feishu-sales", "/srv/usual", ErrGone.Error(), ""},
	} {
		if dir, mode := of(tc.channel, tc.project); dir != tc.dir || mode != tc.mode {
			t.Errorf("%q at %s is %s in mode %s", tc.project, tc.channel, dir, mode)
		}
	}
	for name, want := range map[string]bool{"web": true, "shop": true, "默认": true, "secret": false, "usual": false} {
		if _, ok := s.At("feishu-sales").Find(name); ok != want {
			t.Errorf("%q is found: %v", name, ok)
		}
	}
	if len(s.Distinct()) != 4 {
		t.Errorf("in all %v", s.Distinct())
	}
}

func TestProjectsOfOtherMachines(t *testing.T) {
	t.Parallel()
	dir := deliverytest.Folders(t, "a", "b")
	at := func(name string) string { return filepath.Join(dir, name) }
	places := Set{Default: at("a"), Node: "a", Named: map[string]Project{
		"here": {Path: at("b"), Nodes: []string{"b", "a"}}, "there": {Path: at("nowhere"), Nodes: []string{"b", "c"}},
		"all": {Path: at("b"), Nodes: []string{}},
	}}
	must(t, places.Check())
	for name, away := range map[string]string{"here": "", "there": "b, c", "all": ""} {
		_, err := places.Resolve(db.Chat{Settings: db.Settings{Project: name}})
		got, ok := places.Find(name)
		if !ok || got.Away != away || errors.As(err, new(*AwayError)) != (away != "") || err != nil && away == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if list := places.Distinct(); len(list) != 2 {
		t.Errorf("agents work in %+v", list)
	}
	places.Named["there"] = Project{Path: at("nowhere"), Nodes: []string{"b"}, Mode: "yolo"}
	places.Named["none"] = Project{Nodes: []string{"b"}}
	if err := places.Check(); err == nil || !strings.Contains(err.Error(), "there: mode") || !strings.Contains(err.Error(), "none: path") {
		t.Errorf("mistakes: %v", err)
	}
}
