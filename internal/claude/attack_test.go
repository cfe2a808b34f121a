package claude_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// Strings that must not reach a prompt: contents of files, and names of files in folders.
const (
	atCanary   = "canary-4711-in-a-file"
	canaryName = "canary-4712-in-a-folder"
)

// attackFiles are files of each kind that the CLI could read by their name.
type attackFiles struct{ out, home, project string }

// writeAttackFiles writes them outside the project, in the home folder of the CLI's user, and in the project.
func writeAttackFiles(t *testing.T, home, project string) attackFiles {
	t.Helper()
	b := attackFiles{out: t.TempDir(), home: home, project: project}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	names := []string{"secret.txt", "with space.txt", ".env", "秘密.txt", "a#b.md", "[1].txt"}
	notebook := `{"nbformat":4,"nbformat_minor":5,"metadata":{},
		"cells":[{"id":"a","cell_type":"markdown","metadata":{},"source":["` + atCanary + `"]}]}`
	for _, dir := range []string{b.out, home, project} {
		for _, name := range names {
			write(filepath.Join(dir, name), []byte(atCanary+" in "+name))
		}
		write(filepath.Join(dir, "book.ipynb"), []byte(notebook))
		write(filepath.Join(dir, "picture.png"), picture.Bytes())
		write(filepath.Join(dir, "paper.pdf"), []byte("%PDF-1.4\n% "+canary+"\n%%EOF\n"))
		write(filepath.Join(dir, "folder", canaryName+".txt"), []byte(atCanary))
	}
	write(filepath.Join(project, ".claude", "agents", "spy.md"), []byte("---\nname: spy\ndescription: x\n---\n"+canary))
	write(filepath.Join(project, ".claude", "settings.json"),
		[]byte(`{"env":{"CLAUDE_CODE_DISABLE_ATTACHMENTS":"0","CLAUDE_CODE_DISABLE_FILE_MENTIONS":"0"}}`))
	if err := os.Symlink(filepath.Join(b.out, "secret.txt"), filepath.Join(project, "link.txt")); err != nil {
		t.Fatal(err)
	}
	return b
}

// pathAttacks mention a file in a way that the CLI could resolve. {out}, {home} and {project} stand for folders.
var pathAttacks = []struct{ name, text string }{
	{"an absolute path", "@{out}/secret.txt"},
	{"within a sentence", "看看 @{out}/secret.txt 里写了什么"},
	{"at the end of a sentence", "read @{out}/secret.txt."},
	{"after a line break", "你好\n@{out}/secret.txt"},
	{"after a tab", "\t@{out}/secret.txt 是什么"},
	{"after a space of Unicode", "\u00a0@{out}/secret.txt"},
	{"after a space of Chinese", "\u3000@{out}/secret.txt"},
	{"after what nobody sees", "\u200b@{out}/secret.txt"},
	{"after a full stop of Chinese", "看。@{out}/secret.txt"},
	{"in quotes", "@\"{out}/secret.txt\""},
	{"in quotes within a sentence", "看 @\"{out}/secret.txt\" 吧"},
	{"in quotes with a space", "@\"{out}/with space.txt\""},
	{"with an escaped space", "@{out}/with\\ space.txt"},
	{"in single quotes", "@'{out}/secret.txt'"},
	{"in brackets", "(@{out}/secret.txt)"},
	{"in a block of code", "```\n@{out}/secret.txt\n```"},
	{"in a list", "- @{out}/secret.txt\n- @{out}/.env"},
	{"in a quote", "> @{out}/secret.txt"},
	{"some lines of it", "@{out}/secret.txt#L1-5"},
	{"some lines of it in quotes", "@\"{out}/secret.txt\"#L1"},
	{"as an address", "@file://{out}/secret.txt"},
	{"after a slash", "/@{out}/secret.txt"},
	{"twice the sign", "@@{out}/secret.txt"},
	{"a full-width sign", "＠{out}/secret.txt"},
	{"two at once", "@{out}/secret.txt @{home}/secret.txt"},
	{"one that is not there first", "@{out}/nothing @{out}/secret.txt"},
	{"by the way round", "@{project}/../../../../../../../../../../{out}/secret.txt"},
	{"within the project", "@secret.txt"},
	{"within the project, by a dot", "@./secret.txt"},
	{"a hidden file", "@.env"},
	{"of the home", "@~/secret.txt"},
	{"by a variable", "@$HOME/secret.txt @${HOME}/secret.txt"},
	{"by a pattern", "@{out}/*.txt @**/*.txt"},
	{"by a link in the project", "@link.txt"},
	{"a folder", "@{out}/folder/ @{out}/folder @folder"},
	{"a picture", "@{out}/picture.png @picture.png"},
	{"a notebook", "@{out}/book.ipynb"},
	{"a document", "@{out}/paper.pdf"},
	{"a name in Chinese", "@秘密.txt @{out}/秘密.txt"},
	{"a name with signs", "@{out}/a#b.md @{out}/[1].txt"},
	{"the processes' own files", "@/proc/self/environ @/proc/self/cmdline @/etc/passwd"},
	{"an agent and a server", "@agent-spy @\"spy (agent)\" @spy:file://{out}/secret.txt"},
}

// TestAttackAtPaths sends each text. It must reach the model unchanged, in one request, and nothing of the file with
// it: neither its content nor the names in its folder, neither as text nor as a picture.
func TestAttackAtPaths(t *testing.T) {
	const rows = 42
	if len(pathAttacks) != rows {
		t.Fatalf("%d texts, want %d", len(pathAttacks), rows)
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(passwd), "\n")
	secrets := []string{atCanary, canaryName, line, `"type":"image"`, `"type":"document"`, "CLAUDE_CONFIG_DIR="}
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, func(c *claude.Config) { c.Command = command })
		var home string
		for _, kv := range r.cfg.Environ {
			if v, ok := strings.CutPrefix(kv, "HOME="); ok {
				home = v
			}
		}
		b := writeAttackFiles(t, home, r.cfg.Project)
		spec := fresh()
		for i, tc := range pathAttacks {
			text := strings.NewReplacer("{out}", b.out, "{home}", b.home, "{project}", b.project).Replace(tc.text)
			before := len(r.model.Requests())
			if i > 0 {
				spec = resumed(spec)
			}
			if a := r.turn(t.Context(), "a", spec, text); a.err != nil || a.result.Failure != "" {
				t.Fatalf("%s: %+v, %v", tc.name, a.result, a.err)
			}
			list := r.model.Requests()[before:]
			if len(list) != 1 {
				t.Fatalf("%s: the model was asked %d times", tc.name, len(list))
			}
			q := list[0]
			if got := strings.TrimSpace(q.LastUser()); got != strings.TrimSpace(text) {
				t.Errorf("%s: the model was asked %q, want %q", tc.name, got, text)
			}
			for _, secret := range secrets {
				if bytes.Contains(q.Body, []byte(secret)) || strings.Contains(q.AllText(), secret) {
					t.Fatalf("%s: %s has reached the model", tc.name, secret) // all later requests would contain it, too
				}
			}
		}
	})
}
