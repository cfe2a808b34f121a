// Package magpie_test compares the pages about the whole program with the program.
package magpie_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude"
)

var (
	inCode = regexp.MustCompile("`([a-z0-9_/]+\\.(?:go|sql))(?:: (\\w+))?`") // a file, and perhaps a function in it
	link   = regexp.MustCompile(`\]\(([^)#:]+)`)
	box    = regexp.MustCompile(`(\w+)\["([^"]+)"\]`)
	arrow  = regexp.MustCompile(`(?m)^\s*(\w+) --> ([\w &]+)$`)
	totals = regexp.MustCompile(`(?s)\*\*(\d+)\D+(\d+)\D+\*\*` + strings.Repeat(`\D+(\d+)`, 5))
)

// TestTheArchitecturePageIsTrue fails if docs/architecture.md or its Chinese twin names a file, a function or an arrow
// that does not exist, counts the calls of a message wrongly, or omits a package.
func TestTheArchitecturePageIsTrue(t *testing.T) {
	imports := packages(t)
	for _, page := range []string{"docs/architecture.md", "docs/architecture.zh.md"} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		namesWhatIsThere(t, page, text)
		for dir := range imports {
			if !strings.Contains(text, "`"+dir+"`") {
				t.Errorf("%s does not mention `%s`", page, dir)
			}
		}
		if got, want := drawn(text), program(imports); !slices.Equal(got, want) {
			t.Errorf("%s draws\n%s\nbut the imports are\n%s", page, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		countHops(t, page, text)
	}
}

// TestTheOtherPagesNameWhatIsThere fails if a page for contributors names a file or a function that does not exist.
func TestTheOtherPagesNameWhatIsThere(t *testing.T) {
	for _, page := range []string{"CONTRIBUTING.md", "CONTRIBUTING.zh.md", "docs/claude-cli.md"} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		namesWhatIsThere(t, page, string(data))
	}
}

// namesWhatIsThere checks the files, functions and links of a page.
func namesWhatIsThere(t *testing.T, page, text string) {
	t.Helper()
	for _, m := range inCode.FindAllStringSubmatch(text, -1) {
		src, err := os.ReadFile(m[1])
		if err != nil {
			t.Errorf("%s: %v", page, err)
		} else if m[2] != "" && !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+m[2]+`\b`).Match(src) {
			t.Errorf("%s: there is no function %s in %s", page, m[2], m[1])
		}
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(path.Join(path.Dir(page), m[1])); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}

// packages lists the folders with Go code, and their imports of each other, without tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || dir == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata":
			return fs.SkipDir
		}
		p, err := build.ImportDir(dir, 0)
		if errors.As(err, new(*build.NoGoError)) {
			return nil
		} else if err != nil {
			return err
		}
		own := []string{}
		for _, name := range p.Imports {
			if name, ok := strings.CutPrefix(name, "magpie/"); ok {
				own = append(own, name)
			}
		}
		found[filepath.ToSlash(dir)] = own
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// program lists the imports between all packages of the program.
func program(imports map[string][]string) (arrows []string) {
	todo := []string{"cmd/magpie"}
	for i := 0; i < len(todo); i++ {
		for _, to := range imports[todo[i]] {
			arrows = append(arrows, todo[i]+" --> "+to)
			if !slices.Contains(todo, to) {
				todo = append(todo, to)
			}
		}
	}
	slices.Sort(arrows)
	return arrows
}

// drawn lists the arrows of the page's diagram.
func drawn(text string) (arrows []string) {
	names := map[string]string{}
	for _, m := range box.FindAllStringSubmatch(text, -1) {
		names[m[1]] = m[2]
	}
	for _, m := range arrow.FindAllStringSubmatch(text, -1) {
		for to := range strings.SplitSeq(m[2], " & ") {
			arrows = append(arrows, fmt.Sprintf("%s --> %s", names[m[1]], names[to]))
		}
	}
	slices.Sort(arrows)
	return arrows
}

// thirdPart is the one about the calls of a message.
func thirdPart(text string) string {
	_, text, _ = strings.Cut(text, "\n## 3.")
	text, _, _ = strings.Cut(text, "\n## 4.")
	return text
}

// countHops compares the numbers in the third part with its list of hops and the table of look-ups on the way.
func countHops(t *testing.T, page, text string) {
	t.Helper()
	text = thirdPart(text)
	list, table, _ := strings.Cut(text, "\n|")
	hops, files := calls(list)
	asked, others := calls(table)
	again := 0
	for file := range others {
		if files[file] {
			again++
		}
	}
	var said []string
	if m := totals.FindStringSubmatch(list); m != nil {
		said = m[1:]
	}
	all, everywhere := calls(text)
	want := fmt.Sprint([]int{all, len(everywhere), hops, len(files), asked, len(others) - again, again})
	if got := fmt.Sprint(said); got != want {
		t.Errorf("%s: counted are %s, but it says %s", page, want, got)
	}
}

// calls counts the functions that are named, and collects their files.
func calls(text string) (n int, files map[string]bool) {
	files = map[string]bool{}
	for _, m := range inCode.FindAllStringSubmatch(text, -1) {
		if m[2] != "" {
			n++
			files[m[1]] = true
		}
	}
	return n, files
}

// TestSamplesOfRulesNameAPath fails if a page shows a rule without a path as a sample: it would allow the whole
// machine.
func TestSamplesOfRulesNameAPath(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sample := regexp.MustCompile("allowed_tools = \\[(.*)\\]|(?:such as|例如|如) `(\"[A-Z].*?\")`(?:、|, | or |，|。|;|；|:|：)")
	found := 0
	for _, page := range append(pages, "README.md", "README.zh.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sample.FindAllStringSubmatch(string(data), -1) {
			found++
			for _, rule := range regexp.MustCompile(`"[^"]*"`).FindAllString(m[1]+m[2], -1) {
				c := claude.Config{AllowedTools: []string{strings.Trim(rule, `"`)}}
				if bare := c.BareRules(); len(bare) > 0 {
					t.Errorf("%s: a sample is %s", page, rule)
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d samples were found", found)
	}
}
