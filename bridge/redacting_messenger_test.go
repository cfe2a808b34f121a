package bridge

import (
	"strings"
	"testing"

	"magpie/contextmgr/redact"
)

const canary = "canary-0123456789abcdef"

func TestNothingKeptHasASecret(t *testing.T) {
	t.Parallel()
	cfg := Config{Secrets: redact.NewKnown([]string{canary})}
	got := cfg.redactForHistory("it is " + canary + ", of bob@example.com")
	if got != "it is [REDACTED_SECRET], of bob@example.com" {
		t.Errorf("%q", got)
	}
	cfg.Redact = redact.All()
	if got := cfg.redactForHistory("it is " + canary + ", of bob@example.com"); strings.Contains(got, "canary") ||
		strings.Contains(got, "bob") {
		t.Errorf("%q", got)
	}
}

// What is made of a conversation has none of the program's own secrets either, whoever wrote it down.
func TestNothingMadeOfAChatHasASecret(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Secrets = redact.NewKnown([]string{canary}) })
	w.ask(alice, "what do you know?", "nothing", nil)
	w.storeNotes(alice, "key | it is "+canary+" | "+canary)
	for _, m := range w.memories(alice) {
		if all := m.Title + m.Text + strings.Join(m.Keywords, " "); strings.Contains(all, "canary") ||
			!strings.Contains(all, "REDACTED") {
			t.Errorf("noted %q", all)
		}
	}
	w.order(alice, "/title about "+canary)
	c, err := w.store.Chats().Get(w.ctx, alice.key)
	w.must(err)
	if c.Topic == "" || strings.Contains(c.Topic, "canary") {
		t.Errorf("title %q", c.Topic)
	}
}
