package contextmgr_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// store opens a database with a chat of n messages of 200 characters, alternating questions and answers.
func store(tb testing.TB, n int) (*db.DB, chat.Key) {
	tb.Helper()
	path := dbtest.Create(tb)
	d := dbtest.Open(tb, path)
	raw := dbtest.Side(tb, path)
	key := chat.FeishuChat("oc_long")
	for _, stmt := range []string{
		fmt.Sprintf(`INSERT INTO chats (key, kind, next_seq) VALUES ('%s', 'p2p', %d + 1)`, key, n),
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO messages (chat_key, seq, epoch, turn_id, message_id, role, class, content, sent_at)
			SELECT '%s', i, 0, (i + 1) / 2, 'om_' || i, CASE i %% 2 WHEN 1 THEN 'user' ELSE 'assistant' END, 'talk',
				'%s' || i, i FROM n`, n, key, strings.Repeat("字", 200)),
	} {
		if _, err := raw.ExecContext(tb.Context(), stmt); err != nil {
			tb.Fatal(err)
		}
	}
	return d, key
}

func TestBuildLoadsTheNewestMessagesInOrder(t *testing.T) {
	d, key := store(t, 1000)
	m := contextmgr.New(d, contextmgr.Defaults(), zerolog.Nop())
	asked := []chat.Message{{Text: "now"}}
	p := m.Build(t.Context(), contextmgr.Request{Key: key, Kind: chat.Private, Turn: 500, Asked: asked, ResumeID: "s"})
	if p.Stats.Messages != 25 || p.Stats.Chars < 5000 || p.Stats.Chars > 5300 || !p.UseResume || p.Current != "now" {
		t.Errorf("%+v", p.Stats)
	}
	if last := p.History[len(p.History)-1]; !strings.HasSuffix(last.Text, "字998") {
		t.Errorf("the newest is %q; messages of the turn itself must be left out", last.Text[len(last.Text)-10:])
	}
	asked[0].Time = time.UnixMilli(1000).Add(7 * time.Hour)
	late := m.Build(t.Context(), contextmgr.Request{
		Key: key, Kind: chat.Private, Turn: 500, Asked: asked, ResumeID: "s",
	})
	if late.Stats.Messages < 2*25-1 || late.Stats.Messages > 2*25 {
		t.Errorf("after seven hours: %+v", late.Stats)
	}
	asked[0].Time = time.Time{}
	lost := m.Build(t.Context(), contextmgr.Request{Key: key, Kind: chat.Private, Turn: 500, Asked: asked})
	if lost.Stats.Chars < 4*5000 || lost.Stats.Tokens > contextmgr.Defaults().MaxTokens {
		t.Errorf("without a session: %+v", lost.Stats)
	}
}

// If the History cannot be read, the turn runs without it.
func TestBuildGoesOnWithoutTheHistory(t *testing.T) {
	d, key := store(t, 10)
	var logs bytes.Buffer
	m := contextmgr.New(d, contextmgr.Defaults(), zerolog.New(&logs))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for session, left := range map[string]string{"": "neither", "s": "the session only"} {
		logs.Reset()
		p := m.Build(t.Context(), contextmgr.Request{
			Key: key, Kind: chat.Private, Turn: 99, Asked: []chat.Message{{Text: "now"}}, ResumeID: session,
		})
		if p.Text() != "now" || p.Unread == nil {
			t.Errorf("prompt %q, unread %v", p.Text(), p.Unread)
		}
		if !strings.Contains(logs.String(), left) {
			t.Errorf("log %q does not say: %s", logs.String(), left)
		}
	}
}

// No message is missing between what the session holds and the recent part.
func TestThePrefixReachesBackToTheSession(t *testing.T) {
	d, key := store(t, 100) // 50 turns of 400 characters
	m := contextmgr.New(d, contextmgr.Defaults(), zerolog.Nop())
	r := contextmgr.Request{
		Key: key, Kind: chat.Private, Turn: 51, Asked: []chat.Message{{Text: "now"}}, ResumeID: "s",
		Synced: contextmgr.Synced{Verified: true},
	}
	for _, tc := range []struct {
		seen int64
		want int
	}{{49, 25}, {48, 25}, {10, 80}, {0, 25}} {
		r.Seen = tc.seen
		if p := m.Build(t.Context(), r); p.Stats.Messages != tc.want {
			t.Errorf("seen %d: %d messages, want %d", tc.seen, p.Stats.Messages, tc.want)
		}
	}
	economy := contextmgr.Defaults()
	economy.Mode = contextmgr.Economy
	m = contextmgr.New(d, economy, zerolog.Nop())
	for seen, want := range map[int64]int{50: 0, 49: 2, 40: 20} {
		r.Seen = seen
		if p := m.Build(t.Context(), r); p.Stats.Messages != want {
			t.Errorf("economy, seen %d: %d messages, want %d", seen, p.Stats.Messages, want)
		}
	}
}

// Messages that a session has missed leave room for the other parts of the prefix.
func TestMissedMessagesShareTheBudget(t *testing.T) {
	d, key := store(t, 400)
	cfg := contextmgr.Defaults()
	cfg.Mode = contextmgr.Economy
	fact := db.Memory{Key: key, Scope: db.ChatScope, Text: strings.Repeat("记", cfg.Memory.MaxChars-10)}
	if _, err := d.Memories().Learn(t.Context(), fact, db.Change{Who: "ou_1"}); err != nil {
		t.Fatal(err)
	}
	p := contextmgr.New(d, cfg, zerolog.Nop()).Build(t.Context(), contextmgr.Request{
		Key: key, Kind: chat.Private, Turn: 201, Asked: []chat.Message{{Text: "now"}}, ResumeID: "s",
		Synced: contextmgr.Synced{Verified: true, Seen: 1},
	})
	if s := p.Stats; s.Memories != 1 || s.Tokens > cfg.MaxTokens || s.Tokens < cfg.MaxTokens*9/10 {
		t.Errorf("%+v", s)
	}
}

// A model that needs more tokens for the same text gets a shorter prefix.
func TestThePrefixIsMeasuredInTheModelsTokens(t *testing.T) {
	d, key := store(t, 400)
	m := contextmgr.New(d, contextmgr.Defaults(), zerolog.Nop())
	for range 40 {
		m.CalibrateTokens("greedy", 1000, 2000)
		m.CalibrateTokens("frugal", 1000, 800)
	}
	chars := map[string]int{}
	for _, model := range []string{"greedy", "frugal"} {
		p := m.Build(t.Context(), contextmgr.Request{Key: key, Kind: chat.Private, Turn: 201, Model: model,
			Asked: []chat.Message{{Text: "now"}}})
		chars[model] = p.Stats.Chars
		if most := contextmgr.Defaults().MaxTokens; p.Stats.Tokens > most || p.Stats.Tokens < most/2 {
			t.Errorf("%s: %d of %d tokens", model, p.Stats.Tokens, most)
		}
	}
	if chars["frugal"] < 20_000 || chars["greedy"] > 14_000 {
		t.Errorf("characters: %v", chars)
	}
}

// BenchmarkBuild measures building the context of a turn, which must not grow with the History. An operation is 50
// prompts.
func BenchmarkBuild(b *testing.B) {
	sizes := []int{1e3, 1e6}
	if testing.Short() {
		sizes = []int{1e3, 1e4}
	}
	took := map[int]time.Duration{} // the median of all prompts: a busy machine stops some of them
	for _, n := range sizes {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			d, key := store(b, n)
			cfg := contextmgr.Defaults()
			cfg.RecallChars = 0 // BenchmarkRetrieval measures retrieval
			m := contextmgr.New(d, cfg, zerolog.Nop())
			r := contextmgr.Request{
				Key: key, Kind: chat.Private, Turn: 1 << 40, Asked: []chat.Message{{Text: "now"}}, ResumeID: "s",
			}
			var each []time.Duration
			for b.Loop() {
				for range 50 {
					began := time.Now()
					if m.Build(b.Context(), r).Stats.Messages < 20 {
						b.Fatal("too few messages")
					}
					each = append(each, time.Since(began))
				}
			}
			slices.Sort(each)
			took[n] = each[len(each)/2]
			b.ReportMetric(float64(took[n].Microseconds())/1000, "ms/prompt")
		})
	}
	if few, many := took[sizes[0]], took[sizes[1]]; !testing.Short() && many > 5*few {
		b.Errorf("%v with %d messages, %v with %d", few, sizes[0], many, sizes[1])
	}
}
