package db_test

import (
	"context"
	"fmt"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/pgtest"
)

// What happens most often takes few round trips to the server: each delays it by as much as the network does, while the chat
// is locked.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, pgtest.Start(t, pgtest.Config{}))
	d, err := db.Open(t.Context(), db.Config{URL: proxy.URL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx := context.WithoutCancel(t.Context())
	var turn db.Turn
	var post db.Post
	least := map[string]int64{}
	for round := range 6 { // the statements are prepared in the first, and on each new connection
		for _, s := range []struct {
			what string
			most int64
			do   func() error
		}{
			{"accept and claim a message of an idle chat", 8, func() error {
				in := say(fmt.Sprintf("om_%d", round), "hi")
				in.Start = new(startIn("s"))
				a, err := d.Messages().Accept(ctx, in)
				if err == nil {
					turn = a.Claim.Turn
				}
				return err
			}},
			{"set a draft", 1, func() error { return d.Turns().SetDraft(ctx, turn.ID, "dra") }},
			{"finish a turn", 9, func() error {
				return d.Turns().Finish(ctx, db.TurnResult{Turn: turn, Answer: "a", Card: chat.Card{Body: "a"},
					Session: db.Session{ID: "s"}, Usage: &db.Usage{Model: "m", Input: 1, CostUSD: 1}, State: convo.Done})
			}},
			{"find the next post", 1, func() (err error) { post, err = d.Outbox().Next(ctx, oc); return err }},
			{"mark it as delivered", 2, func() error { return d.Outbox().MarkDelivered(ctx, post, fmt.Sprintf("om_a%d", round)) }},
		} {
			before := proxy.Trips()
			if err := s.do(); err != nil {
				t.Fatalf("%s: %v", s.what, err)
			}
			n := proxy.Trips() - before
			if round > 0 {
				n = min(n, least[s.what])
			}
			if least[s.what] = n; round == 5 {
				t.Logf("%2d to %s", n, s.what)
				if n > s.most {
					t.Errorf("%d to %s, more than %d", n, s.what, s.most)
				}
			}
		}
	}
}

// What is committed is on the disk when the program learns of it, but for drafts, which are many. The connection that has
// stored one waits for the disk again.
func TestOnlyDraftsDoNotWaitForTheDisk(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "q"))
	turn := claim(t, d, "s").Turn
	side := dbtest.Side(t, path)
	note := dbtest.Trigger{Name: "note", On: "BEFORE UPDATE ON turns", Does: "INSERT INTO waits VALUES (current_setting('synchronous_commit'))"}
	for _, statement := range []string{`CREATE TABLE waits (how TEXT)`, note.Create()} {
		if _, err := side.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := d.Turns().SetDraft(t.Context(), turn.ID, "a"); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, d, db.TurnResult{Turn: turn, Answer: "a"})
	var drafts, others string
	err := side.QueryRow(`SELECT string_agg(how, ' ') FILTER (WHERE n <= 3), string_agg(DISTINCT how, ' ') FILTER (WHERE n > 3)
		FROM (SELECT how, row_number() OVER () AS n FROM waits) AS list`).Scan(&drafts, &others)
	if err != nil || drafts != "off off off" || others != "on" {
		t.Errorf("drafts %s, others %s, %v", drafts, others, err)
	}
}
