package services

import (
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// odd has names with characters that XML or a command line could misinterpret.
var odd = job{Name: "magpie", Program: "/opt/R&D <1>/magpie", Config: "/home/me/a b/magpie.toml", Dir: "/home/me/a b"}

// texts parses XML, which must be well formed, and returns the texts of its elements.
func texts(t *testing.T, r *xml.Decoder) (list []string) {
	t.Helper()
	for {
		token, err := r.Token()
		if errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			list = append(list, string(text))
		}
	}
}

// follow fails the test unless the wanted texts are in the list in this order.
func follow(t *testing.T, list []string, want ...string) {
	t.Helper()
	for i := range list {
		if len(list[i:]) >= len(want) && slices.Equal(list[i:i+len(want)], want) {
			return
		}
	}
	t.Errorf("%q are not in %q", want, list)
}

func TestThePropertyListOfLaunchd(t *testing.T) {
	a := launchAgent{job: odd, Path: "/opt/homebrew/bin:/usr/bin", Home: "/Users/me", UID: 501}
	got := texts(t, xml.NewDecoder(strings.NewReader(a.plist())))
	follow(t, got, "Label", "local.magpie", "ProgramArguments", odd.Program, "serve", "--config", odd.Config,
		"WorkingDirectory", odd.Dir, "EnvironmentVariables", "PATH", a.Path, "RunAtLoad", "KeepAlive")
	follow(t, got, "ExitTimeOut", "90", "Umask", "63", "StandardOutPath", "/Users/me/Library/Logs/magpie.log")
	if strings.Count(a.plist(), "<true/>") != 2 {
		t.Error("it is not both started at load and kept alive")
	}
	if a.file() != "/Users/me/Library/LaunchAgents/local.magpie.plist" || a.target() != "gui/501/local.magpie" {
		t.Errorf("%s, %s", a.file(), a.target())
	}
}

func TestTheTaskOfWindows(t *testing.T) {
	task := scheduledTask{odd, `OFFICE\me`}
	data := task.encoded()
	if data[0] != 0xff || data[1] != 0xfe || len(data)%2 != 0 {
		t.Fatalf("the file begins with % x", data[:2])
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	text := string(utf16.Decode(units[1:]))
	if !strings.Contains(text, "?>\r\n<Task ") {
		t.Errorf("it begins with %q", text[:60])
	}
	r := xml.NewDecoder(strings.NewReader(text))
	r.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	follow(t, texts(t, r), odd.Program, `serve --config "/home/me/a b/magpie.toml"`, odd.Dir)
	for _, want := range []string{
		`<UserId>OFFICE\me</UserId>`, "<ExecutionTimeLimit>PT0S<", "<DisallowStartIfOnBatteries>false<", "<LogonTrigger>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
}

// stub puts a program on the PATH that appends its arguments to a file, and then runs the script.
func stub(t *testing.T, name, script string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho \"$*\" >> " + log + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}

// A second installation stops the running job first: launchd would refuse the new one otherwise.
func TestInstallWithLaunchd(t *testing.T) {
	home := t.TempDir()
	loaded := filepath.Join(home, "loaded")
	calls := stub(t, "launchctl", "case $1 in print) test -e "+loaded+" ;; bootstrap) test ! -e "+loaded+
		" && cp \"$3\" "+loaded+" ;; bootout) rm "+loaded+" ;; esac\n")
	a := launchAgent{job: odd, Path: "/bin", Home: home, UID: 501}
	for range 2 {
		if err := a.install(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(loaded); err != nil || string(got) != a.plist() {
		t.Errorf("launchd was given %q, %v", got, err)
	}
	if err := a.status(t.Context()); err != nil {
		t.Error(err)
	}
	follow(t, calls(), "print gui/501/local.magpie", "bootstrap gui/501 "+a.file(), "print gui/501/local.magpie",
		"bootout gui/501/local.magpie", "print gui/501/local.magpie", "bootstrap gui/501 "+a.file())
	for range 2 {
		if err := a.uninstall(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(a.file()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the property list is still there: %v", err)
	}
	if err := a.status(t.Context()); err == nil {
		t.Error("the job is still there")
	}
}

func TestInstallWithTheTaskScheduler(t *testing.T) {
	given := filepath.Join(t.TempDir(), "given")
	calls := stub(t, "schtasks", `case $1 in /End) exit 1 ;; /Create) cp "$6" `+given+" ;; esac\n")
	task := scheduledTask{odd, "me"}
	if err := task.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(given); err != nil || string(got) != string(task.encoded()) {
		t.Errorf("the scheduler was given %q, %v", got, err)
	}
	if err := task.status(t.Context()); err != nil {
		t.Error(err)
	}
	if err := task.uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	follow(t, calls()[2:], "/Run /TN magpie", "/Query /TN magpie /V /FO LIST", "/End /TN magpie", "/Delete /F /TN magpie")
}

func TestOnlySystemdServesTheMachine(t *testing.T) {
	config := filepath.Join(t.TempDir(), "magpie.toml")
	if err := os.WriteFile(config, []byte("[claude]\nproject = \"/srv\"\n[feishu]\nlang = \"zh\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, i := range []Installation{
		{Service: Service{System: true}}, {User: "me"}, {Agents: "you"}, {Secret: "/etc/secret"},
	} {
		i.Config = config
		if _, err := newJob(i); err == nil {
			t.Errorf("%+v is accepted", i)
		}
	}
	j, err := newJob(Installation{Service: Service{Name: "second"}, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := os.Getwd()
	if j.Name != "second" || j.Config != config || j.Dir != dir || j.Lang != "zh" || !filepath.IsAbs(j.Program) {
		t.Errorf("%+v", j)
	}
	if a, err := newLaunchAgent(j); err != nil || a.Label() != "local.second" || a.UID != os.Getuid() || a.Path == "" {
		t.Errorf("%+v, %v", a, err)
	}
	if task, err := newScheduledTask(j); err != nil || task.User == "" {
		t.Errorf("%+v, %v", task, err)
	}
}
