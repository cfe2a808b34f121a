package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/racetest"
	"magpie/internal/tokenize"
)

// Find returns exactly what a scan of all messages returns: in this chat and this epoch, class talk and overheard.
func TestFindIsExact(t *testing.T) {
	racetest.Skip(t)
	words := []string{"bridge", "鹊桥", "builds", "部署", "parseHTTPRequest", "Ben", "上海"}
	d := fresh(t)
	model := map[chat.Key][]chat.Message{}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 60).Draw(t, "messages") {
			n++
			key := chat.FeishuChat(rapid.SampledFrom([]string{"oc_1", "oc_2", "oc_3"}).Draw(t, "chat"))
			e := say(fmt.Sprintf("om_%d", n),
				strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "words"), " "))
			e.Key, e.Class = key, rapid.SampledFrom([]chat.Class{chat.Talk, chat.Talk, chat.Overheard, chat.Command}).Draw(t,
				"class")
			e.Actor.Name = rapid.SampledFrom([]string{"", "Ben", "何佳"}).Draw(t, "name")
			starts := rapid.IntRange(0, 30).Draw(t, "new") == 0
			if starts {
				e.Effects = []db.Effect{db.StartConversation{}}
			}
			if _, err := d.Messages().Accept(context.Background(), e); err != nil {
				t.Fatal(err)
			}
			m := chat.Message{Text: e.Text, Class: e.Class, Actor: e.Actor, Time: e.Time, Seq: int64(len(model[key]) + 1)}
			model[key] = append(model[key], m)
			if starts {
				for i := range model[key] {
					if e.Class != chat.Talk || i < len(model[key])-1 { // talk must stay the first of the new epoch
						model[key][i].Class = chat.Command // no longer found
					}
				}
			}
		}
		for key, msgs := range model {
			c, err := d.Chats().Get(context.Background(), key)
			if err != nil {
				t.Fatal(err)
			}
			terms := []string{"build", "鹊桥", "pars", "署", "nothing", tokenize.Day(time.UnixMilli(5)), `"`, "*"}
			got, err := d.Search().Find(context.Background(), key, c.Epoch, terms, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			talks := slices.ContainsFunc(msgs, func(m chat.Message) bool { return m.Class == chat.Talk })
			for i, term := range terms {
				var want []int64
				for _, m := range slices.Backward(msgs) {
					if talks && m.Class != chat.Command && slices.Contains(db.IndexTerms(m), term) &&
						m.Seq >= firstTalk(msgs) {
						want = append(want, m.Seq)
					}
				}
				var seqs []int64
				if talks {
					seqs = got.Terms[i].Seqs
				}
				if !slices.Equal(seqs, want) {
					t.Fatalf("%v %q: found %v, want %v", key, term, seqs, want)
				}
			}
		}
	})
}

// firstTalk is where the conversation begins: earlier overheard messages are not part of it.
func firstTalk(msgs []chat.Message) int64 {
	for _, m := range msgs {
		if m.Class == chat.Talk {
			return m.Seq
		}
	}
	return 0
}

func TestFindTakesTheNewest(t *testing.T) {
	dbtest.OfSQLite(t)
	d := fresh(t)
	release := d.HoldIndex(t) // index everything in one step
	const fresh = 70
	for i := range 500 + fresh {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
		if i == 499 {
			release()
			d.FillIndex(t)
		}
	}
	if err := d.Search().Err(); err != nil {
		t.Error(err)
	}
	got, err := d.Search().Find(t.Context(), oc, 0, []string{"build", "missing"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	want := db.Found{Messages: 500 + fresh, Terms: []db.Postings{{Term: "build", More: true}, {Term: "missing"}}}
	for i := int64(500 + fresh); len(want.Terms[0].Seqs) < 5+fresh; i-- {
		want.Terms[0].Seqs = append(want.Terms[0].Seqs, i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A word that yields no term is in no message, and does not prevent other words from being found.
func TestFindWithoutTerms(t *testing.T) {
	d := fresh(t)
	for i := range db.IndexBatch {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
	}
	d.FillIndex(t)
	for _, odd := range []string{"§-0974", "build again", "build-", `bu"ild`, "", "\x00", "a\x00b", "*", "\xff",
		"build OR again"} {
		got, err := d.Search().Find(t.Context(), oc, 0, []string{odd, "build"}, 500)
		if err != nil {
			t.Errorf("%q: %v", odd, err)
		} else if len(got.Terms[0].Seqs) != 0 || len(got.Terms[1].Seqs) != db.IndexBatch {
			t.Errorf("%q: found %d, and %d of %d with another word", odd, len(got.Terms[0].Seqs), len(got.Terms[1].Seqs),
				db.IndexBatch)
		}
	}
}

// The weight of a word depends on the number of messages, not on their seqs.
func TestFindCountsMessagesNotTheGapsBetweenThem(t *testing.T) {
	d := fresh(t)
	imported(t, d, record("new1", chat.User, 1_000_000), record("new2", chat.User, 1_000_001))
	imported(t, d, record("old1", chat.User, 1_000), record("old2", chat.User, 1_001), record("old3", chat.User, 1_002))
	imported(t, d, record("oldest", chat.User, 1))
	found, err := d.Search().Find(t.Context(), oc, 0, []string{"text"}, 500)
	if err != nil || found.Messages != 6 {
		t.Errorf("%d messages, %v; there are 6", found.Messages, err)
	}
}

// A database of an older version, or an index with other terms, is completed when it is opened.
func TestOpenCompletesTheIndex(t *testing.T) {
	dbtest.OfSQLite(t)
	const stored = 2 * db.IndexBatch
	whole, killed := dbtest.Create(t), filepath.Join(t.TempDir(), "killed.db")
	d := open(t, whole)
	release := d.HoldIndex(t)
	for i := range stored {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
	}
	if err := d.Backup(t.Context(), killed); err != nil {
		t.Fatal(err)
	}
	release()
	d.FillIndex(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ from, damage string }{
		"never indexed": {whole, `INSERT INTO terms (terms) VALUES ('delete-all'); UPDATE indexed SET upto = 0`},
		"half indexed": {whole, `DELETE FROM terms WHERE rowid % 4294967296 > 2147483648 + 30;
			UPDATE indexed SET upto = 30`},
		"other terms": {whole, `UPDATE indexed SET version = 0`},
		"lags behind": {killed, ``}, // killed before anything was indexed
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "magpie.db")
			content, err := os.ReadFile(tc.from)
			if err == nil {
				err = os.WriteFile(path, content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.damage != "" {
				d := open(t, path)
				raw(t, d, tc.damage)
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
			d := open(t, path)
			got, err := d.Search().Find(t.Context(), oc, 0, []string{"build"}, 1000)
			if err != nil || len(got.Terms[0].Seqs) != stored {
				t.Errorf("%d of %d found, %v", len(got.Terms[0].Seqs), stored, err)
			}
			if n := waiting(t, d); n > 0 {
				t.Errorf("%d messages wait", n)
			}
			if err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Damage in the index only does not affect the messages.
func TestADamagedIndexIsRebuilt(t *testing.T) {
	dbtest.OfSQLite(t)
	path := dbtest.Create(t)
	d := open(t, path)
	for i := range 300 {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
	}
	d.FillIndex(t)
	before := schemaOfTerms(t, d)
	raw(t, d, `DELETE FROM terms_data WHERE id > 10`)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := d.Search().Find(t.Context(), oc, 0, []string{"build"}, 1000)
	if err != nil || len(got.Terms[0].Seqs) != 300 {
		t.Errorf("%d of 300 found, %v", len(got.Terms[0].Seqs), err)
	}
	if after := schemaOfTerms(t, d); after != before {
		t.Errorf("rebuilt as %s, was %s", after, before)
	}
}

func schemaOfTerms(t *testing.T, d *db.DB) (s string) {
	t.Helper()
	rows, err := d.Read(`SELECT sql FROM sqlite_master WHERE name = 'terms'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	for rows.Next() {
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// The index is only an aid: an error in it must not prevent messages from being stored.
func TestABrokenIndexDoesNotRefuseMessages(t *testing.T) {
	dbtest.OfSQLite(t)
	d := fresh(t)
	raw(t, d, `DROP TABLE terms`)
	for i := range 4 * db.IndexBatch { // enough for the writer to try, too
		accept(t, d, say(fmt.Sprintf("om_%d", i), "hello"))
	}
	d.FillIndex(t)
	if got := len(strings.Fields(history(t, d, 0, 2000))); got != 4*db.IndexBatch {
		t.Errorf("%d messages stored", got)
	}
	if err := d.Search().Err(); err == nil || !strings.Contains(err.Error(), "terms") {
		t.Errorf("the reason of the failure: %v", err)
	}
}

func raw(t testing.TB, d *db.DB, statements string) {
	t.Helper()
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statements)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// maxOverhead is by how much indexing may slow down 64 writers, in percent, with a third added for noise.
const maxOverhead = 15 * 1.3

// BenchmarkAcceptAndIndex measures what indexing adds to an accept, until everything is indexed. An operation is
// [acceptedAtOnce] messages into a database without an index, and as many into one with it.
func BenchmarkAcceptAndIndex(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			without, with := open(b, filepath.Join(b.TempDir(), "a.db")), open(b, filepath.Join(b.TempDir(), "b.db"))
			raw(b, without, `UPDATE indexed SET upto = 1 << 60`) // nothing to index
			var plain, indexed []time.Duration
			accept := func(d *db.DB) time.Duration {
				start := time.Now()
				acceptMany(b, d, writers, acceptedAtOnce, manyWords)
				d.FillIndex(b)
				return time.Since(start)
			}
			for b.Loop() {
				if len(plain)%2 == 0 { // alternate which one comes first
					plain, indexed = append(plain, accept(without)), append(indexed, accept(with))
				} else {
					indexed, plain = append(indexed, accept(with)), append(plain, accept(without))
				}
			}
			var ratios []float64
			for i := range plain {
				ratios = append(ratios, float64(indexed[i])/float64(plain[i]))
			}
			slices.Sort(ratios)
			slices.Sort(indexed)
			overhead := 100 * (ratios[len(ratios)/2] - 1)
			b.ReportMetric(overhead, "overhead-%")
			b.ReportMetric(acceptedAtOnce/indexed[len(indexed)/2].Seconds(), "accepts/s")
			if writers > 1 && len(ratios) >= 20 && overhead > maxOverhead {
				b.Errorf("the index adds %.1f %% to %d writers, want at most %.1f %%", overhead, writers, maxOverhead)
			}
		})
	}
}

// manyWords is a message of 24 words, some of which are common to many messages.
func manyWords(n int64) string {
	r := rand.New(rand.NewPCG(uint64(n), 0))
	var s strings.Builder
	for range 24 {
		fmt.Fprintf(&s, "word%d ", int(math.Exp(r.Float64()*9)))
	}
	return s.String()
}
