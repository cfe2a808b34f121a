package contextmgr

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/lexicon"
)

// HistoryQuery is what is looked for in a chat's History.
type HistoryQuery struct {
	Key    chat.Key
	Epoch  int64
	Turn   int64     // only what was said before this turn
	Text   string    // in whatever words; empty = anything
	After  time.Time // not before this; zero = any time
	Before time.Time // only before this; zero = any time
	Limit  int
}

// Bounds of a search.
const (
	searchPostings = 1000 // messages of one term that are considered
	searchTried    = 400  // of the messages that match, how many are looked at for their dates
	searchWalk     = 5000 // messages that are walked through when there are no words to look for
)

// SearchHistory finds the messages that match best, and returns them oldest first.
func (m *Manager) SearchHistory(ctx context.Context, q HistoryQuery) ([]chat.Message, error) {
	terms := lexicon.Terms(q.Text)
	slices.Sort(terms)
	if terms = slices.Compact(terms); len(terms) == 0 {
		return m.newest(ctx, q)
	}
	found, err := m.db.Find(ctx, q.Key, q.Epoch, terms, searchPostings)
	if err != nil {
		return nil, err
	}
	scores := map[int64]float64{}
	for _, p := range found.Terms {
		for _, seq := range p.Seqs {
			scores[seq] += math.Log(1 + float64(found.Messages)/float64(len(p.Seqs)))
		}
	}
	seqs := make([]int64, 0, len(scores))
	for seq := range scores {
		seqs = append(seqs, seq)
	}
	slices.SortFunc(seqs, func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) })
	seqs = seqs[:min(searchTried, len(seqs))]
	msgs, err := m.db.Messages(ctx, q.Key, seqs)
	if err != nil {
		return nil, err
	}
	msgs = slices.DeleteFunc(msgs, func(x chat.Message) bool { return !q.wants(x) })
	slices.SortFunc(msgs, func(a, b chat.Message) int {
		return cmp.Or(cmp.Compare(scores[b.Seq], scores[a.Seq]), cmp.Compare(b.Seq, a.Seq))
	})
	msgs = msgs[:min(q.Limit, len(msgs))]
	slices.SortFunc(msgs, func(a, b chat.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return msgs, nil
}

// newest are the newest messages that the query wants, whatever they say.
func (m *Manager) newest(ctx context.Context, q HistoryQuery) ([]chat.Message, error) {
	var msgs []chat.Message
	walked := 0
	for x, err := range m.db.History(ctx, q.Key, q.Epoch, 0, q.Turn) {
		if err != nil {
			return nil, err
		}
		if q.wants(x) {
			msgs = append(msgs, x)
		}
		if walked++; walked == searchWalk || len(msgs) == q.Limit {
			break
		}
	}
	slices.Reverse(msgs)
	return msgs, nil
}

func (q HistoryQuery) wants(m chat.Message) bool {
	return m.Epoch == q.Epoch && m.Turn < q.Turn && m.Class != chat.Command && !m.Time.Before(q.After) && (q.Before.IsZero() || m.Time.Before(q.Before))
}
