package contextmgr

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/racetest"
	"magpie/internal/tokenize"
)

// evalChat is a long conversation with questions about it, with which retrieval is evaluated.
type evalChat struct {
	name      string
	key       chat.Key
	kind      chat.Kind
	msgs      []chat.Message
	questions []evalQuestion
	further   []evalQuestion // in other words than the messages; not used to tune the ranking
	unseen    []evalQuestion // likewise; written without a look at the lists of synonyms, and not used to choose any
}

// evalQuestion is a later question, and the messages that are needed to answer it.
type evalQuestion struct {
	Kind     string    `json:"kind"`
	Question string    `json:"question"`
	AskedAt  time.Time `json:"asked_at"`
	Evidence []string  `json:"evidence"`
}

func readLines[T any](tb testing.TB, path string) (list []T) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		list = append(list, v)
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// trials are the conversations in testdata/recall.
func trials(tb testing.TB) []evalChat {
	tb.Helper()
	paths, err := filepath.Glob("testdata/recall/*.questions.jsonl")
	if err != nil || len(paths) < 6 {
		tb.Fatalf("%d conversations, %v", len(paths), err)
	}
	var list []evalChat
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".questions.jsonl")
		t := evalChat{name: name, key: chat.FeishuChat("oc_" + name), questions: readLines[evalQuestion](tb, path)}
		if further := "testdata/recall/further/" + name + ".questions.jsonl"; exists(further) {
			t.further = readLines[evalQuestion](tb, further)
		}
		if unseen := "testdata/recall/unseen/" + name + ".questions.jsonl"; exists(unseen) {
			t.unseen = readLines[evalQuestion](tb, unseen)
		}
		for _, r := range readLines[struct {
			ChatKind  chat.Kind `json:"chat_kind"`
			UserID    string    `json:"user_id"`
			UserName  string    `json:"user_name"`
			MessageID string    `json:"message_id"`
			TS        time.Time `json:"ts"`
			Role      chat.Role `json:"role"`
			Content   string    `json:"content"`
		}](tb, "testdata/recall/"+name+".jsonl") {
			t.kind = r.ChatKind
			t.msgs = append(t.msgs, chat.Message{
				Key: t.key, ID: r.MessageID, Role: r.Role, Class: chat.Talk,
				Actor: chat.Actor{ID: r.UserID, Name: r.UserName}, Text: r.Content, Time: r.TS,
			})
		}
		list = append(list, t)
	}
	return list
}

// storeChats stores conversations.
func storeChats(tb testing.TB, list ...evalChat) *db.DB {
	tb.Helper()
	d := dbtest.New(tb)
	for _, t := range list {
		var records []db.Record
		for _, m := range t.msgs {
			records = append(records, db.Record{Message: m, Kind: t.kind})
		}
		if n, err := d.Messages().Importer()(tb.Context(), records); err != nil || n != len(t.msgs) {
			tb.Fatalf("%d of %d messages of %s stored, %v", n, len(t.msgs), t.name, err)
		}
	}
	return d
}

// A retriever returns the messages of a conversation that it finds for a question, within a number of characters. A
// question is searched for once, whatever the number.
type retriever func(t evalChat, q evalQuestion) func(chars int) []chat.Message

// tail returns the most recent messages.
func tail(t evalChat, q evalQuestion) func(chars int) []chat.Message {
	return func(chars int) (list []chat.Message) {
		for _, m := range slices.Backward(t.msgs) {
			if m.Time.After(q.AskedAt) {
				continue
			}
			if chars -= utf8.RuneCountInString(m.Text); chars < 0 {
				break
			}
			list = append(list, m)
		}
		return list
	}
}

// plain is BM25 over single messages.
func plain() retriever {
	type doc struct {
		chat.Message
		tf    map[string]float64
		long  float64
		score float64
	}
	read := map[string][]doc{}
	return func(t evalChat, q evalQuestion) func(chars int) []chat.Message {
		if read[t.name] == nil {
			for _, m := range t.msgs {
				d := doc{Message: m, tf: map[string]float64{}}
				for _, term := range tokenize.Terms(m.Text) {
					d.tf[term]++
					d.long++
				}
				read[t.name] = append(read[t.name], d)
			}
		}
		docs := slices.DeleteFunc(slices.Clone(read[t.name]), func(d doc) bool { return d.Time.After(q.AskedAt) })
		var sum float64
		for _, d := range docs {
			sum += d.long
		}
		for term := range countOf(tokenize.Terms(q.Question)) {
			df := 0.0
			for _, d := range docs {
				df += min(d.tf[term], 1)
			}
			idf := math.Log(1 + (float64(len(docs))-df+0.5)/(df+0.5))
			for i := range docs {
				d := &docs[i]
				d.score += idf * d.tf[term] * 2.2 / (d.tf[term] + 1.2*(0.25+0.75*d.long/(sum/float64(len(docs)))))
			}
		}
		slices.SortStableFunc(docs, func(a, b doc) int { return cmp.Compare(b.score, a.score) })
		return func(chars int) (list []chat.Message) {
			for _, d := range docs {
				if n := utf8.RuneCountInString(d.Text); d.score > 0 && n <= chars {
					chars -= n
					list = append(list, d.Message)
				}
			}
			return list
		}
	}
}

func countOf(terms []string) map[string]int {
	n := map[string]int{}
	for _, t := range terms {
		n[t]++
	}
	return n
}

// ours is the code under test.
func ours(tb testing.TB, d *db.DB) retriever {
	cfg := Defaults()
	cfg.TimeZone = "Asia/Shanghai" // that of the conversations
	m := New(d, cfg, zerolog.Nop())
	return func(t evalChat, q evalQuestion) func(chars int) []chat.Message {
		search := m.startSearch(context.Background(),
			Request{Key: t.key, Kind: t.kind, Asked: []chat.Message{{Text: q.Question, Time: q.AskedAt}}})
		return func(chars int) []chat.Message {
			list, err := search.retrieve(nothing, chars)
			if err != nil {
				tb.Fatal(err)
			}
			return list
		}
	}
}

// nothing is the filter that excludes no message.
func nothing(chat.Message) bool { return false }

// evidence is the share of the needed messages that are in list.
func evidence(q evalQuestion, list []chat.Message) float64 {
	n := 0.0
	for _, id := range q.Evidence {
		if slices.ContainsFunc(list, func(m chat.Message) bool { return m.ID == id }) {
			n++
		}
	}
	return n / float64(len(q.Evidence))
}

// TestRetrieval prints how much of the evidence is retrieved, by language, kind of question and conversation, and fails
// if it is less than before.
func TestRetrieval(t *testing.T) {
	racetest.Skip(t)
	all := trials(t)
	d := storeChats(t, all...)
	sizes := []int{1000, 2000, 5000}
	names := []string{"tail", "BM25", "ours"}
	retrievers := map[string]retriever{"tail": tail, "BM25": plain(), "ours": ours(t, d)}
	scores := map[string][3]float64{} // by row and retriever
	count := map[string]int{}
	for _, tr := range all {
		lang, _, _ := strings.Cut(tr.name, "_")
		for i, q := range slices.Concat(tr.questions, tr.further, tr.unseen) {
			rows := []string{"all", lang, lang + " " + q.Kind, "= " + tr.name}
			if i >= len(tr.questions)+len(tr.further) {
				rows = []string{"unseen " + lang + " " + q.Kind}
			} else if i >= len(tr.questions) {
				rows = []string{"further " + lang + " " + q.Kind}
			} else if lang == "zh" && q.Kind != "paraphrase" && q.Kind != "twohop" {
				rows = append(rows, "zh, plainly worded")
			}
			for _, row := range rows {
				count[row]++
			}
			for _, name := range names {
				within := retrievers[name](tr, q)
				for i, chars := range sizes {
					found := evidence(q, within(chars))
					for _, row := range rows {
						s := scores[row+name]
						s[i] += found
						scores[row+name] = s
					}
				}
			}
		}
	}
	percent := func(row, name string) (p [3]float64) {
		for i, s := range scores[row+name] {
			p[i] = 100 * s / float64(count[row])
		}
		return p
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nevidence, %% of questions     n")
	for _, name := range names {
		fmt.Fprintf(&b, "   %s 1000 2000 5000", name)
	}
	for _, row := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "\n%-24s %5d", row, count[row])
		for _, name := range names {
			p := percent(row, name)
			fmt.Fprintf(&b, "   %*.0f %4.0f %4.0f", len(name)+5, p[0], p[1], p[2])
		}
	}
	t.Log(b.String())
	if n := count["all"]; n < 120 {
		t.Errorf("%d questions", n)
	}
	for _, least := range []struct {
		row  string
		size int
		want float64
	}{
		{"all", 0, 88}, {"all", 2, 95}, {"en", 0, 81}, {"en", 2, 92}, {"en paraphrase", 2, 74}, {"en twohop", 0, 73},
		{"en twohop", 2, 91}, {"zh", 0, 95}, {"zh", 2, 98}, {"zh, plainly worded", 0, 98}, {"zh paraphrase", 0, 88},
		{"zh twohop", 2, 95}, {"mixed", 0, 87}, {"mixed", 2, 94}, {"further en paraphrase", 2, 83},
		{"further en twohop", 2, 82}, {"further en multihop", 2, 45}, {"further zh paraphrase", 2, 87},
		{"further zh multihop", 2, 86}, {"further zh twohop", 2, 99}, {"further mixed multihop", 2, 68},
		{"unseen en paraphrase", 0, 43}, {"unseen en paraphrase", 1, 56}, {"unseen en paraphrase", 2, 67},
	} {
		if got := percent(least.row, "ours")[least.size]; got < least.want {
			t.Errorf("%s: %.1f %% within %d characters, want %.0f", least.row, got, sizes[least.size], least.want)
		}
	}
}
