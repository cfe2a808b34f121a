package stream

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The page about the CLI says of each kind of line what happens with it.
func TestEveryKindOfLineIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/claude-cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "|---|---|\n| `stream_event`")
	table, _, _ = strings.Cut("| `stream_event`"+table, "\n## ")
	var described []string
	for row := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		kinds, _, _ := strings.Cut(cell, ": ") // behind it are subtypes of control requests
		for i, word := range strings.Split(kinds, "`") {
			if i%2 == 1 {
				described = append(described, word)
			}
		}
	}
	for _, kind := range knownLines {
		if !slices.Contains(described, kind) {
			t.Errorf("the page does not say what happens with %s", kind)
		}
	}
	for _, kind := range described {
		if !slices.Contains(knownLines, kind) {
			t.Errorf("the page describes %s, which is unknown", kind)
		}
	}
}
