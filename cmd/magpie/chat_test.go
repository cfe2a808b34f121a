package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// chatRig is a rig at whose service people can chat in a terminal.
type chatRig struct {
	*rig
	config string // a file that names the database
}

func newChatRig(t *testing.T, change ...func(*config.Config)) *chatRig {
	t.Helper()
	place, file := chatPlace(t)
	return &chatRig{newRig(t, append(change, place)...), file}
}

// chatPlace is a folder for the database with a path that is short enough for a socket, and a file that names it.
func chatPlace(t *testing.T) (place func(*config.Config), file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "chat")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "magpie.db")
	must(t, dbtest.Write(path))
	file = filepath.Join(dir, "magpie.toml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "data = %q\n[db]\nurl = %q\n", dir, dbtest.URL(path)), 0o600))
	return func(c *config.Config) { inDatabase(c, path) }, file
}

// terminalName is that of the chat of this machine's terminal.
func terminalName(t *testing.T) string {
	t.Helper()
	if !dbtest.OnPostgres() {
		return "main"
	}
	name, err := os.Hostname()
	must(t, err)
	return name
}

// command is magpie chat with these arguments, as a process of its own.
func (r *chatRig) command(args ...string) *exec.Cmd {
	r.Helper()
	cmd := magpie(r, r.TempDir(), append([]string{"chat", "--config", r.config}, args...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=en_US.UTF-8", "TERM=xterm")
	return cmd
}

// piped runs magpie chat in a pipe.
func (r *chatRig) piped(args ...string) (out, notes string, err error) {
	r.Helper()
	cmd := r.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

func TestChatInAPipe(t *testing.T) {
	r := newChatRig(t)
	out, notes, err := r.piped("what", "is up?")
	if err != nil || strings.TrimSpace(out) == "" || notes != "" {
		t.Fatalf("%v: %q, %q", err, out, notes)
	}
	t.Log(out)
}

func TestNobodyDecidesInAPipe(t *testing.T) {
	r := newChatRig(t)
	r.calls(bash(r.script("ran.txt")), modelsim.Text("not done"))
	out, notes, err := r.piped("run it")
	if err != nil || strings.TrimSpace(out) != "not done" || !strings.Contains(notes, "sh ran.sh ran.txt") ||
		!strings.Contains(notes, "Nobody can decide here") {
		t.Errorf("%v: %q, %q", err, out, notes)
	}
	if r.project("ran.txt") != "" {
		t.Error("the command ran")
	}
}

// What is too long to be asked is not cut.
func TestALongQuestionInAPipe(t *testing.T) {
	r := newChatRig(t)
	cmd := r.command()
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 1<<20+1))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "more than 1 MiB") {
		t.Errorf("%v: %q", err, out)
	}
}

func TestChatWithoutAService(t *testing.T) {
	r := newChatRig(t)
	r.stop()
	if out, notes, err := r.piped("hello"); err == nil || out != "" || !strings.Contains(notes, "the service is not running") {
		t.Errorf("%v: %q, %q", err, out, notes)
	}
}

func TestChatGoesOnWithAnUnknownChat(t *testing.T) {
	r := newChatRig(t)
	if out, notes, err := r.piped("--chat", "oc_nobody", "hello"); err == nil || out != "" ||
		!strings.Contains(notes, "there is no such chat as feishu:chat:oc_nobody,") {
		t.Errorf("%v: %q, %q", err, out, notes)
	}
}

// With each CLI people ask, ask on, lose the session and begin anew.
func TestChatOfTheCLIs(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newChatRig(t, func(c *config.Config) { c.Claude.Command = command })
		for _, step := range []struct{ ask, want string }{
			{"my word is Walfisch", "my word is Walfisch"}, {"what was it?", "Earlier messages: 2"}, {"/new", ""},
			{"and now?", "This is the first message I see"},
		} {
			if out, notes, err := r.piped(step.ask); err != nil || notes != "" || !strings.Contains(out, step.want) {
				t.Errorf("%s: %v: %q, %q", step.ask, err, out, notes)
			}
		}
	})
}

// The phone sees what is asked at a terminal that goes on with its chat, and the answer.
func TestChatGoesOnWithAFeishuChat(t *testing.T) {
	r := newChatRig(t)
	r.ask("a word: Walfisch")
	out, notes, err := r.piped("--chat", r.chat, "what was it?")
	if err != nil || strings.TrimSpace(out) == "" || notes != "" {
		t.Fatalf("%v: %q, %q", err, out, notes)
	}
	said, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	r.await("the question and the answer on the phone", func(v *feishusim.View) bool {
		shown := fmt.Sprint(v.Messages(r.chat))
		return strings.Contains(shown, "what was it?") && strings.Contains(shown, said)
	})
	r.ask("on the phone again")
	if talk := r.count(`SELECT COUNT(*) FROM messages WHERE class = 'talk'`); talk != 6 {
		t.Errorf("%d messages in the one History", talk)
	}
}

// A killed service goes on with the question when it is back, and the terminal that waits gets the whole answer, once.
func TestChatSurvivesTheService(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"scripted": func(*config.Config) {}, "cli": realCLI(t),
		"oldest": func(c *config.Config) { c.Claude.Command = claudetest.Oldest(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, file := chatPlace(t)
			s := newService(t, feishusim.Config{}, change, place)
			r := &chatRig{s.rig, file}
			s.run()
			s.connected()
			held := make(chan struct{})
			release := sync.OnceFunc(func() { close(held) })
			t.Cleanup(release)
			s.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("the whole answer")}})
			cmd := r.command("a question")
			var out, notes bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &notes
			must(t, cmd.Start())
			s.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) > 0 })
			s.kill()
			s.run()
			s.connected()
			release() // the agent has outlived the service
			if err := cmd.Wait(); err != nil || strings.Count(out.String(), "the whole answer") != 1 {
				t.Errorf("%v: %q, %q", err, &out, &notes)
			}
			if strings.Count(notes.String(), "The service does not answer") != 1 {
				t.Errorf("notes: %q", &notes)
			}
			s.terminate()
		})
	}
}

// Who is denied is told at once, in a pipe with an error, and no agent hears of it.
func TestChatOfSomebodyDenied(t *testing.T) {
	r := newChatRig(t, func(c *config.Config) {
		c.Access.Deny = []string{"oc_closed", "cli:chat:" + terminalName(t)}
	})
	out, notes, err := r.piped("hello")
	if err == nil || out != "" || !strings.Contains(notes, "the bot takes nothing from you in the chat cli:chat:"+terminalName(t)) {
		t.Errorf("%v: %q, %q", err, out, notes)
	}
	if n := r.count(`SELECT COUNT(*) FROM messages`); n != 0 || len(r.model.Requests()) != 0 {
		t.Errorf("%d messages are kept", n)
	}
}

// What is said while another terminal's question is answered can become part of it; then there is no answer of its own to
// wait for.
func TestChatAddsToAnotherQuestion(t *testing.T) {
	r := newChatRig(t)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("the whole answer")}})
	first := r.command("a question")
	var out bytes.Buffer
	first.Stdout = &out
	must(t, first.Start())
	r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) > 0 })
	second := r.command("also: one thing more")
	var notes bytes.Buffer
	second.Stderr = &notes
	must(t, second.Start())
	r.until("the addition", func() bool { return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) == 2 })
	release()
	if err := first.Wait(); err != nil || !strings.Contains(out.String(), "the whole answer") {
		t.Errorf("the question: %v, %q", err, &out)
	}
	if err := second.Wait(); err == nil || !strings.Contains(notes.String(), "it has no answer of its own here") {
		t.Errorf("the addition: %v, %q", err, &notes)
	}
}

// The owner at a bot without Feishu is whoever may open the socket.
func TestTheOwnerAtATerminal(t *testing.T) {
	r := newChatRig(t, func(c *config.Config) { c.Access.Owner = "" })
	out, _, err := r.piped("/admin users")
	if want := fmt.Sprintf("cli:%d", os.Geteuid()); err != nil || !strings.Contains(out, want) {
		t.Errorf("%v: %q does not name %s", err, out, want)
	}
	if out, _, err := r.piped("/whoami"); err != nil || !strings.Contains(out, "owner") && !strings.Contains(out, "所有者") {
		t.Errorf("%v: %q", err, out)
	}
}
