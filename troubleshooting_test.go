package magpie_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// quotedMessage is a message of the program that starts an entry of a page.
	quotedMessage = regexp.MustCompile(`\*\*["“]([^"”]+)["”]\*\*`)
	// quotedLine is the first cell of a table that consists of one line of output.
	quotedLine = regexp.MustCompile("(?m)^\\| (?:[^`|]+[:：])?`([^`]+)` \\|")
	// joined is the end of a string literal that is continued on the next line.
	joined = regexp.MustCompile(`" \+\s*"`)
)

// The messages that the troubleshooting pages quote are those of the program, so that a search finds them.
func TestQuotedMessagesAreThere(t *testing.T) {
	var code strings.Builder
	for _, dir := range []string{"bridge", "cmd", "contextmgr", "db", "feishu", "internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			code.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	said := strings.ReplaceAll(joined.ReplaceAllString(code.String(), ""), `\"`, `"`)
	for _, page := range []string{"docs/troubleshooting.md", "docs/troubleshooting.zh.md"} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, m := range append(quotedMessage.FindAllStringSubmatch(string(data), -1),
			quotedLine.FindAllStringSubmatch(string(data), -1)...) {
			if strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "magpie ") ||
				strings.HasPrefix(m[1], "journalctl") {
				continue // typed by the reader
			}
			n++
			for _, part := range regexp.MustCompile(`…|: |：|5 min|5 分钟`).Split(m[1], -1) {
				if part = strings.Trim(part, " 。."); len(part) > 5 && !strings.Contains(said, part) {
					t.Errorf("%s quotes %q: the program does not say %q", page, m[1], part)
				}
			}
		}
		if n < 20 {
			t.Errorf("%s: %d quotes only", page, n)
		}
	}
}
