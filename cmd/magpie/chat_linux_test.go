package main

import (
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
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
