package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// chatRig is a rig at whose service people can chat in a terminal.
type chatRig struct {
	*rig
	config string // a file that names the database
}

// newChatRig makes one. The path of a socket must be short.
func newChatRig(t *testing.T, change ...func(*config.Config)) *chatRig {
	t.Helper()
	dir, err := os.MkdirTemp("", "chat")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "magpie.toml")
	if err := os.WriteFile(file, []byte("[db]\nurl = \"sqlite://"+filepath.Join(dir, "m.db")+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, append(change, func(c *config.Config) { c.DB.URL = "sqlite://" + filepath.Join(dir, "m.db") })...)
	return &chatRig{r, file}
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
		!strings.Contains(notes, "no such chat") {
		t.Errorf("%v: %q, %q", err, out, notes)
	}
}
