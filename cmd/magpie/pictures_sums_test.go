package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// pictureSums is the file that records what the pictures show: a line for each card, with a checksum of everything that
// its pictures depend on.
var pictureSums = filepath.Join("..", "..", "docs", "cards", "sums.txt")

// imported finds the imports of the page's scripts.
var imported = regexp.MustCompile(`from ['"]\./([\w.-]+)['"]`)

// rendererSources are the parts of the playground's page that render a card, with their content: the styles, and the
// script for cards with its imports.
func rendererSources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for todo := []string{"app.css", "card.js"}; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if _, ok := found[name]; ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join("..", "..", "internal", "console", "web", name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(data)
		for _, m := range imported.FindAllStringSubmatch(string(data), -1) {
			todo = append(todo, m[1])
		}
	}
	return found
}

// currentSums are the checksums that pictures taken now would have, by card.
func currentSums(t *testing.T) map[string]string {
	t.Helper()
	var page strings.Builder
	parts := rendererSources(t)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(&page, "%s %x\n", name, sha256.Sum256([]byte(parts[name])))
	}
	for _, width := range slices.Sorted(maps.Keys(widths)) {
		fmt.Fprintf(&page, "%s %+v\n", width, widths[width])
	}
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	client := clientOf(sim)
	person := sim.AddUser("小明")
	room := sim.PrivateChat(person)
	sums := map[string]string{}
	for _, p := range pictures {
		question := chat.Ref{Key: chat.FeishuChat(room), ID: sim.Say(room, person, p.question)}
		id, err := client.Post(t.Context(), question, golden(t, p.card), p.card)
		if err != nil {
			t.Fatal(err)
		}
		message, _, _ := strings.Cut(id, "/")
		card, ok := sim.Message(message)
		if !ok || len(card.Last().Card) == 0 {
			t.Fatalf("%s is not drawn", p.card)
		}
		shown := page.String() + p.question + "\n" + p.unfold + "\n" + string(card.Last().Card)
		sums[p.card] = fmt.Sprintf("%x", sha256.Sum256([]byte(shown)))
		_ = client.Close(t.Context(), id, chat.Card{Body: "."}) // no card may stay in streaming mode
	}
	return sums
}

// recordedSums are the checksums of the existing pictures, from the file beside them.
func recordedSums(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	return sums
}

// recordSums writes the checksums of the pictures to the file beside them, by name.
func recordSums(t *testing.T, file string, sums map[string]string) {
	t.Helper()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", sums[name], name)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The pictures show the cards as they are rendered today.
func TestPicturesAreNotStale(t *testing.T) {
	t.Parallel()
	noted := recordedSums(t, pictureSums)
	for card, sum := range currentSums(t) {
		if noted[card] != sum && !*makePictures {
			t.Errorf("the pictures docs/cards/%s-*.png are outdated: "+
				"run scripts/pictures, and look at them", card)
		}
		delete(noted, card)
	}
	for card := range noted {
		t.Errorf("docs/cards/sums.txt names %s, which has no pictures: run scripts/pictures", card)
	}
}
