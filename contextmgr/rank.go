package contextmgr

import (
	"cmp"
	"container/heap"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// The parameters of BM25. Messages of a chat are short, so their length matters less than usual.
const (
	saturation = 1.2
	lengthNorm = 0.3
)

// Other weights.
const (
	// of its weight, for a word that the chat does not contain, in the total that a good match is measured by
	unknownWord  = 0.15
	relatedWord  = 0.7  // of the weight, for a word related to one of the question
	character    = 0.35 // for one character of a Chinese word: a word of two characters gives three terms
	ownName      = 0.3  // of its weight, for the name of a participant: others use it when they address that person
	bySpeaker    = 1.6  // for messages of a person named in the question
	onDay        = 1.8  // for messages of a day named in the question
	minRelevance = 0.15 // fraction of the question's weight that the best message needs; below that nothing matches
	leastScore   = 0.05 // fraction of the best message's score
)

// indexEntry is the search index's data about one message.
type indexEntry struct {
	seq   int64
	words kindSet // the question's words, and related ones, in the message
	named bool    // its author is named in the question
	dated bool    // it is from a day that the question names, or a neighboring day
	score float64 // from the words and the day
}

// queryIndex is the search index's data about all messages that match any part of a question.
type queryIndex struct {
	query
	idf     [kinds]float64 // weight of each of the question's words, by inverse document frequency, and of related ones
	total   float64        // of the question's words
	names   uint64         // bit set of the words that are names of participants
	daily   float64        // weight of a named day: fewer messages on it count more
	entries []indexEntry   // by seq
}

// newQueryIndex combines the index's results for the query's words, the related ones and, after them, its days.
func newQueryIndex(q query, found db.Found) queryIndex {
	f := queryIndex{query: q}
	n := float64(found.Messages)
	// A mark is a seq and a kind in one integer, so that sorting all marks brings those of a message together.
	var marks []int64
	written := 0.0
	var chained [maxChained]int // messages of each day
	for i, p := range found.Terms {
		kind := f.kindOf(i)
		switch {
		case kind < maxTerms:
			f.idf[kind] = wordWeight(p, n) * wordShare(p.Term)
			if f.total += f.idf[kind]; len(p.Seqs) == 0 {
				f.total -= (1 - unknownWord) * f.idf[kind]
			}
		case kind >= firstChained:
			chained[kind-firstChained] += len(p.Seqs)
		case kind >= firstExpanded:
			f.idf[kind] = expandedWord * f.expanded[kind-firstExpanded].strength * idf(p, n)
		case kind >= firstRelated:
			r := f.related[kind-firstRelated]
			// A related word has no more weight than the word it stands for, nor than its own.
			f.idf[kind] = relatedWord * r.strength * min(wordWeight(found.Terms[r.of], n), idf(p, n))
		default:
			written += float64(len(p.Seqs))
		}
		for _, s := range p.Seqs {
			marks = append(marks, s*kinds+int64(kind))
		}
	}
	for i, c := range q.chained {
		f.idf[firstChained+i] = chainedWeight * c.strength * math.Log(1+n/float64(chained[i]+1))
	}
	f.daily = math.Log(1 + n/(written+1))
	f.addMarks(marks)
	return f
}

// The kinds of marks: numbers of words; a day; and from firstRelated, firstExpanded and firstChained on, numbers of
// related words, of words of the best hits, and of days to which these lead.
const (
	dated         = maxTerms
	firstRelated  = 64
	firstExpanded = firstRelated + maxRelated
	firstChained  = firstExpanded + maxExpanded // and maxChained fit below kinds
	kindBits      = 7
	kinds         = 1 << kindBits
)

// kindOf is the kind of the marks of a lookup.
func (q query) kindOf(lookup int) int {
	switch related := lookup - len(q.terms); {
	case related < 0:
		return lookup
	case related < len(q.related):
		return firstRelated + related
	case related < len(q.related)+len(q.expanded):
		return firstExpanded + related - len(q.related)
	}
	if day, ok := q.chainedOf(lookup - len(q.terms) - len(q.related) - len(q.expanded)); ok {
		return firstChained + day
	}
	return dated
}

// kindSet is a bit set of kinds.
type kindSet [kinds / 64]uint64

func (s *kindSet) add(kind int) { s[kind/64] |= 1 << (kind % 64) }

// withoutDays are the words alone: the day of a message says nothing of its neighbors.
func (s kindSet) withoutDays() kindSet {
	s[firstChained/64] &= 1<<(firstChained%64) - 1
	return s
}

// addMarks merges all marks of a message into one entry.
func (f *queryIndex) addMarks(marks []int64) {
	slices.Sort(marks)
	for _, mark := range marks {
		seq, kind := mark>>kindBits, int(mark&(kinds-1))
		if len(f.entries) == 0 || f.entries[len(f.entries)-1].seq != seq {
			f.entries = append(f.entries, indexEntry{seq: seq})
		}
		s := &f.entries[len(f.entries)-1]
		if kind == dated {
			s.dated = true
			s.score += f.daily
		} else {
			s.words.add(kind)
			s.score += f.idf[kind]
		}
	}
}

// wordWeight is the weight of a word of the question.
func wordWeight(p db.Postings, n float64) float64 {
	if frameWords[p.Term] {
		return frameWord * idf(p, n)
	}
	return idf(p, n)
}

// idf is the weight of a term: the fewer of the n messages contain it, the higher.
func idf(p db.Postings, n float64) float64 {
	df := float64(len(p.Seqs))
	if p.More { // truncated list: extrapolate from the range it covers
		df = max(df, df*n/float64(p.Seqs[0]-p.Seqs[len(p.Seqs)-1]+1))
	}
	return math.Log(1 + (max(n-df, 0)+0.5)/(df+0.5))
}

// wordShare is a term's part of a word: a Chinese word of two characters gives three terms.
func wordShare(term string) float64 {
	if r, size := utf8.DecodeRuneInString(term); r >= 0x2E80 && size == len(term) {
		return character
	}
	return 1
}

// find is the position of a message in entries, or where it would be.
func (f *queryIndex) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(f.entries, seq, func(s indexEntry, seq int64) int { return cmp.Compare(s.seq, seq) })
}

// entryOf is the entry of the message with that seq; empty if the index has none.
func (f *queryIndex) entryOf(seq int64) indexEntry {
	if i, ok := f.find(seq); ok {
		return f.entries[i]
	}
	return indexEntry{seq: seq}
}

// weights hold how often each of the question's words, and of the related ones, occurs in a message or around it.
type weights struct {
	of    [kinds]float64
	words kindSet // those that are not 0
}

func (w *weights) add(words kindSet, n float64) {
	for i, left := range words {
		w.words[i] |= left
		for ; left != 0; left &= left - 1 {
			w.of[64*i+bits.TrailingZeros64(left)] += n
		}
	}
}

func (w *weights) addKind(kind int) {
	w.of[kind]++
	w.words.add(kind)
}

// clear resets only the words that were used: the array is large, and one is reused for all messages.
func (w *weights) clear() {
	for i, left := range w.words {
		for ; left != 0; left &= left - 1 {
			w.of[64*i+bits.TrailingZeros64(left)] = 0
		}
	}
	w.words = kindSet{}
}

// candidates are the messages with the best scores by the index alone, including neighbors of matches.
func (f *queryIndex) candidates() []int64 {
	var near []int64
	for _, s := range topEntries(f.entries, maxSeeds) {
		// Neighbors of a hit are candidates, too: the answer to a question often repeats none of its words.
		for seq := s.seq - neighborhood; seq <= s.seq+neighborhood; seq++ {
			near = append(near, seq)
		}
	}
	slices.Sort(near)
	near = slices.Compact(near)
	list := make([]indexEntry, len(near))
	var w weights
	for i, seq := range near {
		c := f.entryOf(seq)
		w.clear()
		w.add(c.words, 1)
		f.addNeighbors(seq, nil, &w)
		c.score = f.score(c, &w, 1)
		list[i] = c
	}
	list = topEntries(list, maxRead)
	seqs := make([]int64, len(list))
	for i, c := range list {
		seqs[i] = c.seq
	}
	return seqs
}

// topEntries are the entries with the highest scores, at most that many; newer ones win ties.
func topEntries(list []indexEntry, most int) []indexEntry {
	var top minHeap
	for _, s := range list {
		switch {
		case len(top) < most:
			heap.Push(&top, s)
		case compareEntries(s, top[0]) < 0:
			top[0] = s
			heap.Fix(&top, 0)
		}
	}
	slices.SortFunc(top, compareEntries)
	return top
}

// compareEntries sorts by score, the highest first; newer messages win ties.
func compareEntries(a, b indexEntry) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.seq, a.seq))
}

// minHeap is a heap with the lowest score on top.
type minHeap []indexEntry

func (r minHeap) Len() int           { return len(r) }
func (r minHeap) Less(i, j int) bool { return compareEntries(r[i], r[j]) > 0 }
func (r minHeap) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *minHeap) Push(s any)        { *r = append(*r, s.(indexEntry)) }
func (r *minHeap) Pop() any          { panic("nothing is taken from a ranking") }

// score is BM25 over a message and its neighbors, with bonuses for its author and its day. Of a word and its related
// words, only the one with the highest score counts.
func (f *queryIndex) score(s indexEntry, w *weights, norm float64) (score float64) {
	var counted [maxTerms]float64
	for i, left := range w.words {
		for ; left != 0; left &= left - 1 {
			kind := 64*i + bits.TrailingZeros64(left)
			weight, n, word := f.idf[kind], w.of[kind], kind
			if kind >= firstExpanded {
				score += bm25(weight, n, norm)
				continue
			}
			if kind >= firstRelated {
				word = f.related[kind-firstRelated].of
			}
			if f.names>>word&1 == 1 {
				weight *= ownName
			}
			if part := bm25(weight, n, norm); part > counted[word] {
				score += part - counted[word]
				counted[word] = part
			}
		}
	}
	if f.names != 0 && s.named {
		score *= bySpeaker
	}
	if s.dated {
		score = score*onDay + 2*f.daily
	}
	return score
}

// bm25 is the part of the score for a word that occurs n times in a message of a certain length.
func bm25(weight, n, norm float64) float64 {
	return weight * n * (saturation + 1) / (n + saturation*norm)
}

// speakers returns the authors of the messages, with a bit set of the question's words that name them.
func speakers(msgs []chat.Message, kindsOf map[string][]int) map[string]uint64 {
	who := map[string]uint64{}
	for _, m := range msgs {
		if _, known := who[m.Actor.Name]; known {
			continue
		}
		who[m.Actor.Name] = 0
		for _, t := range tokenize.Terms(m.Actor.Name) {
			for _, kind := range kindsOf[t] {
				if kind < maxTerms && wordShare(t) == 1 {
					who[m.Actor.Name] |= 1 << kind
				}
			}
		}
	}
	return who
}

// hit is a message with its score.
type hit struct {
	chat.Message
	about signature
	terms []string
	gist  *gist // nil = it is long, or was not compared yet
	score float64
	chars int
}

// compareHits sorts by score, the highest first; newer messages win ties.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Seq, a.Seq))
}

// signature is a set of terms as a bit set of hashes. It is small, so that many messages can be compared.
type signature [8]uint64

// add sets one bit for a term. Two terms may share a bit, which makes texts look slightly more similar than they are.
func (s *signature) add(term string) {
	n := crc32.ChecksumIEEE([]byte(term)) // the same in every process, and spread well enough
	s[n>>6&7] |= 1 << (n & 63)
}

func (s signature) size() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// similarity estimates the cosine similarity of two sets.
func (s signature) similarity(t signature) float64 {
	both := 0
	for i := range s {
		both += bits.OnesCount64(s[i] & t[i])
	}
	if both == 0 {
		return 0
	}
	return float64(both) / math.Sqrt(float64(s.size())*float64(t.size()))
}

// fullest is how many bits of a signature can tell texts apart: any two long texts look alike.
const fullest = 256

// In a text of at most this many terms one detail, a word or a Chinese character, weighs much.
const (
	shortFrom = 5
	shortTo   = 24
)

// nearlySame is the similarity of messages that say the same in nearly the same words.
const (
	nearlySame      = 0.85
	nearlySameShort = 0.79
)

// nearlySame reports whether two texts say nearly the same: short ones may differ in one detail.
func (s signature) nearlySame(t signature) bool {
	most, like := max(s.size(), t.size()), s.similarity(t)
	return most <= fullest && like >= nearlySame ||
		most >= shortFrom && most <= shortTo && like >= nearlySameShort
}

// kindsOf are the kinds of each looked-up term, which may be related to several words.
func (q query) kindsOf() map[string][]int {
	of := make(map[string][]int, len(q.terms)+len(q.related))
	for i, t := range q.terms {
		of[t] = append(of[t], i)
	}
	for i, r := range q.related {
		of[r.term] = append(of[r.term], firstRelated+i)
	}
	for i, e := range q.expanded {
		of[e.term] = append(of[e.term], firstExpanded+i)
	}
	return of
}

// rank sorts messages by relevance, best first, and drops irrelevant ones. near holds semantic scores by seq.
func (f *queryIndex) rank(msgs []chat.Message, near map[int64]float64) []hit {
	kindsOf := f.kindsOf()
	terms, all := make([][]string, len(msgs)), 1
	for i, m := range msgs {
		terms[i] = tokenize.Terms(headAndTail(m.Text, 4000))
		all += len(terms[i])
	}
	mean := float64(all) / float64(max(len(msgs), 1))
	who := speakers(msgs, kindsOf)
	for _, names := range who {
		f.names |= names
	}
	asksNumber := asksNumber.MatchString(f.text)
	hits := make([]hit, len(msgs))
	var top float64
	turns := turnsOf(msgs)
	var w weights
	for i, m := range msgs {
		h := hit{Message: m, chars: utf8.RuneCountInString(m.Text), terms: terms[i]}
		w.clear()
		for _, t := range terms[i] {
			h.about.add(t)
			for _, kind := range kindsOf[t] {
				w.addKind(kind)
			}
		}
		for k, c := range f.chained {
			if c.holds(m.Time) {
				w.addKind(firstChained + k)
			}
		}
		f.addNeighbors(m.Seq, turns.with(i), &w)
		s := f.entryOf(m.Seq)
		s.named = who[m.Actor.Name] != 0
		s.dated = slices.ContainsFunc(f.spans, func(day span) bool { return day.holds(m.Time.In(f.now.Location())) })
		h.score = f.score(s, &w, 1-lengthNorm+lengthNorm*float64(len(terms[i]))/mean)
		if asksNumber && slices.ContainsFunc(terms[i], isNumber) {
			h.score *= withNumber
		}
		if m.Role == chat.Assistant {
			h.score *= ofAssistant
		}
		if isQuestion(m.Text) {
			h.score *= ofQuestion
		}
		hits[i] = h
		top = max(top, h.score)
	}
	if top < minRelevance*f.total && len(f.spans) == 0 { // no message matches well enough
		for i := range hits {
			hits[i].score = 0
		}
	}
	// After the threshold above, so that the semantic search can find something where the words find nothing.
	if len(near) > 0 {
		top = blend(hits, near)
	}
	slices.SortFunc(hits, compareHits)
	return slices.DeleteFunc(hits, func(h hit) bool { return h.score < leastScore*top || h.score <= 0 })
}
