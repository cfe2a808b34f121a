package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
)

// The manual page contains every command, with the words of --help, and every flag that is not hidden.
func TestTheManualPageIsComplete(t *testing.T) {
	t.Parallel()
	out, err := magpie(t, t.TempDir(), "man").Output()
	must(t, err)
	page := "\n" + strings.ReplaceAll(string(out), `\-`, "-")
	root := kong.Must(&cli{}, kong.Name("magpie"), kong.Vars{"version": version()}).Model.Node
	commands := root.Leaves(true)
	if len(commands) < 15 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, n := range commands {
		_, about, found := strings.Cut(page, "\n.SS "+n.FullPath())
		about, _, _ = strings.Cut(about, "\n.S")
		if !found || !strings.Contains(about+"\n", "\n"+n.Help+"\n") {
			t.Errorf("%s is described as %q", n.FullPath(), about)
		}
		for _, f := range n.Flags {
			if strings.Contains(about, `\fB--`+f.Name+`\fR`) == f.Hidden {
				t.Errorf("%s --%s: hidden %t, and it is described as %q", n.FullPath(), f.Name, f.Hidden, about)
			}
		}
	}
	if escapeRoff(`.a\b`) != `\&.a\eb` {
		t.Errorf("%q", escapeRoff(`.a\b`))
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return // a minimal system without mandoc, which is only a second opinion
	}
	check := exec.Command("groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8")
	check.Stdin = strings.NewReader(string(out))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v, %s", err, out)
	}
}

// What stands for an argument is said in Chinese on the Chinese page, as in the help.
func TestTheChineseManualPageNamesArgumentsInChinese(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	must(t, writeMan(&page, newParser(t.Context(), &cli{}, i18n.Chinese).Model.Node, i18n.Chinese))
	for _, want := range []string{
		".SS magpie backup <文件>\n", ".I 文件夹\n", `\fB\-\-data\fR=\fI文件夹\fR`, `\fB\-\-platform\fR=\fI平台\fR`,
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, word := range []string{"FOLDER", "FILE", "NAME", "TIME", "PATH", "PLATFORM", "folder>", "file>"} {
		if strings.Contains(page.String(), word) {
			t.Errorf("it says %s", word)
		}
	}
}
