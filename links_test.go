package magpie_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	anyLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// anchor is the anchor of a heading, as GitHub makes it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// pages are the pages for people, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(name)] = string(data)
		}
	}
	return found
}

// Every link leads to an existing file, and to an existing heading in it. Chinese pages link to Chinese pages.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range anyLink.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			twin := strings.TrimSuffix(target, ".md") + ".zh.md"
			if _, both := all[twin]; both && strings.HasSuffix(name, ".zh.md") && twin != name {
				t.Errorf("%s links to %s and not to %s", name, target, twin)
			}
			if fragment == "" {
				continue
			}
			there := false
			for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(all[target], ""), -1) {
				there = there || anchor(h[1]) == strings.ToLower(fragment)
			}
			if !there {
				t.Errorf("%s: %s has no heading %s", name, target, fragment)
			}
		}
	}
}

// Every page for users exists in both languages, one file each, which link to each other.
func TestPagesAreThereInBothLanguages(t *testing.T) {
	forContributors := map[string]bool{"docs/claude-cli.md": true, "docs/texts-all.md": true}
	all := pages(t)
	for name, text := range all {
		base, chinese := strings.CutSuffix(name, ".zh.md")
		twin := base + ".md"
		if !chinese {
			twin = strings.TrimSuffix(name, ".md") + ".zh.md"
		}
		if forContributors[name] {
			continue
		}
		if _, ok := all[twin]; !ok {
			t.Errorf("there is no %s beside %s", twin, name)
		} else if !strings.Contains(text, "]("+path.Base(twin)+")") {
			t.Errorf("%s does not link to %s", name, twin)
		}
	}
}

// changelogPart is a heading of a list of changes, or the start of an entry.
var changelogPart = regexp.MustCompile(`(?m)^(?:#+ |- \*\(\w+\)\*)`)

// Both lists of changes have the same entries, in the same order.
func TestTheListsOfChangesAgree(t *testing.T) {
	all := pages(t)
	english := changelogPart.FindAllString(all["CHANGELOG.md"], -1)
	chinese := changelogPart.FindAllString(all["CHANGELOG.zh.md"], -1)
	for i := range max(len(english), len(chinese)) {
		if i >= len(english) || i >= len(chinese) || english[i] != chinese[i] {
			t.Fatalf("CHANGELOG.md has %d headings and entries, CHANGELOG.zh.md %d; number %d differs: write it in both",
				len(english), len(chinese), i+1)
		}
	}
}

// The READMEs are short: everything else has its own page.
func TestTheREADMEsAreShort(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh.md"} {
		if n := strings.Count(pages(t)[name], "\n"); n > 130 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

// A newcomer's first command needs what the READMEs say.
func TestTheREADMEsSayWhatARunNeeds(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	of := func(name, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(name))
		if m == nil {
			t.Fatalf("%s has nothing like %s", name, pattern)
		}
		return m[1]
	}
	version := "Go " + of("go.mod", `(?m)^go (\d+\.\d+)`)
	size := of("scripts/common.sh", `up to (\d+ MB) on disk`)
	for _, name := range []string{"README.md", "README.zh.md"} {
		text := read(name)
		for _, want := range []string{version, "npm", size, "GOPROXY", "npm config set registry"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say that ./scripts/run needs %s", name, want)
			}
		}
	}
	if page := read("scripts/common.sh"); !strings.Contains(page, "install "+version+" or newer") {
		t.Errorf("scripts/common.sh does not ask for %s", version)
	}
}
