package main

import (
	"crypto/sha256"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// playgroundSums says from what the pictures of the tour and the films of the playground were taken: a line for each,
// with a sum of what the playground shows.
var playgroundSums = filepath.Join("..", "..", "docs", "playground", "sums.txt")

// playgroundPictures are the commands that take pictures of the playground, by the names of their sums.
var playgroundPictures = map[string]string{
	"stills": "scripts/pictures playground",
	"films":  "scripts/pictures animations",
}

// putOff is an entry with a date instead of a checksum: the pictures will be taken later, once, after several changes.
// Taking them removes it.
const putOff = "put off"

// comment is a comment of the page's styles and scripts, which nobody sees.
var comment = regexp.MustCompile(`(?m)^\s*//.*\n|/\*[^*]*\*/`)

// playgroundSum is the sum of what the playground shows: its page, the sample project, and the words of the simulated
// model in the tour. How cards look is left to the sums of their pictures.
func playgroundSum(t *testing.T) string {
	t.Helper()
	shown := map[string]string{}
	for _, pattern := range []string{
		"../../internal/console/web/*", "sample/*", "../../internal/modelsim/scenes.go",
	} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			switch filepath.Ext(file) {
			case ".go":
				text = stringLiterals(data)
			case ".css", ".js":
				text = comment.ReplaceAllString(text, "")
			}
			shown[filepath.Base(file)] = text
		}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256([]byte(shown[name])))
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// stringLiterals are the texts in a Go program, one a line.
func stringLiterals(src []byte) string {
	var found strings.Builder
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	for {
		switch _, kind, text := s.Scan(); kind {
		case token.EOF:
			return found.String()
		case token.STRING:
			found.WriteString(text + "\n")
		}
	}
}

// recordPlaygroundSum notes that the pictures of this name were taken from the playground of today.
func recordPlaygroundSum(t *testing.T, name string) {
	t.Helper()
	sums := recordedSums(t, playgroundSums)
	sums[name] = playgroundSum(t)
	if sums["stills"] == sums["films"] {
		delete(sums, putOff)
	}
	recordSums(t, playgroundSums, sums)
}

// The tour's pictures and the films show the playground of today, unless docs/playground/sums.txt puts that off.
func TestThePlaygroundsPicturesAreNotStale(t *testing.T) {
	t.Parallel()
	noted, now := recordedSums(t, playgroundSums), playgroundSum(t)
	for name, command := range playgroundPictures {
		switch {
		case noted[name] == now || *makePictures:
		case noted[putOff] != "":
			t.Logf("the %s are stale, and to be taken later: run %s", name, command)
		default:
			t.Errorf("the %s show another playground than today's: run %s, and look at them", name, command)
		}
	}
}
