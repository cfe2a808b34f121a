package contextmgr

import (
	"context"
	"slices"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// HistoryQuery is a search in a chat's History.
type HistoryQuery struct {
	Key    chat.Key
	Epoch  int64
	Turn   int64     // only messages before this turn
	Text   string    // a question, or words; empty = anything
	After  time.Time // not before this; zero = any time
	Before time.Time // only before this; zero = any time
	Limit  int
	Length int // runes of a message; a longer one is cut to the part that fits best
}

// searchWalk bounds how many messages are read if the query has no words.
const searchWalk = 5000

// SearchHistory finds the messages that match best and add something new, oldest first.
func (m *Manager) SearchHistory(ctx context.Context, q HistoryQuery) ([]chat.Message, error) {
	asked := parseQuery(q.Text, time.Now().In(m.cfg.zone()), english)
	if !q.After.IsZero() {
		to := asked.now
		if !q.Before.IsZero() {
			to = q.Before
		}
		asked.spans = append(asked.spans, span{q.After, to})
	}
	if len(asked.terms) == 0 {
		return q.newest(ctx, m.db.Messages())
	}
	f, hits, err := m.search(ctx, Request{Key: q.Key, Epoch: q.Epoch, Turn: q.Turn}, asked)
	if err != nil {
		return nil, err
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return !q.wants(h.Message) })
	// each counts as 1, so the budget bounds their number
	return f.excerpts(selectHits(newestOfSame(hits), q.Limit, 1), q.Length), nil
}

// newest are the newest messages in the query's time range, whatever their text.
func (q HistoryQuery) newest(ctx context.Context, history db.Messages) ([]chat.Message, error) {
	var msgs []chat.Message
	walked := 0
	for x, err := range history.ForTurn(ctx, q.Key, q.Epoch, 0, q.Turn) {
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

// wants reports whether a message is within the times of the query.
func (q HistoryQuery) wants(m chat.Message) bool {
	return !m.Time.Before(q.After) && (q.Before.IsZero() || m.Time.Before(q.Before))
}
