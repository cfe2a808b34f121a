package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// typist is a magpie on a terminal of its own.
type typist struct {
	testing.TB
	cmd  *exec.Cmd
	tty  *os.File
	more chan struct{} // there is new output
	done chan struct{} // the program has ended and its output was read
	err  error

	mu    sync.Mutex
	wrote bytes.Buffer
	seen  int // how much of the output earlier waits consumed
}

// columnsOfTest is the width of the terminals in these tests, the usual one.
const columnsOfTest = 80

func openTerminal(t testing.TB, cmd *exec.Cmd) *typist {
	t.Helper()
	return openTerminalOf(t, 50, cmd)
}

func openTerminalOf(t testing.TB, rows uint16, cmd *exec.Cmd) *typist {
	t.Helper()
	// When the leader of a session ends, the kernel drops what its terminal has not shown yet. So a shell is the leader, as
	// for people, and ends once everything was read.
	ended, says, err := os.Pipe()
	must(t, err)
	read, told, err := os.Pipe()
	must(t, err)
	cmd.Args = slices.Concat([]string{"sh", "-c", `trap : INT; "$0" "$@" 3>&- 4>&-; code=$?; exec 3>&-; read -r _ <&4; exit $code`, cmd.Path},
		cmd.Args[1:])
	cmd.Path, cmd.ExtraFiles = "/bin/sh", []*os.File{says, read}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columnsOfTest})
	must(t, errors.Join(err, says.Close(), read.Close()))
	go func() {
		_, _ = ended.Read(make([]byte, 1)) // EOF
		conn, err := tty.SyscallConn()
		for unread := 1; unread > 0 && err == nil; time.Sleep(time.Millisecond) {
			err = conn.Control(func(fd uintptr) { unread, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) })
		}
		_ = errors.Join(told.Close(), ended.Close())
	}()
	term := &typist{TB: t, cmd: cmd, tty: tty, more: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(term.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf) // fails with EIO when the program ends
			term.mu.Lock()
			term.wrote.Write(buf[:n])
			term.mu.Unlock()
			select {
			case term.more <- struct{}{}:
			default: // the waiting test has not looked at the last output yet
			}
			if err != nil {
				break
			}
		}
		term.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // no effect if it has ended
		<-term.done
		_ = tty.Close()
	})
	return term
}

func (t *typist) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrote.String()
}

// await waits until new output contains the text, and returns all output until then.
func (t *typist) await(text string) string {
	t.Helper()
	deadline, done := time.After(patience), t.done
	for {
		all := t.String()
		if i := strings.Index(all[t.seen:], text); i >= 0 {
			from := t.seen
			t.seen += i + len(text)
			return all[from:t.seen]
		}
		if done == nil {
			t.Fatalf("the program ended (%v) without writing %q:\n%s", t.err, text, t)
		}
		select {
		case <-t.more:
		case <-done:
			done = nil // all output was read: look once more
		case <-deadline:
			t.Fatalf("waiting for %q:\n%s", text, t)
		}
	}
}

func (t *typist) enter(line string) {
	t.Helper()
	_, err := t.tty.WriteString(line + "\n")
	must(t, err)
}

// answer waits for a question and answers it.
func (t *typist) answer(question, line string) {
	t.Helper()
	t.await(question)
	t.enter(line)
}

// secret waits for a question whose answer is not echoed, and answers it. The question is printed before the echo is
// off.
func (t *typist) secret(question, line string) {
	t.Helper()
	t.await(question)
	t.until("echo to be off", func() bool { return !t.echoes() })
	t.enter(line)
}

// exit waits for the program's end and returns its exit code.
func (t *typist) exit() int {
	t.Helper()
	select {
	case <-t.done:
	case <-time.After(patience):
		t.Fatalf("the program does not end:\n%s", t)
	}
	var exit *exec.ExitError
	if t.err != nil && !errors.As(t.err, &exit) {
		t.Fatal(t.err)
	}
	return t.cmd.ProcessState.ExitCode()
}

// setupRig runs "magpie setup" for a user with an empty home folder, and the scripted agent.
type setupRig struct {
	testing.TB
	sim  *feishusim.Server
	home string
	env  []string
}

func newSetupRig(t testing.TB, env ...string) *setupRig {
	t.Helper()
	env = append([]string{"MAGPIE_CLAUDE_COMMAND=" + claudetest.Scripted(t), "ANTHROPIC_API_KEY=sk-canary"}, env...)
	n := &setupRig{TB: t, sim: startSim(t), home: t.TempDir(), env: env}
	n.env = append(n.env, "MAGPIE_FEISHU_BASE_URL="+n.sim.URL())
	must(t, os.Mkdir(filepath.Join(n.home, "work"), 0o755))
	return n
}

// command is a setup whose only systemd is in the folder root.
func (n *setupRig) command(args ...string) *exec.Cmd {
	args = append([]string{"setup", "--root", filepath.Join(n.home, "root")}, args...)
	cmd := magpie(n, filepath.Join(n.home, "work"), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.home, "LANG=C.UTF-8", "TERM=xterm"}, n.env...)
	return cmd
}

func (n *setupRig) config() string { return filepath.Join(n.home, ".config", "magpie", "magpie.toml") }

// files lists all existing files, except for the CLI's own.
func (n *setupRig) files() []string {
	n.Helper()
	var list []string
	must(n, filepath.WalkDir(n.home, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".claude") || strings.HasPrefix(d.Name(), ".cache") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			list = append(list, path)
		}
		return err
	}))
	return list
}

var scanned = regexp.MustCompile(`http://127\.0\.0\.1:\d+/page/cli\?\S+`)

// A new user gets the first answer by scanning a code and pressing Enter, with the real CLI.
func TestSetupFromScanToFirstAnswer(t *testing.T) {
	t.Parallel()
	model, err := modelsim.Start(modelsim.Config{})
	must(t, err)
	defer model.Close() //nolint:errcheck // closing is not part of this test
	n := newSetupRig(t, "ANTHROPIC_BASE_URL="+model.URL())
	n.env = append(n.env, "MAGPIE_CLAUDE_COMMAND="+claudetest.Command(t))
	owner := n.sim.AddUser("小明")
	begun := time.Now()

	term := openTerminal(t, n.command())
	term.await("ok    claude: logged in")
	term.answer("Project folder [", "")
	term.answer("Choose [1]: ", "")
	screen := term.await("Waiting for you")
	widest := 0
	for line := range strings.Lines(screen) {
		if strings.Contains(line, "▀") {
			blocks := strings.Count(line, "█") + strings.Count(line, "▀") + strings.Count(line, "▄")
			widest = max(widest, blocks+strings.Count(line, " "))
		}
	}
	if widest < 40 || widest > columnsOfTest {
		t.Errorf("the code is %d columns wide:\n%s", widest, screen)
	}
	must(t, n.sim.Scan(owner, scanned.FindString(screen)))
	term.await("ok    events and callbacks")
	term.await("The bot belongs to " + owner.OpenID)
	term.answer("4. How should it run?", "")
	term.await("now, in this terminal")
	r := &rig{TB: t, sim: n.sim, model: model, logs: &logbook{tb: t}, user: owner, chat: n.sim.PrivateChat(owner)}
	r.await("a connection", func(v *feishusim.View) bool { return v.Connections() > 0 })
	r.awaitWelcome(owner)
	if got := r.ask("你好"); got == "" {
		t.Error("the first answer is empty")
	}
	term.await("The bot has answered its first message.")
	t.Logf("from the start of the setup to the first answer: %v", time.Since(begun).Round(10*time.Millisecond))
	_, err = term.tty.WriteString("\x03")
	must(t, err)
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
	if info, err := os.Stat(n.config()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration: %v, %v", info, err)
	}
	if out := term.String(); strings.Contains(out, n.sim.AppSecret()) || strings.Contains(out, "tenant brand") {
		t.Errorf("the terminal shows a secret:\n%s", out)
	}
	r.clean()
}

// A user can install the CLI and log in during the setup, with several attempts. Nothing is said of a file that is not
// there yet.
func TestSetupLogsIn(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t)
	cli := filepath.Join(n.home, "claude")
	n.env = append(n.env, "MAGPIE_CLAUDE_COMMAND="+cli)
	term := openTerminal(t, n.command())
	term.await("fail  claude: " + cli + " not found - install")
	term.await("in another terminal. Check again?") // the user does that
	must(t, os.WriteFile(cli, fmt.Appendf(nil, `#!/bin/sh
case "$1 $2" in
"auth status") test -e "$HOME/logged-in" ;;
*) exec %s "$@" ;;
esac
`, claudetest.Scripted(t)), 0o700))
	term.enter("")
	term.await("fail  claude: not logged in - run claude auth login; an API key can be added once the configuration is saved")
	term.await("How do you log in to Claude?")
	term.answer("Choose [1]: ", "")
	term.answer("Paste code here", "wrong#code")
	term.await("The login did not succeed")
	term.await("fail  claude: not logged in")
	term.answer("Choose [1]: ", "1")
	term.answer("Paste code here", "good#scripted")
	term.await("ok    claude: logged in")
	term.await("Project folder [")
	_, err := term.tty.WriteString("\x03")
	must(t, err)
	if code := term.exit(); code != 130 || strings.Contains(term.String(), "[claude.env]") {
		t.Errorf("exit code %d:\n%s", code, term)
	}
}

// Who has a key, or the address of a gateway, says so during the setup: the agents get it from the configuration, which
// nobody else can read, and the terminal never shows it.
func TestSetupTakesAKeyOrAnAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers [][2]string
		env     map[string]string
	}{
		"a key": {[][2]string{{"Choose [1]: ", "2"}, {"API key (not shown): ", "sk-ant-canary"}},
			map[string]string{"ANTHROPIC_API_KEY": "sk-ant-canary"}},
		"an address": {[][2]string{
			{"Choose [1]: ", "3"}, {"Address, beginning with https://: ", "relay"},
			{"Address, beginning with https://: ", "https://relay.example/v1"}, {"API key (not shown): ", "canary-token"},
		}, map[string]string{"ANTHROPIC_AUTH_TOKEN": "canary-token", "ANTHROPIC_BASE_URL": "https://relay.example/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newSetupRig(t)
			cli := filepath.Join(n.home, "claude")
			must(t, os.WriteFile(cli, fmt.Appendf(nil, `#!/bin/sh
case "$1 $2" in
"auth status") test "$ANTHROPIC_API_KEY" = sk-ant-canary || test -n "$ANTHROPIC_AUTH_TOKEN" ;;
*) exec %s "$@" ;;
esac
`, claudetest.Scripted(t)), 0o700))
			n.env = append(n.env, "MAGPIE_CLAUDE_COMMAND="+cli)
			secret := filepath.Join(n.home, "secret")
			must(t, os.WriteFile(secret, []byte(n.sim.AppSecret()), 0o600))
			term := openTerminal(t, n.command("--app-id="+n.sim.AppID(), "--app-secret-file="+secret, "--start=no"))
			for _, a := range tc.answers {
				if strings.Contains(a[0], "not shown") {
					term.secret(a[0], a[1])
				} else {
					term.answer(a[0], a[1])
				}
			}
			term.await("ok    claude: logged in")
			term.answer("Project folder [", "")
			if code := term.exit(); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, term)
			}
			c, err := config.Read(n.config(), nil)
			if err != nil || !maps.Equal(c.Claude.Env, tc.env) {
				t.Errorf("the agents get %v, %v; want %v", c.Claude.Env, err, tc.env)
			}
			if info, err := os.Stat(n.config()); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the configuration: %v, %v", info, err)
			}
			if out := term.String(); strings.Contains(out, "canary") {
				t.Errorf("the terminal shows the key:\n%s", out)
			}
		})
	}
}

// At every question Ctrl-C leaves no file behind and restores the terminal.
func TestSetupIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		at   []string // questions; Ctrl-C at the last one
	}{
		"at the project":    {nil, []string{"Project folder ["}},
		"at the app":        {nil, []string{"Project folder [", "Choose [1]: "}},
		"while it scans":    {nil, []string{"Project folder [", "Choose [1]: ", "Waiting for you"}},
		"at the secret":     {[]string{"--app-id=cli_1"}, []string{"Project folder [", "App Secret (not shown): "}},
		"at the old config": {[]string{"--config=old.toml"}, []string{"Replace it?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newSetupRig(t)
			old := filepath.Join(n.home, "work", "old.toml")
			must(t, os.WriteFile(old, []byte("# mine\n"), 0o600))
			term := openTerminal(t, n.command(tc.args...))
			for _, question := range tc.at[:len(tc.at)-1] {
				term.answer(question, "")
			}
			term.await(tc.at[len(tc.at)-1])
			term.until("echo to be off when a secret is asked for", func() bool {
				return term.echoes() != strings.Contains(name, "secret")
			})
			_, err := term.tty.WriteString("\x03")
			must(t, err)
			term.await("Canceled.")
			if code := term.exit(); code != 130 {
				t.Errorf("exit code %d:\n%s", code, term)
			}
			if left := n.files(); len(left) != 1 || left[0] != old {
				t.Errorf("it left %s", left)
			}
			if data, err := os.ReadFile(old); err != nil || string(data) != "# mine\n" {
				t.Errorf("the old configuration: %q, %v", data, err)
			}
		})
	}
}

// If the QR code does not fit, setup offers a browser on this computer, if there is a display, or else to draw the code
// in a larger window. The link has a line of its own.
func TestSetupOffersTheBrowser(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rows   uint16
		env    string
		answer string // n = the user opens the link elsewhere
		offers bool
		larger uint16 // to how many rows the user enlarges the window
	}{
		"Enter":      {24, "DISPLAY=:0", "", true, 0},
		"no":         {24, "DISPLAY=:0", "n", true, 0},
		"no display": {24, "DISPLAY=", "", false, 24},
		"larger":     {24, "DISPLAY=", "", false, 50},
		"room":       {50, "DISPLAY=:0", "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
			must(t, os.WriteFile(filepath.Join(bin, "xdg-open"), fmt.Appendf(nil, `#!/bin/sh
echo "$1" >%[1]s.new && mv %[1]s.new %[1]s
`, opened), 0o700))
			n := newSetupRig(t, "PATH="+bin+":"+os.Getenv("PATH"), tc.env)
			term := openTerminalOf(t, tc.rows, n.command("--scan"))
			term.answer("Project folder [", "")
			screen := term.await("/page/cli?") // the question has no newline
			if tc.offers {
				screen += term.await("Open the link in a browser on this computer? [Y/n]: ")
				term.enter(tc.answer)
			}
			if tc.larger > 0 {
				screen += term.await("press Enter to see the code; with the link, press Enter to go on: ")
				must(t, pty.Setsize(term.tty, &pty.Winsize{Rows: tc.larger, Cols: columnsOfTest}))
				term.enter("")
			}
			screen += term.await("Waiting for you")
			address := scanned.FindString(screen)
			if !strings.Contains(screen, "\r\n"+address+"\r\n") {
				t.Errorf("the link is not on a line of its own:\n%s", screen)
			}
			if tc.offers && tc.answer == "" {
				term.until("the browser to open", func() bool {
					got, err := os.ReadFile(opened)
					address = strings.TrimSpace(string(got))
					return err == nil
				})
			}
			if code := strings.Contains(screen, "▀"); code != (max(tc.rows, tc.larger) == 50) {
				t.Errorf("with %d rows a code is drawn: %v", tc.rows, code)
			}
			must(t, n.sim.Scan(n.sim.AddUser("小明"), address))
			term.await("Created the app")
			if _, err := os.Stat(opened); (err == nil) != (tc.offers && tc.answer == "") {
				t.Errorf("opened: %v\n%s", err == nil, term)
			}
			if offered := strings.Contains(term.String(), "[Y/n]: "); offered != tc.offers {
				t.Errorf("offered: %v\n%s", offered, term)
			}
			_, err := term.tty.WriteString("\x03")
			must(t, err)
			_ = term.exit()
		})
	}
}

// After an interruption following the scan, the output says where to find the new app's secret. No file is left.
func TestSetupIsInterruptedAfterTheScan(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t)
	n.sim.Inject(feishusim.Fault{Path: "/open-apis/bot/v3/info", Delay: patience})
	term := openTerminal(t, n.command("--scan"))
	term.answer("Project folder [", "")
	screen := term.await("Waiting for you")
	must(t, n.sim.Scan(n.sim.AddUser("小明"), scanned.FindString(screen)))
	term.await("Checking…")
	term.until("the platform to be asked", func() bool {
		for _, c := range n.sim.Calls() {
			if strings.Contains(c.Path, "tenant_access_token") {
				return true
			}
		}
		return false
	})
	_, err := term.tty.WriteString("\x03")
	must(t, err)
	term.await("Canceled.")
	term.await("The app " + n.sim.AppID() + " was created, but no configuration was saved. Find its secret at " +
		n.sim.URL())
	if code := term.exit(); code != 130 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
	if left := n.files(); len(left) != 0 {
		t.Errorf("it left %s", left)
	}
}

// If the response with the credentials is lost, the app may still exist, and setup says where its secret is.
func TestSetupSaysWhereLostCredentialsAre(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t)
	term := openTerminal(t, n.command("--scan"))
	term.answer("Project folder [", "")
	screen, sim := term.await("Waiting for you"), n.sim
	const registration = "/oauth/v1/app/registration"
	polls := func() (n int) {
		for _, c := range sim.Calls() {
			if c.Path == registration {
				n++
			}
		}
		return n
	}
	remove := sim.Inject(feishusim.Fault{Path: registration, Apply: true, Reset: true})
	must(t, sim.Scan(sim.AddUser("小明"), scanned.FindString(screen)))
	seen := polls()
	term.until("a poll that begins after the code was scanned", func() bool { return polls() > seen+1 })
	remove()
	term.await("the app may exist anyway. Look for Magpie in your list of apps: " + n.sim.URL() + "/app .")
	term.answer("Try again?", "n")
	if code := term.exit(); code == 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
	if left := n.files(); len(left) != 0 {
		t.Errorf("it left %s", left)
	}
}

// echoes reports whether the terminal shows what is typed.
func (t *typist) echoes() bool {
	state, err := unix.IoctlGetTermios(int(t.tty.Fd()), unix.TCGETS)
	must(t, err)
	return state.Lflag&unix.ECHO != 0
}

// until polls a condition, for changes of the terminal's state, which cannot be awaited.
func (t *typist) until(what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s:\n%s", what, t)
		}
	}
}

// An existing app is used by its id and secret, which are checked. Its missing settings are reported with links.
func TestSetupWithAnExistingApp(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t, "LANG=zh_CN.UTF-8")
	n.sim.TakeScopes("im:resource", "cardkit:card:write")
	n.sim.Unsubscribe("card.action.trigger")
	n.sim.SetOwner(n.sim.AddUser("小明"))
	term := openTerminal(t, n.command("--start=no"))
	term.answer("项目文件夹 [", "/")
	term.await("不能用根目录")
	term.answer("项目文件夹 [", "$HOME/new/project")
	term.await("将会创建")
	term.answer("请选择 [1]: ", "3")
	term.await("请输入 1 到 2 的数字。")
	term.answer("请选择 [1]: ", "２")
	term.answer("App ID: ", "xiaoming")
	term.await(`"xiaoming" 不是 App ID：App ID 是 cli_ 加字母和数字。`)
	term.answer("App ID: ", "") // back
	term.await("1. 用手机扫码")
	term.answer("请选择 [1]: ", "1")
	link := scanned.FindString(term.await("等待你确认"))
	if want := "name=" + url.QueryEscape("鹊桥"); !strings.Contains(link, want) {
		t.Errorf("the link %s does not have %s", link, want)
	}
	must(t, n.sim.Decline(link))
	term.answer("再试一次吗？", "n")
	term.answer("请选择 [1]: ", "2.")
	term.answer("App ID: ", n.sim.AppID())
	term.secret("App Secret（不显示）: ", "")
	term.await("App Secret 不能为空。")
	term.answer("App ID: ", n.sim.AppID())
	term.secret("App Secret（不显示）: ", "wrong-canary")
	term.await("fail  飞书：应用被拒绝")
	term.answer("仍然写入配置吗？", "ｎ")
	term.answer("App ID: ", n.sim.AppID())
	term.secret("App Secret（不显示）: ", n.sim.AppSecret())
	app := n.sim.URL() + "/app/" + n.sim.AppID()
	for _, want := range []string{
		"warn  应用权限：缺少 im:resource、cardkit:card:write - 在 " + app + "/auth?", "/version",
		"warn  事件和回调：缺少 card.action.trigger", "/event", "magpie doctor", "已写入", "magpie serve --config",
	} {
		term.await(want)
	}
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := term.String(); strings.Contains(out, n.sim.AppSecret()) || strings.Contains(out, "wrong-canary") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	c, err := config.Load(n.config(), nil)
	if err != nil || c.Feishu.AppSecret != n.sim.AppSecret() || c.Access.Owner == "" ||
		c.Claude.Project != filepath.Join(n.home, "new", "project") {
		t.Errorf("the configuration: %+v, %v", c, err)
	}
	if info, err := os.Stat(c.Claude.Project); err != nil || !info.IsDir() {
		t.Errorf("the project's folder: %v", err)
	}
}

// Flags answer all questions, and only replace what they name.
func TestSetupByFlags(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t)
	owner := n.sim.AddUser("小明")
	n.sim.SetOwner(owner)
	secret := filepath.Join(n.home, "secret")
	must(t, os.WriteFile(secret, []byte(n.sim.AppSecret()+"\n"), 0o600))
	args := []string{
		"--yes", "--app-id=" + n.sim.AppID(), "--app-secret-file=" + secret,
		"--project=" + filepath.Join(n.home, "work"),
	}
	run := func(more ...string) (string, error) {
		cmd := n.command(append(args, more...)...)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), n.sim.AppSecret()) {
			t.Errorf("the secret is shown:\n%s", out)
		}
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	first, err := os.ReadFile(n.config())
	must(t, err)
	if c, err := config.Load(n.config(), nil); err != nil || c.Access.Owner != owner.OpenID {
		t.Errorf("the configuration: %v\n%s", err, first)
	}
	if out, err := run(); err == nil || !strings.Contains(out, "--replace") {
		t.Errorf("a second time: %v\n%s", err, out)
	}
	if out, err := run("--replace", "--owner=ou_other"); err != nil {
		t.Errorf("replaced: %v\n%s", err, out)
	}
	if old, err := os.ReadFile(n.config() + ".1"); err != nil || !bytes.Equal(old, first) {
		t.Errorf("the old configuration: %v\n%s", err, old)
	}
	if c, err := config.Load(n.config(), nil); err != nil || c.Access.Owner != "ou_other" {
		t.Errorf("the new configuration: %v, owner %s", err, c.Access.Owner)
	}
	if list, err := os.ReadDir(filepath.Dir(n.config())); err != nil || len(list) != 2 {
		t.Errorf("%v lie there, %v", list, err)
	}
	app := []string{"--yes", "--replace", "--app-id=cli_1", "--app-secret-file=" + secret}
	with := func(flags ...string) []string { return append(slices.Clone(app), flags...) }
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no app":       {[]string{"--yes", "--replace"}, "--scan"},
		"no secret":    {[]string{"--yes", "--replace", "--app-id=cli_1"}, "or both --app-id and --app-secret-file"},
		"no terminal":  {nil, "--yes"},
		"no platform":  {with("--platform=wechat"), `--platform "wechat": must be feishu, lark, or an address such as`},
		"no App ID":    {with("--app-id=1"), `--app-id "1": must be cli_ followed by letters and digits`},
		"no owner":     {with("--owner=xiaoming"), `--owner "xiaoming": must be the ID of a user (ou_…)`},
		"empty secret": {[]string{"--yes", "--replace", "--app-id=cli_1", "--app-secret-file=/dev/null"}, "empty"},
		"wrong secret": {
			[]string{"--yes", "--replace", "--app-id=" + n.sim.AppID(), "--app-secret-file=" + n.config()},
			"did not pass the check",
		},
		"no network":  {with("--platform=http://127.0.0.1:1"), "the app did not pass the check above; nothing was saved"},
		"the home":    {with("--project=" + n.home), "home folders"},
		"in the data": {with("--project=" + filepath.Join(n.home, ".local/share/magpie/x")), "the data"},
		"a file":      {with("--project=" + secret), "not a folder"},
		"nobody's scan": {
			[]string{"--yes", "--replace", "--scan", "--platform=http://127.0.0.1:1"}, "The app could not be created",
		},
		"no such folder": {
			[]string{"--yes", "--replace", "--app-id=cli_1", "--app-secret-file=/no/secret"}, "/no/secret",
		},
	} {
		out, err := n.command(tc.args...).CombinedOutput()
		wrongFlags := 2
		if name == "wrong secret" || name == "no network" || name == "nobody's scan" {
			wrongFlags = 1
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != wrongFlags || strings.Count(string(out), tc.want) != 1 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if strings.Contains(string(out), "configuration: ") || strings.Contains(string(out), "Press Enter") ||
			strings.Contains(string(out), "magpie doctor") { // which needs a configuration
			t.Errorf("%s: it mentions steps that were not taken:\n%s", name, out)
		}
		if wrongFlags == 2 && strings.Contains(string(out), "1. Claude Code") {
			t.Errorf("%s: it begins before it looks at the flags:\n%s", name, out)
		}
	}
	if c, err := config.Load(n.config(), nil); err != nil || c.Access.Owner != "ou_other" {
		t.Errorf("after all that: %v, owner %s", err, c.Access.Owner)
	}
}

// With --yes nothing is asked, not even on a terminal: setup says what is missing.
func TestSetupAsksNothingWithYes(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t, "LANG=zh_CN.UTF-8")
	for flags, want := range map[string]string{
		"":                                   "需要 --scan，或同时给出 --app-id 和 --app-secret-file",
		"--app-id=cli_1 --app-secret-file=-": "--app-secret-file -：标准输入是终端，请改用文件，或从管道传入密钥",
	} {
		term := openTerminal(t, n.command(append([]string{"--yes"}, strings.Fields(flags)...)...))
		term.await(want)
		if code := term.exit(); code != 2 {
			t.Errorf("%s: exit code %d:\n%s", flags, code, term)
		}
	}
}

// Instead of scanning, an existing app can be entered.
func TestSetupGoesBackFromTheScan(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t)
	term := openTerminal(t, n.command())
	term.answer("Project folder [", "")
	term.answer("Choose [1]: ", "1")
	screen := term.await("Waiting for you")
	must(t, n.sim.Decline(scanned.FindString(screen)))
	term.await("Canceled on the phone.")
	term.answer("Try again?", "n")
	term.await("an existing one")
	term.answer("Choose [1]: ", "2")
	term.answer("App ID: ", n.sim.AppID())
	term.secret("App Secret (not shown): ", n.sim.AppSecret())
	term.await("Saved ")
	// Then Ctrl-C keeps the written files, and does not count as success.
	term.await("4. How should it run?")
	_, err := term.tty.WriteString("\x03")
	must(t, err)
	term.await("Start it with: magpie serve --config " + n.config())
	if code := term.exit(); code != 130 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
	if _, err := config.Load(n.config(), nil); err != nil {
		t.Errorf("the configuration: %v", err)
	}
}

// Without a home folder, setup says what to do.
func TestSetupWithoutAHome(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t, "HOME=", "LANG=zh_CN.UTF-8")
	term := openTerminal(t, n.command())
	term.await("magpie: 没有设置环境变量 HOME，不知道主目录在哪里：请先设置")
	if code := term.exit(); code == 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
}

// Without the CLI the bridge can still be set up; setup asks to install the CLI before the start.
func TestSetupWithoutTheCLI(t *testing.T) {
	t.Parallel()
	n := newSetupRig(t, "MAGPIE_CLAUDE_COMMAND=no-such-claude")
	n.sim.SetOwner(n.sim.AddUser("小明"))
	term := openTerminal(t, n.command("--app-id="+n.sim.AppID()))
	term.await("fail  claude: no-such-claude not found - install")
	term.answer("Check again?", "n")
	term.await("Going on without it. Install Claude Code before you start Magpie.")
	term.answer("Project folder [", "")
	term.secret("App Secret (not shown): ", n.sim.AppSecret())
	term.await("Saved " + n.config())
	term.await("Install Claude Code first (see step 1), then start Magpie with: magpie serve --config " + n.config())
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
	if c, err := config.Read(n.config(), nil); err != nil || c.Claude.Command != "no-such-claude" {
		t.Errorf("the configuration: %q, %v", c.Claude.Command, err)
	}
}
