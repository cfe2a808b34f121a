package main

import (
	"strings"
	"testing"

	"magpie/internal/modelsim"
)

func TestChatAtATerminal(t *testing.T) {
	r := newChatRig(t)
	who := openTerminal(t, r.command("first question"))
	who.await("first question”")
	who.await("> ")
	who.enter("再问一次 second")
	who.await("再问一次 second”")
	who.await("> ")

	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(r.script("ran.txt"))}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("it ran\n\x1b]0;title\a")}},
	)
	who.enter("run it")
	who.await("sh ran.sh ran.txt")
	who.await("[a]")
	who.await("> ")
	who.enter("a")
	if got := who.await("it ran"); strings.Contains(got, "\x1b]0;") {
		t.Errorf("a control character arrives: %q", got)
	}
	who.await("> ")
	if r.project("ran.txt") == "" {
		t.Error("the command did not run")
	}
	who.enter("/new")
	who.await("> ")
	_, err := who.tty.Write([]byte{4}) // Ctrl-D
	must(t, err)
	if code := who.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
