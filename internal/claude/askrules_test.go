package claude_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// The commands that, according to docs/approvals.md, the CLI runs without asking, and similar ones that it asks for.
var (
	unaskedCommands = []string{
		"ls -la && date", "sleep 0; echo done", "pwd", "cat a.txt", "head -3 a.txt", "tail -3 a.txt", "wc -l a.txt",
		"grep -rn x .", "find . -name a.txt",
		"sort a.txt", "cut -c1 a.txt", "tr a b < a.txt", "diff a.txt a.txt", "stat a.txt", "file a.txt", "du -sh .",
		"df -h", "which sh", "whoami", "id",
		"hostname", "uname -a", "uptime", "ps aux", "echo $HOME", "printf x", "true", "test -f a.txt", "seq 3",
		"basename /a/b", "realpath a.txt",
		"sha256sum a.txt", "base64 a.txt", "od a.txt", "strings a.txt", "jq . a.json", "sed -n 1p a.txt", "git status",
		"git log", "git diff", "git show",
		"git branch", "git ls-files", "git grep x", "git reflog", "cd sub && ls", "ls | head", "ls 2>/dev/null",
		"groups", "nproc", "free -m", "lsof -v",
		"node --version",
	}
	askedCommands = []string{
		"touch a", "echo hi > b", "ls /etc", "cat /etc/hostname", "cd /", "find . -delete", "find . -exec ls {} +",
		"sort -o b.txt a.txt", "sed -i s/a/b/ a.txt",
		"awk 1 a.txt", "cat a.txt | xargs ls", "env", "echo $(date)", "git log --output=x.txt", "git branch x",
		"git -C /tmp status", "git config --list",
		"curl http://127.0.0.1:1/", "python3 -c 1", "node -e 1", "go version", "make -n", "less a.txt", "nohup ls",
		"ls &", "tar tf a.tar",
	}
)

// ranAndAsked are the commands that ran without a question, and those that were asked for.
func (a answer) ranAndAsked() (ran, asked []string) {
	command := map[string]string{}
	for _, ev := range a.events {
		switch e := ev.(type) {
		case claude.ToolUse:
			var in struct{ Command string }
			if json.Unmarshal(e.Input, &in) == nil && in.Command != "" {
				command[e.ID] = in.Command
			}
		case claude.ToolAsk:
			asked = append(asked, command[e.Use])
			delete(command, e.Use)
		case claude.ToolResult:
			if c, ok := command[e.ID]; ok {
				ran = append(ran, c)
			}
		}
	}
	return ran, asked
}

// works creates a small project with a repository.
func works(t *testing.T, c *claude.Config, command string) {
	t.Helper()
	c.Command = command
	for _, do := range []string{
		"git init -q", "mkdir sub", "echo abc > a.txt", "echo {} > a.json",
		"git -c user.name=a -c user.email=a@b commit --allow-empty -qm x",
	} {
		cmd := exec.Command("sh", "-c", do)
		cmd.Dir = c.Project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", do, err, out)
		}
	}
}

func TestCommandsThatNeedNoPermission(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, func(c *claude.Config) { works(t, c, command) })
		spec := fresh()
		var ran, asked []string
		for list := range slices.Chunk(append(slices.Clone(unaskedCommands), askedCommands...), 16) {
			var steps []modelsim.Step
			for _, c := range list {
				steps = append(steps, bash(c))
			}
			r.model.Script(modelsim.Rule{Times: 1, Steps: steps})
			a := r.turn(t.Context(), "a", spec, "go")
			if a.err != nil {
				t.Fatal(a.err)
			}
			for _, ev := range a.events {
				// a command next to one that fails may not have run
				if e, ok := ev.(claude.ToolResult); ok && strings.Contains(e.Text, "tool_use_error") {
					t.Errorf("%s", e.Text)
				}
			}
			more, others := a.ranAndAsked()
			ran, asked = append(ran, more...), append(asked, others...)
			spec = resumed(spec)
		}
		if !sameStrings(ran, unaskedCommands) {
			t.Errorf("ran %q", ran)
		}
		if !sameStrings(asked, askedCommands) {
			t.Errorf("asked for %q", asked)
		}
	})
}

// sameStrings reports whether two lists have the same elements in any order.
func sameStrings(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// With ask = "everything" people are asked for each tool, whatever the rules and the mode of the chat allow.
func TestEverythingIsAskedFor(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		t.Run("in each mode", func(t *testing.T) {
			modes := []string{"acceptEdits", "plan"}
			if command == claudetest.Oldest(t) {
				modes = modes[:1]
			}
			everythingIsAskedFor(t, command, "", modes...)
		})
		t.Run("whatever settings allow", func(t *testing.T) {
			everythingIsAskedFor(t, command,
				`{"permissions": {"allow": ["Bash(pwd)"], "ask": ["Bash(touch *)"], "deny": ["Bash(rm *)"]}}`,
				"default")
		})
	})
}

func everythingIsAskedFor(t *testing.T, command, settings string, modes ...string) {
	r := newRig(t, func(c *claude.Config) {
		works(t, c, command)
		c.Ask, c.AllowedTools, c.Settings, c.State = "everything", []string{"Read", "Bash(ls *)"}, settings, t.TempDir()
		must(t, c.Prepare())
	})
	for _, mode := range modes {
		r.calls(bash("ls -la"), bash("pwd"), modelsim.Tool("Read", map[string]string{
			"file_path": filepath.Join(r.cfg.Project, "a.txt"),
		}),
			modelsim.Tool("Write", map[string]string{"file_path": filepath.Join(r.cfg.Project, "w.txt"),
				"content": "x"}), bash("rm a.txt"))
		spec := fresh()
		spec.Mode = mode
		a := r.turn(t.Context(), mode, spec, "go")
		var got []string
		for _, q := range a.asked() {
			got = append(got, strings.Join(strings.Fields(q)[:2], " "))
		}
		want := []string{mode + " Bash", mode + " Bash", mode + " Read", mode + " Write", mode + " Bash"}
		// with the current version a denied tool is not asked for; the oldest asks first
		if settings != "" && command != claudetest.Oldest(t) {
			want = want[:4]
		}
		if a.err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, settings %q: asked %q, %v", mode, settings, got, a.err)
		}
	}
	if r.read("w.txt") != "" || r.read("a.txt") == "" {
		t.Error("a tool ran")
	}
}
