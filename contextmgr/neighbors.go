package contextmgr

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"magpie/internal/chat"
)

// Weights of neighboring messages: a question and its answer matter for each other, and the messages around one, before
// it more than after it, show its subject.
const (
	turnWeight   = 0.45 // for a message of the same turn
	beforeWeight = 0.4
	afterWeight  = 0.2
	decay        = 0.6 // per step of distance
	neighborhood = 5   // in steps
)

// A question brings its answer, and an answer its question: together they make sense.
const (
	turnShare   = 0.6 // of the score of the best message of a turn, which its other messages have at least
	maxOpenTurn = 10  // of the best candidates, those whose turns are completed
)

// addNeighbors adds the words of the messages around one, and of the others of its turn, whose seqs are given.
func (f *queryIndex) addNeighbors(seq int64, turn []int64, w *weights) {
	for _, s := range turn {
		if s == seq {
			continue
		}
		w.add(f.entryOf(s).words.withoutDays(), turnWeight)
	}
	i, _ := f.find(seq - neighborhood)
	for ; i < len(f.entries) && f.entries[i].seq <= seq+neighborhood; i++ {
		switch e := f.entries[i]; {
		case e.seq == seq, slices.Contains(turn, e.seq): // counted already
		case e.seq < seq:
			w.add(e.words.withoutDays(), beforeWeight*distanceWeight[seq-e.seq])
		default:
			w.add(e.words.withoutDays(), afterWeight*distanceWeight[e.seq-seq])
		}
	}
}

// distanceWeight is the weight of a neighbor by its distance.
var distanceWeight = func() (s [neighborhood + 1]float64) {
	s[1] = 1
	for i := 2; i < len(s); i++ {
		s[i] = s[i-1] * decay
	}
	return s
}()

// turns tell which messages of a list belong together: questions and their answer.
type turns struct {
	of   []int           // of each message, a number of its turn
	seqs map[int][]int64 // of the messages of each turn
}

// turnsOf finds the turns of messages, which are in their order.
func turnsOf(msgs []chat.Message) turns {
	t := turns{make([]int, len(msgs)), make(map[int][]int64, len(msgs))}
	known := map[int64]int{} // by the number in the database
	for i, m := range msgs {
		n, ok := known[m.Turn]
		switch {
		case ok && m.Turn > 0:
		case i > 0 && followsImported(msgs[i-1], m):
			n = t.of[i-1]
		default:
			n = i
		}
		known[m.Turn] = n
		t.of[i] = n
		t.seqs[n] = append(t.seqs[n], m.Seq)
	}
	return t
}

// followsImported reports whether b answers a. Imported messages have no turn: there an answer follows its question.
func followsImported(a, b chat.Message) bool {
	return a.Turn == 0 && b.Turn == 0 && b.Seq == a.Seq+1 && a.Role == chat.User && b.Role == chat.Assistant
}

// with are the seqs of the messages in the turn of message i.
func (t turns) with(i int) []int64 { return t.seqs[t.of[i]] }

// readCandidates reads the messages that may match a query, and what belongs to the turns of the best, in their order.
// In a group, others may have written much between a question and its answer.
func (m *Manager) readCandidates(
	ctx context.Context, r Request, f *queryIndex, near map[int64]float64,
) ([]chat.Message, error) {
	best := f.candidates()
	msgs, err := m.db.Messages().BySeq(ctx, r.Key, slices.AppendSeq(slices.Clone(best), maps.Keys(near)))
	if err != nil {
		return nil, err
	}
	open := openTurns(msgs, best[:min(len(best), maxOpenTurn)])
	if len(open) == 0 {
		return msgs, nil
	}
	more, err := m.db.Messages().SameTurn(ctx, r.Key, open)
	if err != nil {
		return nil, err
	}
	msgs = append(msgs, more...)
	slices.SortFunc(msgs, func(a, b chat.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(msgs, func(a, b chat.Message) bool { return a.Seq == b.Seq }), nil
}

// openTurns are those of the messages with these seqs whose question or answer is not among the messages.
func openTurns(msgs []chat.Message, best []int64) (open []chat.Message) {
	roles := map[int64]map[chat.Role]bool{}
	for _, m := range msgs {
		if roles[m.Turn] == nil {
			roles[m.Turn] = map[chat.Role]bool{}
		}
		roles[m.Turn][m.Role] = true
	}
	for _, m := range msgs {
		if m.Turn > 0 && len(roles[m.Turn]) == 1 && slices.Contains(best, m.Seq) {
			open = append(open, m)
		}
	}
	return open
}

// bringTurns raises the other messages of a turn to a share of the score of its best one.
func bringTurns(hits []hit) []hit {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.Seq, b.Seq) })
	msgs := make([]chat.Message, len(hits))
	for i, h := range hits {
		msgs[i] = h.Message
	}
	turns := turnsOf(msgs)
	best := make([]float64, len(hits))
	for i, h := range hits {
		best[turns.of[i]] = max(best[turns.of[i]], h.score)
	}
	for i := range hits {
		hits[i].score = max(hits[i].score, turnShare*best[turns.of[i]])
	}
	slices.SortFunc(hits, compareHits)
	return hits
}
