package contextmgr

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// Recall looks in the whole History for what a question is about. The index tells which messages hold its words. Those
// that hold the rarest of them, and those around them, are read and ranked; and of the best, those are taken that say
// something new, until the budget is used up.

// Bounds of one search. They keep its cost where it is however long the History grows.
const (
	mostSpans    = 8   // days, weeks or months of a question
	mostTerms    = 60  // of a question that are looked up
	mostPostings = 250 // of each term: of a word that is in more messages than that, the newest
	mostSeeds    = 60  // messages whose surroundings are looked at
	mostRead     = 75  // messages whose text is read
)

// query is what a question asks for.
type query struct {
	text  string // all of it
	terms []string
	spans []span
	now   time.Time
}

// parseQuery reads the questions that are asked now.
func parseQuery(text string, now time.Time) query {
	q := query{text: text, now: now}
	text = ends(text, 600)
	q.spans = spansIn(text, now)
	q.spans = q.spans[:min(len(q.spans), mostSpans)]
	seen := map[string]bool{}
	for _, t := range tokenize.Terms(text) {
		if !seen[t] {
			seen[t] = true
			q.terms = append(q.terms, t)
		}
	}
	if len(q.terms) > mostTerms { // a long text says what it wants at its beginning or at its end
		half := mostTerms / 2
		q.terms = slices.Concat(q.terms[:half], q.terms[len(q.terms)-half:])
	}
	return q
}

// ends are the first and the last runes of a long text.
func ends(text string, runes int) string {
	if utf8.RuneCountInString(text) <= 2*runes {
		return text
	}
	r := []rune(text)
	return string(r[:runes]) + "\n" + string(r[len(r)-runes:])
}

// mostDays is how many days are looked up one by one; of a longer time, the months.
const mostDays = 16

// days are the index's terms for the days that the question names, in UTC, so a little more than those.
func (q query) days() []string {
	var list []string
	for _, s := range q.spans {
		from, to := s.from.UTC(), s.to.UTC()
		if from.Year() < 1 || to.Year() > 9999 {
			continue // nobody wrote then
		}
		if to.Sub(from) <= mostDays*24*time.Hour {
			for t := from; t.Before(to); t = t.Add(24 * time.Hour) {
				list = append(list, tokenize.Day(t))
			}
			list = append(list, tokenize.Day(to.Add(-time.Millisecond)))
			continue
		}
		for t := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC); t.Before(to) && len(list) < mostTerms; t = t.AddDate(0, 1, 0) {
			list = append(list, tokenize.Month(t))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// lookup is a search in the History that goes on while the rest of a context is put together.
type lookup struct {
	done chan struct{}
	field
	hits []hit // the best first
	err  error
}

// look begins to search the chat's History for what the questions are about, if anything is to be recalled at all.
func (m *Manager) look(ctx context.Context, r Request) *lookup {
	l := &lookup{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		if q := parseQuery(questions(r.Asked), r.now(m.cfg.zone())); m.cfg.recallBudget() > 0 && len(q.terms)+len(q.spans) > 0 {
			l.field, l.hits, l.err = m.search(ctx, r, q)
		}
	}()
	return l
}

// recall waits for the messages that the questions are about, oldest first. It leaves out what is known already, and
// keeps their texts within so many runes. There are none when nothing fits.
func (l *lookup) recall(known func(chat.Message) bool, budget int) ([]chat.Message, error) {
	<-l.done
	hits := slices.DeleteFunc(l.hits, func(h hit) bool { return known(h.Message) })
	return l.shortened(pick(hits, budget, longest(budget)), longest(budget)), l.err
}

// search finds what fits the query among what was said before the turn; the best first.
func (m *Manager) search(ctx context.Context, r Request, q query) (field, []hit, error) {
	var near map[int64]float64
	var looking sync.WaitGroup
	looking.Go(func() { near = m.embeddings.near(ctx, r.Key, r.Epoch, q.text) })
	found, err := m.db.Index().Find(ctx, r.Key, r.Epoch, slices.Concat(q.terms, q.days()), mostPostings)
	looking.Wait()
	if err != nil || found.Messages == 0 {
		return field{}, nil, err
	}
	f := survey(q, found)
	msgs, err := m.db.Messages().BySeq(ctx, r.Key, slices.AppendSeq(f.candidates(), maps.Keys(near)))
	if err != nil {
		return field{}, nil, err
	}
	for _, x := range msgs {
		if !r.mayRecall(x, q.now) {
			delete(near, x.Seq) // what is asked is nearest to itself, and would be the measure for all else
		}
	}
	return f, slices.DeleteFunc(f.rank(msgs, near), func(h hit) bool { return !r.mayRecall(h.Message, q.now) }), nil
}

// mayRecall says whether a message is part of the conversation before the turn.
func (r Request) mayRecall(m chat.Message, now time.Time) bool {
	return m.Class != chat.Command && (m.Role == chat.User || m.Role == chat.Assistant) && m.Epoch == r.Epoch &&
		(m.Turn < r.Turn || r.Turn <= 0) && !m.Time.After(now)
}

// longest is how many runes one message may take of a budget: of a longer one that part is recalled which fits best.
func longest(budget int) int { return min(budget, max(budget/3, 300)) }

// questions is the text of what is asked, without names.
func questions(asked []chat.Message) string {
	var parts []string
	for _, a := range asked {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "\n")
}

// candidates is how many times the budget is chosen from.
const candidates = 3

// pick takes the messages of the best rank that say something new, as long as they fit the budget of runes, of which
// each takes as many as most, and puts them into their order.
func pick(ranked []hit, budget, most int) []chat.Message {
	var fit []float64
	for all := 0; len(fit) < len(ranked) && all <= candidates*budget; {
		h := ranked[len(fit)]
		fit = append(fit, h.score/ranked[0].score)
		all += min(h.chars, most)
	}
	var msgs []chat.Message
	alike := func(i, j int) float64 { return ranked[i].about.like(ranked[j].about) }
	diverse(fit, alike, func(i int) bool {
		chars := min(ranked[i].chars, most)
		if chars > budget {
			return false
		}
		budget -= chars
		msgs = append(msgs, ranked[i].Message)
		return true
	})
	slices.SortFunc(msgs, func(a, b chat.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return msgs
}

// now is when the questions were asked, in the zone in which people name days.
func (r Request) now(zone *time.Location) time.Time {
	now := time.Now()
	if n := len(r.Asked); n > 0 && !r.Asked[n-1].Time.IsZero() {
		now = r.Asked[n-1].Time
	}
	return now.In(zone)
}
