package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/doctor"
)

// Without a configuration the CLI is still checked: it is what people have to install first.
func TestDoctorLooksAtTheCLIWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	look := func() string {
		cmd := magpie(t, dir, "doctor")
		cmd.Env = []string{"HOME=" + dir, "PATH=" + dir}
		out, _ := cmd.CombinedOutput() // fails without a configuration
		return string(out)
	}
	install := func(name, script string) {
		syscall.ForkLock.RLock() // a program cannot be run while a child still has it open for writing
		err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700)
		syscall.ForkLock.RUnlock()
		must(t, err)
	}
	if got := look(); !strings.Contains(got, "there is no magpie.toml") || strings.Contains(got, "database: ") ||
		!strings.Contains(got, "claude: claude not found - install Node.js 22 or later, with npm (https://nodejs.org), then: npm install") {
		t.Errorf("without a CLI, and without Node.js:\n%s", got)
	}
	install("npm", "")
	install("node", "")
	if got := look(); !strings.Contains(got, "claude: claude not found - install it: npm install") {
		t.Errorf("without a CLI:\n%s", got)
	}
	install("claude", "#!/bin/sh\necho 2.1.330\n")
	if got := look(); !strings.Contains(got, "2.1.330") || strings.Contains(got, "not found") {
		t.Errorf("with one:\n%s", got)
	}
}

// Files that another user cannot read are named, with their owner and what to do; nothing is said about their content.
func TestDoctorAsAnotherUser(t *testing.T) {
	t.Parallel()
	dir := common(t, map[string]string{"magpie": binary(t)})
	file, database := filepath.Join(dir, "magpie.toml"), filepath.Join(dir, "magpie.db")
	cli := filepath.Join(dir, "claude")
	must(t, os.WriteFile(cli, []byte("#!/bin/sh\n"), 0o644))
	must(t, os.WriteFile(database, []byte("x"), 0o600))
	must(t, os.WriteFile(file, fmt.Appendf(nil, "[claude]\ncommand = %q\n[db]\nurl = %q\n", cli, "sqlite://"+database), 0o600))
	look := func(lang string) string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "magpie"), "doctor", "--config", file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=" + lang}
		out, _ := cmd.CombinedOutput() // some checks fail
		return string(out)
	}
	for lang, want := range map[string]string{
		"C":     "fail  configuration: " + file + ": permission denied - it belongs to the user root: run this with sudo -u root",
		"zh_CN": "fail  配置：" + file + "：没有权限 - 它属于用户 root：用 sudo -u root 运行",
	} {
		if got := look(lang); !strings.Contains(got, want) || strings.Contains(got, "claude") ||
			strings.Contains(got, ".db") {
			t.Errorf("%q is not all that is said:\n%s", want, got)
		}
	}
	must(t, os.Chmod(file, 0o644))
	got := look("C")
	for _, want := range []string{
		"[claude] command: " + cli + " is not executable: run chmod +x " + cli,
		"fail  database: " + database + ": permission denied - it belongs to the user root: run this with sudo -u root",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, got)
		}
	}
}

// doctorRig is a configuration for "magpie doctor", with a simulated platform.
type doctorRig struct {
	testing.TB
	sim *feishusim.Server
	dir string
	env []string
}

func newDoctorRig(t testing.TB) *doctorRig {
	t.Helper()
	p := &doctorRig{TB: t, sim: startSim(t), dir: t.TempDir()}
	p.write("[claude.env]\nANTHROPIC_API_KEY = \"sk-canary\"\n")
	return p
}

func (p *doctorRig) write(more string) { p.Helper(); writeService(p, p.dir, p.sim, more) }

// change edits the configuration.
func (p *doctorRig) change(old, new string) {
	p.Helper()
	path := filepath.Join(p.dir, "magpie.toml")
	data, err := os.ReadFile(path)
	must(p, err)
	if !strings.Contains(string(data), old) {
		p.Fatalf("the configuration has no %q", old)
	}
	must(p, os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600))
}

// claims configures a CLI that works, and says that it has that version.
func (p *doctorRig) claims(version string) {
	p.Helper()
	around := filepath.Join(p.dir, "claude-"+version)
	script := "#!/bin/sh\n[ \"$1\" != --version ] || exec echo '" + version + " (Claude Code)'\n" +
		"exec " + claudetest.Scripted(p) + " \"$@\"\n"
	syscall.ForkLock.RLock()                           // a program cannot be run while a child still has it open for writing
	err := os.WriteFile(around, []byte(script), 0o755) //nolint:gosec // it is run
	syscall.ForkLock.RUnlock()
	must(p, err)
	p.env = []string{"MAGPIE_CLAUDE_COMMAND=" + around}
}

// group gives a group a rule of its own, in an app that only gets messages that mention it.
func (p *doctorRig) group(id string, rule chat.MentionRule, left bool) {
	p.Helper()
	p.sim.TakeScopes("im:message.group_msg")
	store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + filepath.Join(p.dir, "data", "magpie.db")})
	must(p, err)
	m := chat.Incoming{
		Key: chat.FeishuChat(id), Kind: chat.Group, ID: "om_1", Text: "/mention", Actor: chat.Actor{ID: "ou_1"},
		Time: time.Now(), ToBot: true,
	}
	_, err = store.Messages().Accept(p.Context(), db.Inbound{Incoming: m, Class: chat.Command, Effects: []db.Effect{
		db.ChangeSettings{To: db.Settings{Mention: string(rule)}},
	}})
	must(p, err)
	if left {
		_, _, err = store.Chats().Leave(p.Context(), chat.Change{
			Key: m.Key, Kind: m.Kind, Did: chat.Removed, Time: time.Now(),
		})
	}
	must(p, errors.Join(err, store.Close()))
}

// runDoctor runs "magpie doctor" and returns its exit code and its report.
func (p *doctorRig) runDoctor(args ...string) (int, string) {
	p.Helper()
	cmd := magpie(p, p.dir, append([]string{"doctor"}, args...)...)
	cmd.Env = append(cmd.Env, p.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	for _, secret := range []string{p.sim.AppSecret(), "sk-canary"} {
		if strings.Contains(string(out)+stderr.String(), secret) {
			p.Errorf("the doctor prints a secret:\n%s%s", out, &stderr)
		}
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// The doctor checks the real CLI here, and the scripted agent in all other tests: package doctor's own tests compare
// the two.
func TestDoctorFindsAHealthyBridge(t *testing.T) {
	t.Parallel()
	p := newDoctorRig(t)
	p.env = []string{"MAGPIE_CLAUDE_COMMAND=" + claudetest.Command(t)}
	code, out := p.runDoctor()
	for _, want := range []string{
		"ok    configuration: ", "ok    permissions: ", "ok    database: ", "will be created",
		"ok    claude: ", "version " + doctor.TestedCLI, "ok    claude: logged in",
		"ok    Feishu: ", "ok    bot: ", "ok    app permissions: ", "ok    clock: correct",
		"ok    disk (database): ", "ok    disk (project): ", "service manager: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the doctor does not say %q", want)
		}
	}
	if code != 0 || strings.Contains(out, "fail ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}

	p.env = nil
	service := startProcess(t, magpie(t, p.dir, "serve"))
	service.await("magpie is running")
	code, out = p.runDoctor("--json")
	var report struct {
		OK       bool
		Findings []doctor.Finding
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK || code != 0 {
		t.Errorf("while the bridge runs: exit code %d, %v:\n%s", code, err, out)
	}
	served := fmt.Sprintf(" is intact; process %d is using it", service.pid())
	if !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return strings.HasSuffix(f.What, served) }) {
		t.Errorf("the doctor does not say %q:\n%s", served, out)
	}
	service.stop()
	lock := filepath.Join(p.dir, "data", "magpie.db.lock")
	must(t, os.WriteFile(lock, fmt.Append(nil, os.Getpid()), 0o600)) // the id now belongs to another process
	if _, out = p.runDoctor(); !strings.Contains(out, " is intact; no process is using it") {
		t.Errorf("the lock of a process that has ended is reported:\n%s", out)
	}
}

// Each problem has a line that says what to do.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*doctorRig)
		code    int
		want    []string
	}{
		"wrong secret": {func(p *doctorRig) { p.sim.SetSecret("changed") }, 1, []string{
			"fail  Feishu: the app was rejected: app secret invalid (code 10014) - copy the App ID and App Secret again",
		}},
		"a lost database that was saved": {func(p *doctorRig) {
			must(p, os.Mkdir(filepath.Join(p.dir, "data"), 0o700))
			must(p, os.WriteFile(filepath.Join(p.dir, "data", "magpie.db.rescued-20260504-030201"), []byte("x"), 0o600))
		}, 1, []string{
			"fail  database: ", "was lost; its contents are saved in ", "magpie.db.rescued-20260504-030201 to ",
		}},
		"a lost database that is open": {func(p *doctorRig) {
			path := filepath.Join(p.dir, "data", "magpie.db")
			store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + path})
			must(p, err)
			p.Cleanup(func() { must(p, store.Close()) })
			must(p, os.Remove(path))
		}, 1, []string{
			"fail  database: ", fmt.Sprintf("was lost while process %d is using it - do not stop Magpie yet", os.Getpid()),
		}},
		"a group is muted": {func(p *doctorRig) {
			p.group("oc_muted", chat.MentionNone, false)
			store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + filepath.Join(p.dir, "data", "magpie.db")})
			must(p, err)
			err = store.Chats().Silence(p.Context(), chat.FeishuChat("oc_muted"), "code 230035")
			must(p, errors.Join(err, store.Close()))
		}, 0, []string{`warn  chat "feishu:chat:oc_muted": the bot has not been allowed to write there since `, "code 230035 - unmute the group"}},
		"a server of another project is not approved": {func(p *doctorRig) {
			dir := p.TempDir()
			must(p, os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"planted":{"command":"sh"}}}`), 0o600))
			p.change("[access]", "[projects]\nother = \""+dir+"\"\n[access]")
		}, 0, []string{"warn  claude: MCP servers in the project's .mcp.json are not approved yet", ": planted - run claude in "}},
		"a permission to send is missing": {func(p *doctorRig) {
			p.group("oc_1", chat.MentionOnly, false)
			store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + filepath.Join(p.dir, "data", "magpie.db")})
			must(p, err)
			box := store.Outbox()
			must(p, box.Enqueue(p.Context(), db.Post{Key: chat.FeishuChat("oc_1"), Idem: "unsent", Text: "a"}))
			post, err := box.Next(p.Context(), chat.FeishuChat("oc_1"))
			must(p, err)
			why := db.Failure{Obstacle: chat.NotShared, Why: "lack of authority (code 230027)"}
			must(p, errors.Join(box.Delay(p.Context(), post, time.Now(), why, false), store.Close()))
		}, 0, []string{
			"warn  sending: 1 message waiting since 2", ": lack of authority (code 230027) - the app lacks a permission; add it",
			"also share the app with the other company",
		}},
		"no bot": {func(p *doctorRig) {
			p.sim.Inject(feishusim.Fault{
				Path: "/open-apis/bot/v3/info", Code: 230006, Msg: "bot ability is not activated",
			})
		}, 1, []string{"fail  bot: bot ability is not activated (code 230006) - add the Bot capability"}},
		"a permission is missing": {func(p *doctorRig) {
			p.sim.Inject(feishusim.Fault{
				Path: "/open-apis/im/v1/chats", Code: 99991672, Msg: "scopes is required: [im:chat, im:chat:readonly].",
			})
		}, 1, []string{
			"fail  app permissions: missing im:chat or im:chat:readonly - add them at http", "/auth?", "/version",
		}},
		"the app may not list members": {func(p *doctorRig) {
			p.sim.Group("team", p.sim.AddUser("a"))
			p.sim.TakeScopes("im:chat.members:read")
		}, 1, []string{"fail  app permissions: missing im:chat or im:chat.members:read or im:chat:readonly - add them"}},
		"no permission for the greeting": {func(p *doctorRig) {
			p.sim.TakeScopes("im:chat.access_event.bot_p2p_chat:read")
		}, 0, []string{
			"ok    app permissions: complete",
			"ok    app permissions: you can also add im:chat.access_event.bot_p2p_chat:read (",
		}},
		"other bots are to be answered": {func(p *doctorRig) {
			p.sim.TakeScopes("im:message.group_at_msg.include_bot:readonly")
			p.change("[feishu]", "[chat]\nanswer_bots = true\n[feishu]")
		}, 0, []string{"warn  app permissions: missing im:message.group_at_msg.include_bot:readonly - add them"}},
		"a permission was never asked for": {func(p *doctorRig) {
			p.sim.TakeScopes("im:resource", "cardkit:card:write")
		}, 0, []string{
			"warn  app permissions: missing im:resource, cardkit:card:write - add them at http",
			"q=im%3Aresource%2Ccardkit%3Acard%3Awrite", "ok    events",
		}},
		"the app may not look at itself": {func(p *doctorRig) {
			p.sim.TakeScopes("application:application:self_manage", "im:resource")
		}, 0, []string{"warn  app permissions: missing im:resource, application:application:self_manage"}},
		"no messages arrive": {func(p *doctorRig) { p.sim.Unsubscribe("im.message.receive_v1") }, 1,
			[]string{"fail  events: not subscribed to im.message.receive_v1", "/event"}},
		"no buttons": {func(p *doctorRig) { p.sim.Unsubscribe("card.action.trigger") }, 0,
			[]string{"warn  events and callbacks: missing card.action.trigger", "/event"}},
		"in Chinese": {func(p *doctorRig) { p.env = []string{"LANG=zh_CN.UTF-8"}; p.sim.TakeScopes("im:resource") }, 0,
			[]string{"warn  应用权限：缺少 im:resource - 在 http", "ok    claude：已登录", "ok    时钟：准确"}},
		"platform away": {func(p *doctorRig) { p.change(p.sim.URL(), "http://127.0.0.1:1") }, 1, []string{
			"fail  Feishu: could not connect: 127.0.0.1:1: the connection was refused - check the network",
		}},
		"two mistakes in the configuration": {func(p *doctorRig) {
			p.change("[access]", "[log]\nlevel = \"loud\"\nformat = \"xml\"\n[access]")
		}, 1, []string{
			"fail  configuration: line 11: [log] level", "fail  configuration: line 12: [log] format", "magpie.toml", "ok    Feishu",
		}},
		"no Feishu": {func(p *doctorRig) {
			p.change("app_id = \""+p.sim.AppID()+"\"", "")
			p.change("app_secret = \""+p.sim.AppSecret()+"\"", "")
			p.change("[access]", "[terminal]\nenabled = true\n[access]")
		}, 0, []string{"ok    Feishu: not configured, chats are in the terminal only"}},
		"keys in their old places": {func(p *doctorRig) {
			p.change("[feishu]", "[feishu]\ntopics = false\nnotify_after = \"5m\"")
			p.env = []string{"MAGPIE_FEISHU_SEND_FILES=false"}
		}, 0, []string{
			"warn  configuration: still in [feishu], and now of [chat]: notify_after, topics; the old place works as well - move them to [chat] in ",
			"warn  configuration: variables that now begin with MAGPIE_CHAT_: MAGPIE_FEISHU_SEND_FILES; the old names work as well - rename them",
		}},
		"keys in their old places, in Chinese": {func(p *doctorRig) {
			p.change("[feishu]", "[feishu]\ntopics = false")
			p.env = []string{"LANG=zh_CN.UTF-8", "MAGPIE_FEISHU_SEND_FILES=false"}
		}, 0, []string{
			"warn  配置：topics 还写在 [feishu] 里，现在属于 [chat]；旧位置仍然有效 - 移到 ",
			"warn  配置：环境变量 MAGPIE_FEISHU_SEND_FILES 现在以 MAGPIE_CHAT_ 开头；旧名字仍然有效 - 改用新名字",
		}},
		"a folder for a configuration": {func(p *doctorRig) {
			must(p, os.Remove(filepath.Join(p.dir, "magpie.toml")))
			must(p, os.Mkdir(filepath.Join(p.dir, "magpie.toml"), 0o700))
		}, 1, []string{"fail  configuration: ", "it is a folder, not a file - name the file magpie.toml with --config"}},
		"no TOML": {func(p *doctorRig) { p.change("[access]", "[access") }, 1, []string{
			"fail  configuration: ", "the name of a section must be in brackets, as in [claude] - correct it in ",
		}},
		"departments and whole groups": {func(p *doctorRig) {
			p.sim.TakeScopes("im:message.group_msg")
			p.change("[access]", "[access]\nallow = [\"od_1\"]\n")
			p.change("[feishu]", "[feishu]\ngroup_mention = \"all\"")
		}, 0, []string{
			"warn  app permissions: missing contact:contact.base:readonly, contact:user.department:readonly, " +
				"contact:department.base:readonly, im:message.group_msg",
		}},
		"a group wants to be heard as a whole": {
			func(p *doctorRig) { p.group("oc_1", chat.MentionNone, false) }, 0,
			[]string{"warn  app permissions: missing im:message.group_msg"},
		},
		"groups that are as most are": {
			func(p *doctorRig) { p.group("oc_1", chat.MentionOnly, false) }, 0,
			[]string{"ok    app permissions"},
		},
		"a group that the bot has left does not": {
			func(p *doctorRig) { p.group("oc_1", chat.MentionNone, true) }, 0, []string{"ok    app permissions"},
		},
		"no event for a chat that is opened": {func(p *doctorRig) {
			p.sim.Unsubscribe("im.chat.access_event.bot_p2p_chat_entered_v1", "im.message.updated_v1")
		}, 0, []string{
			"ok    events and callbacks",
			"ok    events: you can also subscribe to im.chat.access_event.bot_p2p_chat_entered_v1 (", "/event",
		}},
		"rules without a path": {func(p *doctorRig) {
			p.change("[claude]", "[claude]\nallowed_tools = [\"Read\", \"Edit(./**)\"]")
		}, 0, []string{"warn  tool rules: no limits on Read: ", "Read(./**)"}},
		"no configuration": {
			func(p *doctorRig) { must(p, os.Remove(filepath.Join(p.dir, "magpie.toml"))) }, 1,
			[]string{"fail  configuration: there is no magpie.toml - make one with magpie setup"},
		},
		"others read the file": {
			func(p *doctorRig) { must(p, os.Chmod(filepath.Join(p.dir, "magpie.toml"), 0o644)) }, 0,
			[]string{"warn  permissions: ", " - chmod 600 "},
		},
		"nobody may talk": {func(p *doctorRig) { p.change("[access]\nowner = ", "[access]\n# ") }, 0, []string{
			"warn  access: the bot has no owner yet", "one-time code",
		}},
		"the platform names the owner": {func(p *doctorRig) {
			p.change("[access]\nowner = ", "[access]\n# ")
			p.sim.SetOwner(feishusim.User{OpenID: "ou_creator"})
		}, 0, []string{"ok    access: the bot belongs to ou_creator"}},
		"somebody has sent the code": {func(p *doctorRig) {
			p.change("[access]\nowner = ", "[access]\n# ")
			store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + filepath.Join(p.dir, "data", "magpie.db")})
			must(p, err)
			_, err = store.Access().SetOwner(p.Context(), db.Owner{
				App: p.sim.AppID(), User: "ou_bearer", Source: "code",
			})
			must(p, errors.Join(err, store.Close()))
		}, 0, []string{"ok    access: the bot belongs to ou_bearer"}},
		"IDs of another app": {func(p *doctorRig) {
			known := p.sim.AddUser("Ann").OpenID
			p.change("[access]\nowner = ", "[access]\nowner = \"ou_typo\"\nadmins = [\""+known+"\", \"ou_gone\"]\n"+
				"allow = [\"oc_typo\", \""+p.sim.Group("team", p.sim.AddUser("a"))+"\", \"*\", \"od_1\"]\ndeny = [\"ou_bad\"]\n# ")
		}, 0, []string{
			"warn  access: the owner ou_typo was not found (each app has its own IDs) - remove [access] owner", "/whoami",
			"warn  access: ou_gone in [access] admins was not found", "oc_typo in [access] allow was", "ou_bad in [access] deny was",
		}},
		"not logged in": {func(p *doctorRig) { p.change("ANTHROPIC_API_KEY", "OTHER") }, 1, []string{
			"fail  claude: not logged in - ", "claude auth login",
		}},
		"no CLI": {func(p *doctorRig) { p.env = []string{"MAGPIE_CLAUDE_COMMAND=/no/claude"} }, 1, []string{
			"fail  configuration: environment: MAGPIE_CLAUDE_COMMAND: [claude] command", "npm install", "correct it in the environment",
		}},
		"an old CLI": {func(p *doctorRig) {
			p.claims("1.0.9")
		}, 0, []string{
			"warn  claude: ", "1.0.9; Magpie is tested with " + doctor.OldestCLI + " to " + doctor.TestedCLI,
			" - npm install",
		}},
		"a CLI with a hole": {func(p *doctorRig) {
			p.claims(doctor.OldestCLI)
		}, 0, []string{
			"warn  claude: ", doctor.OldestCLI + ". Before 2.1.330", "cat < FILE", " - npm install",
		}},
		"a CLI of tomorrow": {func(p *doctorRig) {
			p.claims("9.0.0")
		}, 0, []string{
			"warn  claude: ", "9.0.0; Magpie is tested with " + doctor.OldestCLI + " to " + doctor.TestedCLI, " - ",
		}},
		"a row that cannot be read": {func(p *doctorRig) {
			path := filepath.Join(p.dir, "data", "magpie.db")
			store, err := db.Open(p.Context(), db.Config{URL: "sqlite://" + path})
			must(p, err)
			must(p, store.Close())
			raw, err := sql.Open("sqlite3", path)
			must(p, err)
			_, err = raw.ExecContext(p.Context(),
				`INSERT INTO chats (rowid, no, key, kind) VALUES (991, 991, 'feishu:chat:oc:1', 'p2p')`)
			must(p, errors.Join(err, raw.Close()))
		}, 0, []string{
			"warn  database: rows that cannot be read and were skipped: 1: chats row 991: ", "magpie backup",
		}},
		"a broken database": {func(p *doctorRig) {
			must(p, os.Mkdir(filepath.Join(p.dir, "data"), 0o700))
			must(p, os.WriteFile(
				filepath.Join(p.dir, "data", "magpie.db"), []byte(strings.Repeat("no database ", 1000)), 0o600,
			))
		}, 1, []string{"fail  database: ", "backup"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDoctorRig(t)
			tc.prepare(p)
			code, out := p.runDoctor()
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the doctor does not say %q", want)
				}
			}
			for line := range strings.Lines(out) {
				if !strings.HasPrefix(line, "ok  ") && !strings.Contains(line, " - ") {
					t.Errorf("there is no advice: %s", line)
				}
			}
			if t.Failed() {
				t.Logf("\n%s", out)
			}
		})
	}
}
