package stream

import (
	"encoding/json"
	"testing"
)

// What only reads may be done again. Whatever is not known may change something.
func TestHarmlessTools(t *testing.T) {
	for _, tool := range []string{"Read", "Grep", "Glob", "WebSearch", "WebFetch", "ToolSearch", "TodoWrite"} {
		if !Harmless(tool, nil) {
			t.Errorf("%s is not harmless", tool)
		}
	}
	for _, tool := range []string{
		"Bash", "Edit", "Write", "NotebookEdit", "Task", "Agent", "Skill", "KillShell", "AskUserQuestion", "ExitPlanMode",
		"mcp__magpie__send_file", "mcp__x__read", "SomethingNew", "", "read",
	} {
		if Harmless(tool, nil) {
			t.Errorf("%s is harmless", tool)
		}
	}
}

func TestHarmlessCommands(t *testing.T) {
	run := func(command string, background bool) bool {
		input, err := json.Marshal(map[string]any{"command": command, "run_in_background": background})
		if err != nil {
			t.Fatal(err)
		}
		return Harmless("Bash", input)
	}
	for _, command := range []string{
		"ls", "ls -la src", "cat a b | head -n 3", "grep -rn 'x y' . 2>/dev/null | wc -l", "git status -s && git log --oneline -3",
		"cd src; pwd", "find . -name '*.go' -type f", "rg -n foo || true", "ls missing 2>&1",
	} {
		if !run(command, false) {
			t.Errorf("%q is not harmless", command)
		}
		if run(command, true) {
			t.Errorf("%q is harmless in the background", command)
		}
	}
	for _, command := range []string{
		"", " ", "rm a", "echo x > a", "echo x >> a", "cat <<E", "ls & rm a", "ls\nrm a", "ls; rm a", "ls && touch b", "ls | tee a",
		"cat a | xargs rm", "echo $(rm a)", "echo `rm a`", "find . -delete", `find . "-delete"`, `find . -de"lete"`,
		"find . -exec rm {} +", "find . -fprint a", "git log --output=a", "git diff --ou=a", "git push", "git -c x=y status", "git",
		"sed -i s/a/b/ x", "sort -o a a", "rg --pre=sh x", "x=1 rm a", "env rm a", "sudo ls", "(rm a)", "{ rm a; }", "ls \\\nrm",
		"2>&1rm a", "tail -f log", "ls 2>/dev/nullx", "cat 2>&1x a", "cat a;", "'cat' a", "git 'log'", "cat\u00a0a", "cat a\x00b", "cat 'a",
		"cat a # b", "find * -name a", "tail -[f] a", "! ls", "time ls", "A=1 ls", "grep 'a;b' c", "if ls", "ls && [[ -f a",
	} {
		if run(command, false) {
			t.Errorf("%q is harmless", command)
		}
	}
}
