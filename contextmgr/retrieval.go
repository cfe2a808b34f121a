package contextmgr

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// Retrieval searches the whole History for messages related to a question. The index finds the messages that contain
// its words. Those with the rarest words, and their neighbors, are read and ranked. A question brings its answer, and
// an answer its question. Of the best, those that add something new are selected until the budget is used up.

// Limits of one search. They keep its cost constant however long the History grows.
const (
	maxSpans    = 8   // days, weeks or months of a question
	maxTerms    = 60  // of a question that are looked up
	maxRelated  = 48  // terms with a similar meaning
	maxPostings = 250 // per term; for a more frequent word, the newest messages
	maxSeeds    = 60  // matches whose neighbors are considered
	maxRead     = 120 // messages whose texts are read
)

// query is a parsed question.
type query struct {
	text     string // the whole text
	terms    []string
	related  []relatedTerm
	expanded []expandedTerm // of its best hits
	chained  []chainedDay   // to which its best hits lead
	spans    []span
	now      time.Time
	lang     string // of the marks in excerpts
}

// relatedTerm is a term with a meaning similar to one of a query.
type relatedTerm struct {
	term     string
	of       int // index of the query's term
	strength float64
}

// parseQuery parses the questions of a turn.
func parseQuery(text string, now time.Time, lang string) query {
	q := query{text: text, now: now, lang: lang}
	text = headAndTail(text, 600)
	q.spans = spansIn(text, now)
	q.spans = q.spans[:min(len(q.spans), maxSpans)]
	seen := map[string]bool{}
	for _, t := range tokenize.Terms(text) {
		if !seen[t] {
			seen[t] = true
			q.terms = append(q.terms, t)
		}
	}
	if len(q.terms) > maxTerms { // the request in a long text is usually at the beginning or at the end
		half := maxTerms / 2
		q.terms = slices.Concat(q.terms[:half], q.terms[len(q.terms)-half:])
	}
	q.related = q.relatedTo(text)
	return q
}

// relatedTo are the terms related most strongly to those of the query, without those in the query.
func (q query) relatedTo(text string) (list []relatedTerm) {
	seen := map[relatedTerm]bool{}
	for _, r := range tokenize.RelatedTo(text) {
		t := relatedTerm{term: r.Term, of: slices.Index(q.terms, r.Of)}
		if t.of >= 0 && !seen[t] && !slices.Contains(q.terms, r.Term) {
			seen[t] = true
			t.strength = r.Strength
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b relatedTerm) int { return cmp.Compare(b.strength, a.strength) })
	return list[:min(len(list), maxRelated)]
}

// lookups are the terms looked up in the index: those of the query, the related ones, and days.
func (q query) lookups() []string {
	list := slices.Clone(q.terms)
	for _, r := range q.related {
		list = append(list, r.term)
	}
	return append(list, q.days()...)
}

// headAndTail is the beginning and the end of a long text.
func headAndTail(text string, runes int) string {
	if utf8.RuneCountInString(text) <= 2*runes {
		return text
	}
	r := []rune(text)
	return string(r[:runes]) + "\n" + string(r[len(r)-runes:])
}

// maxDays is how many days are looked up one by one; a longer period is looked up by months.
const maxDays = 16

// days are the index terms of the days in the question. They are in UTC, so they cover a little more.
func (q query) days() []string {
	var list []string
	for _, s := range q.spans {
		from, to := s.from.UTC(), s.to.UTC()
		if from.Year() < 1 || to.Year() > 9999 {
			continue // in the future: there are no messages
		}
		if to.Sub(from) <= maxDays*24*time.Hour {
			for t := from; t.Before(to); t = t.Add(24 * time.Hour) {
				list = append(list, tokenize.Day(t))
			}
			list = append(list, tokenize.Day(to.Add(-time.Millisecond)))
			continue
		}
		for t := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC); t.Before(to) &&
			len(list) < maxTerms; t = t.AddDate(0, 1, 0) {
			list = append(list, tokenize.Month(t))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pendingSearch is a search in the History that runs while the rest of a context is built.
type pendingSearch struct {
	done chan struct{}
	queryIndex
	hits []hit // the best first
	err  error
}

// startSearch starts a search related to the questions, if anything may be retrieved.
func (m *Manager) startSearch(ctx context.Context, r Request) *pendingSearch {
	l := &pendingSearch{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		q := parseQuery(questionText(r.Asked), r.now(m.cfg.zone()), r.Lang)
		if m.cfg.retrievalBudget() > 0 && len(q.terms)+len(q.spans) > 0 {
			l.queryIndex, l.hits, l.err = m.search(ctx, r, q)
		}
	}()
	return l
}

// retrieve waits for the search and returns the related messages, oldest first, within a budget of runes. It omits
// those that known accepts, and older ones that repeat newer ones. It returns none if nothing matches.
func (l *pendingSearch) retrieve(known func(chat.Message) bool, budget int) ([]chat.Message, error) {
	<-l.done
	hits := slices.DeleteFunc(newestOfSame(l.hits), func(h hit) bool { return known(h.Message) })
	return l.excerpts(selectHits(hits, budget, maxMessageRunes(budget)), maxMessageRunes(budget)), l.err
}

// search finds messages before the turn that match the query, then those that match the best of these; best first. It
// searches words and meaning at the same time.
func (m *Manager) search(ctx context.Context, r Request, q query) (queryIndex, []hit, error) {
	var near map[int64]float64
	var looking sync.WaitGroup
	looking.Go(func() { near = m.embeddings.search(ctx, r.Key, r.Epoch, q.text) })
	found, err := m.db.Search().Find(ctx, r.Key, r.Epoch, q.lookups(), maxPostings)
	looking.Wait()
	if err != nil || found.Messages == 0 {
		return queryIndex{}, nil, err
	}
	f := newQueryIndex(q, found)
	hits, err := m.rankCandidates(ctx, r, &f, near)
	if err != nil || len(hits) == 0 {
		return f, nil, err
	}
	g, err := m.expandQuery(ctx, r, f, found, hits)
	if err != nil {
		return f, hits, err
	}
	second, err := m.rankCandidates(ctx, r, &g, near)
	if err != nil {
		return f, hits, err
	}
	return g, bringTurns(fuse(hits, second)), nil
}

// rankCandidates reads the messages that may match a query, and those that are near to it in meaning, and ranks them.
func (m *Manager) rankCandidates(ctx context.Context, r Request, f *queryIndex, near map[int64]float64) ([]hit, error) {
	msgs, err := m.readCandidates(ctx, r, f, near)
	if err != nil {
		return nil, err
	}
	for _, x := range msgs {
		if !r.mayRetrieve(x, f.now) {
			delete(near, x.Seq) // the question is nearest to itself and would dwarf all other scores
		}
	}
	return slices.DeleteFunc(f.rank(msgs, near), func(h hit) bool { return !r.mayRetrieve(h.Message, f.now) }), nil
}

// mayRetrieve reports whether a message is part of the conversation before the turn.
func (r Request) mayRetrieve(m chat.Message, now time.Time) bool {
	return m.Class != chat.Command && (m.Role == chat.User || m.Role == chat.Assistant) && m.Epoch == r.Epoch &&
		(m.Turn < r.Turn || r.Turn <= 0) && !m.Time.After(now)
}

// maxMessageRunes is how much of the budget one message may use; of a longer one an excerpt is retrieved. An answer
// often needs several messages, so one must not push the others out.
func maxMessageRunes(budget int) int { return min(budget, max(budget/6, 200)) }

// questionText is the text of the questions, without names.
func questionText(asked []chat.Message) string {
	var parts []string
	for _, a := range asked {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "\n")
}

// messageRelevance weighs the score of a message against its repetition of those already selected. What says the same
// is left out anyway, see newestOfSame.
const messageRelevance = 0.7

// repetition is how much of a message another one repeats, from their similarity. Messages about one subject share
// words anyway, so only high similarity counts.
func repetition(alike float64) float64 { return alike * alike * alike }

// candidates is the multiple of the budget from which the selection is made.
const candidates = 3

// selectHits selects the best-ranked messages that add something new, within a budget of runes, of which each uses at
// most most. It returns them in chronological order.
func selectHits(ranked []hit, budget, most int) []chat.Message {
	var relevance []float64
	// Only as many candidates as may be needed are compared with each other.
	for all := 0; len(relevance) < len(ranked) && all <= candidates*budget; {
		h := ranked[len(relevance)]
		relevance = append(relevance, h.score/ranked[0].score)
		all += min(h.chars, most)
	}
	var msgs []chat.Message
	alike := func(i, j int) float64 { return repetition(ranked[i].about.similarity(ranked[j].about)) }
	selectDiverse(messageRelevance, relevance, alike, func(i int) bool {
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

// now is the time of the question, in the time zone of the chat.
func (r Request) now(zone *time.Location) time.Time {
	now := time.Now()
	if n := len(r.Asked); n > 0 && !r.Asked[n-1].Time.IsZero() {
		now = r.Asked[n-1].Time
	}
	return now.In(zone)
}
