package bridge

import (
	"strings"
	"testing"

	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
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
	if c := w.chat(alice); c.Topic == "" || strings.Contains(c.Topic, "canary") {
		t.Errorf("title %q", c.Topic)
	}
}

// The cards that are stored with a message have none of the program's own secrets, like its reply.
func TestNoStoredCardHasASecret(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.Secrets = redact.NewKnown([]string{canary}) })
	h, card := l.history(), &chat.Card{Body: "it is " + canary}
	clean := func() {
		t.Helper()
		if all, secret := l.unsent(), l.count(`SELECT COUNT(*) FROM outbox
			WHERE content LIKE '%canary%'`); all != 2 || secret != 0 {
			t.Errorf("%d posts, %d with the secret", all, secret)
		}
	}
	for _, e := range []db.Inbound{
		{Incoming: incoming("om_1", "/status"), Class: chat.Command, Card: card},
		{Incoming: incoming("om_2", "late"), Class: chat.Talk, Held: card},
	} {
		if _, err := h.accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	clean()
	l.must(l.store.Turns().Decide(t.Context(), db.Decision{Key: room, Turn: 1, GoOn: true}))
	l.claim(room)
	edited := db.Inbound{Incoming: incoming("om_2", "edited"), Class: chat.Talk, Held: card}
	if _, err := h.edit(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	clean()
}
