package magpie_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	measuredRow = regexp.MustCompile(`(?m)^\| .+\|$`)
	number      = regexp.MustCompile(`\d[\d,.]*\d|\d`)
)

// The page about the scale only claims what was measured: all numbers of its first table are on the page with the
// figures. Both READMEs link to it.
func TestTheScalePageSaysWhatWasMeasured(t *testing.T) {
	for _, zh := range []string{"", ".zh"} {
		read := func(name string) string {
			data, err := os.ReadFile(name + zh + ".md")
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		page, figures := read("docs/scale"), read("docs/figures")
		first := strings.Split(page, "\n## ")[1]
		n := 0
		for _, row := range measuredRow.FindAllString(first, -1) {
			for _, value := range number.FindAllString(row, -1) {
				n++
				if !regexp.MustCompile(`(?:^|[^\d.,])` + regexp.QuoteMeta(value) + `(?:$|[^\d])`).MatchString(figures) {
					t.Errorf("docs/scale%s.md: %s was not measured: %s", zh, value, row)
				}
			}
		}
		if n < 15 {
			t.Errorf("docs/scale%s.md has %d measured numbers", zh, n)
		}
		if !strings.Contains(read("README"), "](docs/scale"+zh+".md)") {
			t.Errorf("README%s.md does not lead to docs/scale%s.md", zh, zh)
		}
	}
}
