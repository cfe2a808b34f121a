package main

import (
	"os"
	"strings"
	"sync"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

func TestChatAtATerminal(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		chatAtATerminal(t, func(c *config.Config) { c.Claude.Command = command })
	})
	t.Run("scripted", func(t *testing.T) {
		chatAtATerminal(t, func(*config.Config) {})
	})
}

// chatAtATerminal is an afternoon of somebody who types: questions, a command that is allowed and one that is denied, an
// answer that is stopped, a new conversation.
func chatAtATerminal(t *testing.T, change func(*config.Config)) {
	r := newChatRig(t, change)
	who := openTerminal(t, r.command("first question"))
	who.await("first question")
	who.await("> ")
	who.enter("再问一次 second")
	who.await("再问一次 second")
	who.await("> ")

	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(r.script("ran.txt"))}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("it ran\n\x1b]0;title\a")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(r.script("denied.txt"))}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("so be it")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("a slow beginning\n\nand"), modelsim.Hold(held)}},
	)
	for _, step := range []struct {
		button i18n.Phrase
		says   string
	}{{i18n.ApprovalAllowButton, "it ran"}, {i18n.ApprovalRefuseButton, "so be it"}} {
		who.enter("run it")
		who.await("sh ran.sh")
		choices := who.await("> ")
		i := strings.Index(choices, "] "+step.button.ZH)
		if i < 1 {
			t.Fatalf("no choice %s in %q", step.button.ZH, choices)
		}
		who.enter(choices[i-1 : i])
		if got := who.await(step.says); strings.Contains(got, "\x1b]0;") {
			t.Errorf("a control character arrives: %q", got)
		}
		who.await("> ")
	}
	if r.project("ran.txt") == "" || r.project("denied.txt") != "" {
		t.Error("not what was allowed, or what was denied, was run")
	}

	who.enter("take your time")
	who.await("a slow beginning")
	_, err := who.tty.Write([]byte{3}) // Ctrl-C
	must(t, err)
	who.await("> ")
	if n := r.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled'`); n != 1 {
		t.Errorf("%d answers were stopped", n)
	}
	who.enter("/new")
	who.await("> ")
	_, err = who.tty.Write([]byte{4}) // Ctrl-D
	must(t, err)
	if code := who.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A long paragraph appears as it is written, and so does each step; who is denied is told.
func TestChatGrowsAtATerminal(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newChatRig(t, allowBash, func(c *config.Config) { c.Claude.Command = command })
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		must(t, os.WriteFile(r.inProject("look.sh"), []byte("echo seen\n"), 0o600))
		long := strings.Repeat("word ", 60)
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash("sh look.sh")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Text("It begins here. " + long), modelsim.Hold(held), modelsim.Text("And ends."),
			}},
		)
		who := openTerminal(t, r.command("tell me"))
		who.await("✓")
		who.await("sh look.sh")
		who.await("It begins here. ")
		release()
		who.await("And ends.")
		who.await("> ")
		if got := who.String(); strings.Count(got, "It begins here. ") != 1 {
			t.Errorf("the paragraph is printed more than once: %q", got)
		}
		deny := r.cfg.Access
		deny.Deny = []string{"cli:chat:" + terminalName(t)}
		r.setAccess(deny)
		who.enter("and now?")
		who.await("[access] deny")
		if code := who.exit(); code == 0 {
			t.Error("it ends as if all were well")
		}
	})
}

// What an agent runs does not reach the socket: it is hidden with everything else of the program.
func TestAgentsDoNotReachTheTerminal(t *testing.T) {
	r := newChatRig(t, realCLI(t), allowBash)
	if err := r.cfg.Claude.Wall.Missing(); err != nil {
		t.Skip("agents have no wall here:", err)
	}
	folder, err := folderOf(r.cfg, terminalFolder)
	must(t, err)
	socket := terminal.SocketPath(folder)
	if info, err := os.Stat(socket); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("no socket: %v", err)
	}
	must(t, os.WriteFile(r.inProject("look.sh"), []byte("test -S \"$1\" && echo reached > seen.txt || echo hidden > seen.txt\n"), 0o600))
	r.calls(bash("sh look.sh "+socket), modelsim.Text("looked"))
	if out, notes, err := r.piped("look around"); err != nil || !strings.Contains(out, "looked") {
		t.Fatalf("%v: %q, %q", err, out, notes)
	}
	if got := r.project("seen.txt"); got != "hidden\n" {
		t.Errorf("the socket is %q to a command of the agent", got)
	}
}
