package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/console/consoletest"
)

// maxStill is the largest size of a picture of the tour, in bytes.
const maxStill = 120 << 10

func stillFile(name string) string {
	return filepath.Join("..", "..", "docs", "playground", name+".png")
}

// still takes a picture of the page for the documentation, with -pictures and in English.
func (v visitor) still(name string) {
	v.t.Helper()
	if !*makePictures || !strings.HasPrefix(v.language, "en") {
		return
	}
	// The path of the test's folder must not appear in a picture.
	v.Eval(`(texts => { while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\/tmp\/\S+/g, '/home/ming/tickets') })(
		document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT))`)
	m, err := png.Decode(bytes.NewReader(v.Picture("body")))
	if err != nil {
		v.t.Fatal(err)
	}
	data, err := consoletest.Animate([]consoletest.Frame{{Picture: m}}) // for its palette
	if err == nil {
		err = os.WriteFile(stillFile(name), data, 0o600)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// recordStills notes what the pictures show that were taken.
func (v visitor) recordStills() {
	v.t.Helper()
	if *makePictures && strings.HasPrefix(v.language, "en") && !v.t.Failed() {
		recordPlaygroundSum(v.t, "stills")
	}
}

// There is a picture of each step of the tour on each screen. They are small, and both pages about the playground show
// them.
func TestStillsOfTheTour(t *testing.T) {
	for step := 1; step <= 6; step++ {
		for _, s := range screens {
			name := fmt.Sprintf("step-%d-%s-%s", step, s.name, s.theme)
			data, err := os.ReadFile(stillFile(name))
			if err != nil {
				t.Error(err)
				continue
			}
			if head, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || int64(head.Width) != s.width ||
				len(data) > maxStill {
				t.Errorf("%s: %d x %d in %d bytes, %v", name, head.Width, head.Height, len(data), err)
			}
			for _, page := range []string{"playground.md", "playground.zh.md"} {
				text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
				if err != nil || !bytes.Contains(text, []byte("(playground/"+name+".png)")) {
					t.Errorf("%s does not show %s: %v", page, name, err)
				}
			}
		}
	}
}
