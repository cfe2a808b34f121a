package db_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/pgtest"
)

// unsure repeats a write until it succeeds, whose first commit takes effect although the program is told otherwise.
func unsure(t *testing.T, p *pgtest.Proxy, write func() error) (again error) {
	t.Helper()
	p.LoseCommits(1)
	if err := write(); !errors.Is(err, engine.ErrAway) {
		t.Fatalf("the commit was lost: %v", err)
	}
	for range 10 {
		if again = write(); !errors.Is(again, engine.ErrAway) {
			break
		}
	}
	return again
}

// What is repeated because its commit may have been lost happens once.
func TestALostCommit(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	proxy := pgtest.NewProxy(t, server)
	d, err := db.Open(t.Context(), db.Config{URL: proxy.URL("postgres"), Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.WithoutCancel(t.Context())
	side, err := sql.Open("pgx", server.URL("postgres"))
	must(err)
	defer side.Close() //nolint:errcheck // nothing is left to do
	count := func(want int, what, query string) {
		t.Helper()
		var n int
		if err := side.QueryRow(query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", what, n, err, want)
		}
	}

	question := say("om_1", "q")
	must(unsure(t, proxy, func() error { _, err := d.Messages().Accept(ctx, question); return err }))
	count(1, "questions", `SELECT COUNT(*) FROM messages`)
	count(1, "turns", `SELECT COUNT(*) FROM turns`)

	var c db.Claim
	start := startIn("s")
	must(unsure(t, proxy, func() (err error) {
		c, err = d.Turns().Claim(ctx, oc, start)
		start.Again = true
		return err
	}))
	if texts(c.Asked) != "u:q" || c.Turn.Session != "s" || c.Resume {
		t.Errorf("claimed %+v", c)
	}
	count(1, "attempts", `SELECT attempts FROM turns`)

	actions := []db.RecordedAction{
		{Action: db.Action{Use: "1", Tool: "Bash", Input: "ls"}, Key: oc, Turn: c.Turn.ID, Time: time.Now()},
		{Action: db.Action{Use: "1", Tool: "Bash", Output: "a", Ended: true}, Key: oc, Turn: c.Turn.ID, Time: time.Now()},
	}
	must(unsure(t, proxy, func() error { return d.Messages().RecordActions(ctx, actions) }))
	count(2, "actions", `SELECT COUNT(*) FROM messages WHERE role = 'tool'`)
	must(unsure(t, proxy, func() error { return d.Turns().SetDraft(ctx, c.Turn.ID, "dra") }))
	must(unsure(t, proxy, func() error {
		_, err := d.Turns().Happens(ctx, oc, convo.Acts{Turn: c.Turn.ID, Acted: true})
		return err
	}))

	result := db.TurnResult{
		Turn: c.Turn, State: convo.Done, Answer: "a", Actions: actions, Card: chat.Card{Body: "a"},
		Usage: &db.Usage{Model: "m", Input: 1, CostUSD: 1},
	}
	if err := unsure(t, proxy, func() error { return d.Turns().Finish(ctx, result) }); !db.Permanent(err) {
		t.Errorf("the turn is over: %v", err)
	}
	count(1, "answers", `SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND class = 'talk'`)
	count(1, "posts", `SELECT COUNT(*) FROM outbox`)
	if got := history(t, d, 0, 99); got != "a:a u:q" {
		t.Errorf("history = %q", got)
	}

	post, err := d.Outbox().Next(ctx, oc)
	must(err)
	must(unsure(t, proxy, func() error { return d.Outbox().MarkDelivered(ctx, post, "om_a") }))
	count(0, "posts", `SELECT COUNT(*) FROM outbox`)

	note := db.Post{Key: oc, Idem: "note", Text: "n"}
	must(unsure(t, proxy, func() error { return d.Outbox().Enqueue(ctx, note) }))
	count(1, "posts", `SELECT COUNT(*) FROM outbox`)
	if post, err = d.Outbox().Next(ctx, oc); err != nil {
		t.Fatal(err)
	}
	must(unsure(t, proxy, func() error { return d.Outbox().MarkDelivered(ctx, post, "om_n") }))
	count(1, "messages of the bot's own", `SELECT COUNT(*) FROM messages WHERE message_id = 'om_n'`)
}
