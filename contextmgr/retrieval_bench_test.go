package contextmgr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// BenchmarkRetrieval measures what retrieval adds to building a prompt, in chats of a thousand to a million messages.
// The messages are recombined sentences of the test conversations, the questions belong to these. An operation is 50
// prompts.
func BenchmarkRetrieval(b *testing.B) {
	all := trials(b)
	var sentences []string
	var questions []evalQuestion
	for _, t := range all {
		for _, m := range t.msgs {
			sentences = append(sentences, m.Text)
		}
		questions = append(questions, t.questions...)
	}
	sizes := []int{1e3, 1e4, 1e5, 1e6}
	if testing.Short() {
		sizes = sizes[:2]
	}
	medians := map[int]time.Duration{} // with retrieval, by size
	for _, n := range sizes {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			path := dbtest.Create(b)
			d := dbtest.Open(b, path)
			key := chat.FeishuChat("oc_long")
			text := grow(b, d, key, sentences, n)
			m := New(d, Defaults(), zerolog.Nop())
			for _, way := range []string{"without", "with"} {
				b.Run(way, func(b *testing.B) {
					m.cfg.RecallChars = 0
					if way == "with" {
						m.cfg.RecallChars = 5000
					}
					var took []time.Duration
					for b.Loop() {
						for range 50 {
							q := questions[len(took)%len(questions)]
							start := time.Now()
							m.Build(b.Context(), Request{
								Key: key, Turn: 1 << 40, ResumeID: "s", Asked: []chat.Message{
									{Text: q.Question, Time: time.Now()},
								},
							})
							took = append(took, time.Since(start))
						}
					}
					slices.Sort(took)
					medians[n] = took[len(took)/2] // the run with retrieval is the last one
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
				})
			}
			size := indexSize(b, path)
			b.Run("index", func(b *testing.B) { b.ReportMetric(float64(size)/float64(text), "bytes/byte") })
		})
	}
	if few, many := medians[sizes[0]], medians[sizes[len(sizes)-1]]; !testing.Short() && few > 0 && many > 8*few {
		b.Errorf("%v with %d messages, %v with %d", few, sizes[0], many, sizes[len(sizes)-1])
	}
}

// indexSize is the size of the index in bytes.
func indexSize(b *testing.B, path string) (bytes int64) {
	b.Helper()
	query := `SELECT COALESCE((SELECT SUM(LENGTH(block)) FROM terms_data), 0)
		+ COALESCE((SELECT SUM(LENGTH(sz) + 8) FROM terms_docsize), 0)
		+ COALESCE((SELECT SUM(LENGTH(term) + 8) FROM terms_idx), 0)`
	if dbtest.OnPostgres() {
		query = `SELECT pg_total_relation_size('postings')`
	}
	if err := dbtest.Side(b, path).QueryRowContext(b.Context(), query).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	return bytes
}

// grow stores n messages and returns the size of their texts in bytes.
func grow(b *testing.B, d *db.DB, key chat.Key, sentences []string, n int) (bytes int) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	began := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	im := d.Messages().Importer()
	for i := 0; i < n; {
		var list []db.Record
		for ; len(list) < 2000 && i < n; i++ {
			text := half(sentences[r.IntN(len(sentences))], 0) + half(sentences[r.IntN(len(sentences))], 1)
			bytes += len(text)
			list = append(list, db.Record{Message: chat.Message{
				Key: key, ID: fmt.Sprintf("om_%d", i), Role: []chat.Role{chat.User, chat.Assistant}[i%2],
				Class: chat.Talk, Text: text,
				Actor: chat.Actor{Name: []string{"小明", ""}[i%2]}, Time: began.Add(time.Duration(i) * time.Minute),
			}})
		}
		if _, err := im(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Search().Merge(b.Context()); err != nil { // as happens every morning
		b.Fatal(err)
	}
	return bytes
}

// half is the first or the second half of a text.
func half(text string, which int) string {
	middle := len(text) / 2
	for middle < len(text) && !utf8.RuneStart(text[middle]) {
		middle++
	}
	if space := strings.IndexByte(text[middle:], ' '); space >= 0 && space < 20 {
		middle += space
	}
	return []string{text[:middle], text[middle:]}[which]
}
