package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// canary is in everything that a chat's agents must not learn.
const canary = "CANARY-4711"

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// twoChats are chats of one program: "a" has secrets, which the agent of "b" tries to read.
type twoChats struct {
	*rig
	base, home, data string
	folders          *claudetest.Folders
}

// newTwoChats creates a program with its data and configuration, and a user of the machine.
func newTwoChats(t *testing.T, command string, change ...func(*claude.Config)) twoChats {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	n := twoChats{base: base, home: filepath.Join(base, "home"), data: filepath.Join(base, "da[t]a (1)")}
	n.rig = newRig(t, func(c *claude.Config) {
		c.Command, c.Project = command, filepath.Join(base, "work")
		must(t, os.MkdirAll(c.Project, 0o700))
		c.Environ = append(without(without(c.Environ, "CLAUDE_CONFIG_DIR"), "HOME"), "HOME="+n.home)
		n.folders = claudetest.OwnFolders(c, n.data)
		c.Private = []string{filepath.Join(base, "magpie.toml")}
		for _, f := range change {
			f(c)
		}
		must(t, c.Validate())
		must(t, c.Prepare())
	})
	return n
}

func (n twoChats) folder(owner string) string { return n.folders.Path(owner) }

// toolUse is one tool call and its outcome.
type toolUse struct {
	tool, input string
	asked       bool // whether people were asked; they refuse
	failed      bool
	result      string
}

func (u toolUse) String() string { return fmt.Sprintf("%s %s: %.300s", u.tool, u.input, u.result) }

// unknown reports whether the CLI does not have the tool, or not yet: it belongs to an MCP server that is starting.
func (u toolUse) unknown() bool { return strings.Contains(u.result, "No such tool available") }

// tryTools makes the agent of owner call tools, all in one message, and returns the outcome of each.
func (n twoChats) tryTools(owner string, spec claude.Spec, steps map[string][]any) (list []toolUse) {
	n.Helper()
	var calls []modelsim.Step
	for _, tool := range slices.Sorted(mapKeys(steps)) {
		for _, in := range steps[tool] {
			calls = append(calls, modelsim.Tool(tool, in))
			list = append(list, toolUse{tool: tool, input: string(encode(n.T, in))})
		}
	}
	asked := map[string]bool{}
	n.decide = func(q claude.ToolAsk) claude.Decision { asked[q.Use] = true; return claude.Decision{Why: "no"} }
	n.model.Reset()
	n.model.Script(modelsim.Rule{Times: 1, Steps: calls})
	if a := n.turn(n.Context(), owner, spec, "go"); a.err != nil {
		n.Fatal(a.err)
	}
	reqs := n.model.Requests()
	var ids []string
	results := map[string]gjson.Result{}
	for _, m := range gjson.GetBytes(reqs[len(reqs)-1].Body, "messages").Array() {
		for _, c := range m.Get("content").Array() {
			switch c.Get("type").String() {
			case "tool_use":
				ids = append(ids, c.Get("id").String())
			case "tool_result":
				results[c.Get("tool_use_id").String()] = c
			}
		}
	}
	if len(ids) < len(list) {
		n.Fatalf("%d of %d calls", len(ids), len(list))
	}
	ids = ids[len(ids)-len(list):] // those before are of earlier turns
	for i, id := range ids {
		list[i].asked, list[i].failed, list[i].result = asked[id], results[id].Get("is_error").Bool(),
			results[id].Get("content").String()
	}
	return list
}

func mapKeys(m map[string][]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

func commands(list ...string) (inputs []any) {
	for _, c := range list {
		inputs = append(inputs, map[string]string{"command": c, "description": "x"})
	}
	return inputs
}

func reads(list ...string) (inputs []any) {
	for _, path := range list {
		inputs = append(inputs, map[string]string{"file_path": path})
	}
	return inputs
}

// Whatever the agent of one chat tries, it gets nothing of another chat or of the program without a question to people.
// That holds even if reading is allowed without a path, and in a process that was started ahead.
// TestNoRuleOpensWhatIsOffLimits covers an ordinary process.
func TestAttackOtherChats(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) {
			c.AllowedTools, c.Spare = []string{"Read"}, 1
		})
		files := filepath.Join(n.data, "files", "0a1b2c3d4e5f")
		for _, path := range []string{
			filepath.Join(n.data, "magpie.txt"), filepath.Join(n.data, ".hidden"),
			filepath.Join(n.data, "Agents.txt"),
			filepath.Join(n.data, "outgoing", "x.txt"), filepath.Join(files, "secret.txt"),
			filepath.Join(n.base, "magpie.toml"),
			filepath.Join(n.home, ".claude", ".credentials.json"),
			filepath.Join(n.home, ".claude", "projects", "x", "s.jsonl"),
		} {
			write(t, path, canary+"\n")
		}
		must(t, os.Symlink(n.data, filepath.Join(n.cfg.Project, "link")))
		secret := fresh()
		if a := n.turn(t.Context(), "a", secret, canary); a.err != nil {
			t.Fatal(a.err)
		}
		theirs, err := n.cfg.Transcripts("a").Path(n.cfg.Project, secret.Session)
		must(t, err)
		must(t, poll(t.Context(), "the secret in "+theirs, func() bool { // it is written concurrently with the answer
			data, _ := os.ReadFile(theirs)
			return strings.Contains(string(data), canary)
		}))
		spec := n.ahead(n.data)
		spec.Files = n.takeSpare("b")
		last := spec
		last.Budget = 1
		must(t, n.pool.Expect(last)) // no further process is started
		own := spec.Files
		agents, db := filepath.Dir(n.folder("a")), filepath.Join(n.data, "magpie.txt")
		q := func(path string) string { return "'" + path + "'" }
		tries := n.tryTools("b", spec, map[string][]any{
			"Read": reads(theirs, db, filepath.Join(files, "secret.txt"),
				filepath.Join(own, "..", "0a1b2c3d4e5f", "secret.txt"),
				filepath.Join(n.data, ".hidden"), filepath.Join(n.data, "Agents.txt"),
				filepath.Join(n.data, "outgoing", "x.txt"),
				filepath.Join(n.cfg.Project, "link", "magpie.txt"),
				filepath.Join(n.cfg.Project, "..", filepath.Base(n.data), "magpie.txt"),
				filepath.Join(n.base, "magpie.toml"), filepath.Join(n.home, ".claude", ".credentials.json"),
				filepath.Join(n.home, ".claude", "projects", "x", "s.jsonl"),
				filepath.Join(n.folder("b"), ".claude.json")),
			"Write": {map[string]string{"file_path": filepath.Join(files, "new.txt"), "content": canary}},
			"Grep":  {map[string]string{"pattern": "CANARY", "path": n.base, "output_mode": "content"}},
			"Glob":  {map[string]string{"pattern": "**/*", "path": n.data}},
			"Bash": commands("cat "+q(theirs), "head "+q(theirs), "tail -n 5 "+q(theirs), "ls "+
				q(filepath.Dir(theirs)), "ls "+q(agents), "ls -R "+q(n.data),
				"ls ..", "cat "+q(db), "cat ../da*/magpie.txt", "cat link/magpie.txt",
				"cat link/agents/*/projects/*/*",
				"cat "+q(n.data)+"/files/*/*", "cat ~/.claude/projects/*/*", "cat ~/.claude/.credentials.json",
				"cat ../magpie.toml",
				"grep -rn CANARY "+q(n.folder("a")), "grep -rn CANARY "+q(agents), "grep -rn CANARY "+q(n.data),
				"grep -rn CANARY ..", "grep -rn CANARY ~",
				"grep -rn CANARY link/", "grep -rn CANARY /", "rg CANARY ..", "find .. -type f", "find "+
					q(agents), "find "+q(n.data)+" -name '*.txt'",
				"cd .. && cat magpie.toml", "cat $HOME/../magpie.toml", "du -a ..", "du --files0-from="+q(db),
				"wc --files0-from="+q(db),
				"sort "+q(db), "diff /dev/null "+q(db), "git diff --no-index /dev/null "+q(db), "od -c "+q(db),
				"stat "+q(db),
				"echo $(cat "+q(db)+")", "cat <(cat "+q(db)+")", "mapfile -t x < "+q(db)+"; echo $x",
				"cat < "+q(db), "sort <"+q(theirs), "ls && cat 0< ../magpie.toml"),
		})
		others := []string{canary, filepath.Base(n.folder("a")), "0a1b2c3d4e5f", "magpie.txt", ".hidden", "Agents.txt", "x.txt"}
		for _, u := range tries {
			shown := slices.ContainsFunc(others, func(name string) bool { return strings.Contains(u.result, name) })
			// behind the wall, du finds its own files alone
			if shown && !u.asked && !u.failed || strings.Contains(u.result, canary) ||
				!u.asked && !u.failed && !strings.Contains(u.input, `"du -a ..`) {
				t.Errorf("unasked: %v", u)
			}
		}
		unused, err := n.cfg.Transcripts("b").Path(n.cfg.Project, spec.Session)
		must(t, err)
		if _, err := os.Stat(unused); err == nil {
			t.Error("the agent did not run in the process that was started ahead")
		}
	})
}

// Off-limits paths stay so where every file may be read and edited without a question: also the agents' state outside
// the data folder, symbolic links to it, and the settings of the machine's user.
func TestNoRuleOpensWhatIsOffLimits(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		var real, alias string
		n := newTwoChats(t, command, func(c *claude.Config) {
			base := filepath.Dir(c.Project)
			real, alias = filepath.Join(base, "real"), filepath.Join(base, "alias")
			must(t, os.Mkdir(real, 0o700))
			must(t, os.Symlink(real, alias))
			c.Data, c.State, c.Private = filepath.Join(alias, "data"), filepath.Join(alias, "state"),
				[]string{filepath.Join(alias, "magpie.toml")}
			c.AllowedTools, c.KeepAlive.Duration = []string{"Read", "Edit", "Write"}, 0
		})
		decisions, free := filepath.Join(n.home, ".claude.json"), filepath.Join(n.base, "free.txt")
		write(t, decisions, `{"oauthAccount":{"displayName":"`+canary+`"}}`)
		write(t, free, "free\n")
		read, made := []string{decisions}, []string{filepath.Join(n.home, ".claude", "projects", "new.jsonl")}
		for _, path := range []string{"data/x.txt", "state/of-a/projects/x/s.jsonl", "magpie.toml"} {
			write(t, filepath.Join(real, path), canary+"\n")
			read = append(read, filepath.Join(real, path), filepath.Join(alias, path))
		}
		for _, dir := range []string{"data", "data/files/0a1b2c3d4e5f", "state/of-a"} {
			made = append(made, filepath.Join(real, dir, "new.txt"), filepath.Join(alias, dir, "new.txt"))
		}
		var writes []any
		for _, path := range append(made, filepath.Join(n.base, "made.txt")) {
			writes = append(writes, map[string]string{"file_path": path, "content": "x"})
		}
		// whatever is allowed, people are asked before the list of approved MCP servers changes
		approvals := []string{
			filepath.Join(n.cfg.Project, ".mcp.json"), filepath.Join(n.cfg.Project, ".claude", "settings.local.json"),
		}
		for _, path := range approvals {
			writes = append(writes, map[string]string{"file_path": path, "content": "{}"})
		}
		made = append(made, approvals...)
		tries := n.tryTools("b", fresh(), map[string][]any{"Read": reads(append(read, free)...), "Write": writes})
		for i, u := range tries {
			last := len(tries) - 1 - len(approvals)
			if allowed := i == len(read) || i == last; u.asked != (i > last) || u.failed == allowed ||
				strings.Contains(u.result, canary) {
				t.Errorf("asked %v, failed %v: %v", u.asked, u.failed, u)
			}
		}
		for _, path := range made {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("written: %s", path)
			}
		}
	})
}
