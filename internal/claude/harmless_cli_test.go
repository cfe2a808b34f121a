package claude_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// harmless are commands that the CLI runs unasked, each with a file that is none of the project's: as the value of an
// option, as an operand, or as a name that the shell finds. CONF is a file, NAMES a pattern for files.
var harmless = []string{
	"diff --from-file=CONF a.txt", "diff --from-file CONF a.txt", "diff --to-file=CONF a.txt", "diff --fr=CONF a.txt",
	"diff --fro=CONF a.txt", "diff --f=CONF a.txt", "diff --to=CONF a.txt", "diff --t=CONF a.txt",
	"diff a.txt --from-file='CONF'", `diff --from-file="CONF" a.txt`, "diff -a --from-file=CONF a.txt | head -c 2000",
	"ls && diff -rN --from-file=CONF a.txt", "timeout 5 diff -a --from-file=CONF a.txt", "diff --from-file=REL a.txt",
	"cat a.txt | diff --from-file=CONF -",
	"diff -rN --from-file=DIR a.txt", "diff -r --to-file=DIR .",
	"wc --files0-from=CONF", "wc --files0=CONF", "wc --f=CONF", "du --files0-from=CONF", "du --f=CONF", "du -XCONF .",
	"sort --files0-from=CONF", "sort --f=CONF", "stat --printf=%n CONF", "strings @CONF", "hexdump -fCONF a.txt",
	"hexdump -vfCONF a.txt", "od --strings=3 CONF", "file -fCONF", "file --files-from=CONF", "file --fi=CONF",
	"file -mCONF a.txt", "file --magic-file=CONF a.txt", "date -fCONF", "date --file=CONF", "date --f=CONF",
	"grep -fCONF a.txt", "grep --file=CONF a.txt", "grep --fil=CONF a.txt",
	"rg -fCONF a.txt", "rg --file=CONF a.txt", "jq -fCONF a.json", "jq --from-file=CONF a.json",
	"jq --rawfile=x CONF a.json", "sed -fCONF a.txt", "sed --file=CONF a.txt", "sha256sum --check=CONF",
	"sha256sum -cCONF", "base64 --wrap=0 CONF", "uniq --skip-fields=0 CONF", "tree --fromfile CONF",
	"tree --gitfile=CONF", "ps --pid=CONF", "git diff --no-index /dev/null CONF", "git log --pathspec-from-file=CONF",
	"git diff -OCONF", "git grep -fCONF", "git blame --contents=CONF a.txt", "git blame -SCONF a.txt",
	"git blame --ignore-revs-file=CONF a.txt", "fd --ignore-file=CONF", "lsof @CONF", "man -lCONF", "man CONF",
	"numfmt --header CONF", "numfmt CONF", "seq CONF", "sleep CONF",
	"tac CONF", "rev CONF", "fold CONF", "expand CONF", "unexpand CONF", "fmt CONF", "comm CONF a.txt",
	"cmp -l CONF a.txt", "cmp -b CONF a.txt", "tsort CONF", "pr CONF", "nl CONF", "column CONF", "paste CONF",
	"cut -c1- CONF", "strings CONF", "hexdump -C CONF", "xargs -aCONF echo", "xargs --arg-file=CONF echo",
	"uniq CONF", "info --file=CONF", "info -fCONF", "jq . CONF", "tail --pid=1 CONF", "head --bytes=9 CONF",
	"docker inspect x", "docker inspect --format={{.Config.Env}} x",
	"echo NAMES", "printf '%s ' NAMES", "realpath NAMES", "basename -a NAMES", "dirname NAMES", "readlink -f NAMES",
	"ls NAMES", "stat NAMES", "file NAMES", "du NAMES", "df NAMES", "seq NAMES", "numfmt NAMES", "sleep NAMES",
	"expr NAMES", "tac NAMES", "test -e NAMES", "[[ -e NAMES ]]", "wc NAMES", "cksum NAMES", "echo REL/*",
	"echo DIR/file?/*", "echo DIR/[f]iles/??*", "for f in NAMES; do echo $f; done", "type NAMES", "which -a NAMES",
	"cd . && echo NAMES", "id NAMES", "locale NAMES", "groups NAMES", "cal NAMES", "arch NAMES",
}

// No command that the CLI runs unasked reads what is not the project's, in any mode and with none of its options: with
// the wall it is not there; without it people are asked.
// With all options: go test -run TestAttackHarmlessCommands -every-form ./internal/claude
func TestAttackHarmlessCommands(t *testing.T) {
	forms := everyOption(t)
	if len(forms) < 300 {
		t.Fatalf("%d commands", len(forms))
	}
	next := 0
	claudetest.Versions(t, func(t *testing.T, command string) {
		for _, mode := range []workspace.WallMode{"require", "off"} {
			tried := map[string][]string{} // by mode: each version, wall and mode tries others
			for _, mode := range []string{"default", "plan"} {
				if tried[mode] = forms; !*everyForm {
					tried[mode] = every(sample, next, forms)
				}
				next++
			}
			t.Run(string(mode), func(t *testing.T) {
				var folders *claudetest.Folders
				var data string
				n := newTwoChats(t, command, func(c *claude.Config) {
					data, c.Wall = filepath.Join(filepath.Dir(c.Project), "data"), mode // a plain name, which needs no quotes
					folders = claudetest.OwnFolders(c, data)
				})
				n.data, n.folders = data, folders
				harmlessCommands(t, n, mode == "off", tried)
			})
		}
	})
}

func harmlessCommands(t *testing.T, n twoChats, asks bool, forms map[string][]string) {
	conf, names := filepath.Join(n.base, "magpie.toml"), filepath.Join(n.data, "files", canary)
	write(t, conf, canary+" x\n")
	write(t, filepath.Join(n.data, "magpie.db"), canary+"\n")
	write(t, filepath.Join(names, canary), canary+"\n")
	write(t, filepath.Join(n.cfg.Project, "a.txt"), "abc\n")
	write(t, filepath.Join(n.cfg.Project, "a.json"), "{}\n")
	paths := strings.NewReplacer("'CONF'", "'"+conf+"'", `"CONF"`, `"`+conf+`"`, "CONF", conf, "NAMES",
		n.data+"/files/*/*", "DIR", n.data, "REL/", "../data/files/", "REL", "../magpie.toml")
	modes := []string{"default", "plan"}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		for list := range slices.Chunk(slices.Concat(harmless, forms[mode]), 400) {
			spec := fresh()
			spec.Mode = mode
			lines := make([]string, len(list))
			for i, c := range list {
				lines[i] = paths.Replace(c)
			}
			for i, u := range n.tryTools(mode, spec, map[string][]any{"Bash": commands(lines...)}) {
				unasked := asks && !u.asked && !u.failed && slices.Contains(harmless, list[i])
				if strings.Contains(strings.ReplaceAll(u.result, conf, ""), canary) || unasked {
					t.Errorf("%s, asked %v, failed %v: %v", mode, u.asked, u.failed, u)
				}
			}
		}
	}
}

// In acceptEdits the agent changes files of the project unasked, but not those that others obey.
func TestFilesThatOthersObeyAreAskedForInAcceptEdits(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { c.Guarded = []string{"agents*.md", "package.json", ".husky", ".git*"} })
		guarded := []string{"AGENTS.md", "package.json", "sub/Package.json", ".husky/pre-commit", ".github/workflows/x.yml", ".husky/_/x"}
		free := []string{"a.txt", "sub/package.js", "husky/x"}
		var inputs []any
		for _, name := range append(guarded, free...) {
			inputs = append(inputs, map[string]string{"file_path": filepath.Join(n.cfg.Project, name), "content": "x"})
		}
		spec := fresh()
		spec.Mode = "acceptEdits"
		tries := n.tryTools("a", spec, map[string][]any{
			"Write": inputs, "Bash": commands("cp a.txt AGENTS.md",
				"mv a.txt AGENTS.md", "sed -i s/x/y/ package.json", "rm package.json", "touch free.txt"),
		})
		for i, u := range tries {
			if want := i < 4 || i >= 5 && i < 5+len(guarded); u.asked != want {
				if i == 4 && command == claudetest.Oldest(t) { // every command is asked for with it
					continue
				}
				t.Errorf("asked %v, failed %v: %v", u.asked, u.failed, u)
			}
		}
	})
}
