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

// What a message gets from those before and after it: the question before an answer matters, and the talk around it
// says what it is about.
const (
	fromBefore = 0.4
	fromAfter  = 0.2
	fading     = 0.6 // with each step
	reach      = 5   // steps
)

// The parameters of BM25. Messages of a chat are short, so their length matters less than usual.
const (
	saturation = 1.2
	lengthNorm = 0.4
)

// What else counts.
const (
	unheard    = 0.15 // of its weight, for a word that the chat does not have when it is asked whether a message fits well
	character  = 0.35 // of a Chinese word of two characters, which gives three terms
	ownName    = 0.3  // of its weight, for a name of somebody who speaks: it stands in what others say to him
	bySpeaker  = 1.35 // for what was said by somebody whom the question names
	onDay      = 1.8  // for what was said on a day that the question names
	leastFit   = 0.15 // of the question's weight, for the best message; else nothing fits
	leastScore = 0.05 // of the best message's
)

// sighting is what the index tells of a message.
type sighting struct {
	seq   int64
	words uint64  // which of the question's it holds
	named bool    // somebody said it whom the question names
	dated bool    // it was written on a day that the question names, or the day before or after
	score float64 // of the words and the day
}

// field is what the index tells of all messages that hold anything of a question.
type field struct {
	query
	idf     []float64  // of each of the question's words, by how few messages have it
	total   float64    // of the idf
	names   uint64     // which of the words are names of people who speak
	daily   float64    // the weight of a day that is named, by how few messages were written then
	sighted []sighting // by seq
}

// survey puts together what the index tells of the query's words, and of the days after them.
func survey(q query, found db.Found) field {
	f := field{query: q, idf: make([]float64, len(q.terms))}
	n := float64(found.Messages)
	var marks []int64 // seq and kind, in one
	written := 0.0
	for i, p := range found.Terms {
		kind := int64(dated)
		if i < len(q.terms) {
			kind = int64(i)
			f.idf[i] = idf(p, n) * share(p.Term)
			if f.total += f.idf[i]; len(p.Seqs) == 0 {
				f.total -= (1 - unheard) * f.idf[i]
			}
		} else {
			written += float64(len(p.Seqs))
		}
		for _, s := range p.Seqs {
			marks = append(marks, s*kinds+kind)
		}
	}
	f.daily = math.Log(1 + n/(written+1))
	f.gather(marks)
	return f
}

// The kinds of marks; those below mostTerms are numbers of words.
const (
	dated = mostTerms
	kinds = 64
)

// gather makes one sighting of all marks of a message.
func (f *field) gather(marks []int64) {
	slices.Sort(marks)
	for _, mark := range marks {
		seq, kind := mark>>6, mark&(kinds-1)
		if len(f.sighted) == 0 || f.sighted[len(f.sighted)-1].seq != seq {
			f.sighted = append(f.sighted, sighting{seq: seq})
		}
		s := &f.sighted[len(f.sighted)-1]
		if kind == dated {
			s.dated = true
			s.score += f.daily
		} else {
			s.words |= 1 << kind
			s.score += f.idf[kind]
		}
	}
}

// idf is the weight of a term: the more, the fewer of the n messages have it.
func idf(p db.Postings, n float64) float64 {
	df := float64(len(p.Seqs))
	if p.More { // as many of all, as of those that were looked through
		df = max(df, df*n/float64(p.Seqs[0]-p.Seqs[len(p.Seqs)-1]+1))
	}
	return math.Log(1 + (max(n-df, 0)+0.5)/(df+0.5))
}

// share is how much of a word a term is: of a Chinese word of two characters there are three terms.
func share(term string) float64 {
	if r, size := utf8.DecodeRuneInString(term); r >= 0x2E80 && size == len(term) {
		return character
	}
	return 1
}

func (f field) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(f.sighted, seq, func(s sighting, seq int64) int { return cmp.Compare(s.seq, seq) })
}

// at is what was seen of the message with that seq.
func (f field) at(seq int64) sighting {
	if i, ok := f.find(seq); ok {
		return f.sighted[i]
	}
	return sighting{seq: seq}
}

// weights are how often a message has each of the question's words, in itself or around it.
type weights struct {
	of    [mostTerms]float64
	words uint64 // those that are not 0
}

func (w *weights) add(words uint64, n float64) {
	for left := words; left != 0; left &= left - 1 {
		w.of[bits.TrailingZeros64(left)] += n
	}
	w.words |= words
}

func (w *weights) clear() {
	for left := w.words; left != 0; left &= left - 1 {
		w.of[bits.TrailingZeros64(left)] = 0
	}
	w.words = 0
}

// around adds what the messages around one have.
func (f field) around(seq int64, w *weights) {
	i, _ := f.find(seq)
	for j := i - 1; j >= 0 && f.sighted[j].seq >= seq-reach; j-- {
		w.add(f.sighted[j].words, fromBefore*steps[seq-f.sighted[j].seq])
	}
	for j := i; j < len(f.sighted) && f.sighted[j].seq <= seq+reach; j++ {
		if d := f.sighted[j].seq - seq; d > 0 {
			w.add(f.sighted[j].words, fromAfter*steps[d])
		}
	}
}

// steps is how much counts so many steps away.
var steps = func() (s [reach + 1]float64) {
	s[1] = 1
	for i := 2; i < len(s); i++ {
		s[i] = s[i-1] * fading
	}
	return s
}()

// candidates are the messages that promise most by what the index tells of them and of those around them.
func (f field) candidates() []int64 {
	var near []int64
	for _, s := range best(f.sighted, mostSeeds) {
		for seq := s.seq - reach; seq <= s.seq+reach; seq++ {
			near = append(near, seq)
		}
	}
	slices.Sort(near)
	near = slices.Compact(near)
	list := make([]sighting, len(near))
	var w weights
	for i, seq := range near {
		c := f.at(seq)
		w.clear()
		w.add(c.words, 1)
		f.around(seq, &w)
		c.score = f.score(c, &w, 1)
		list[i] = c
	}
	list = best(list, mostRead)
	seqs := make([]int64, len(list))
	for i, c := range list {
		seqs[i] = c.seq
	}
	return seqs
}

// best are the sightings with the highest scores, so many at most, the newer ones first among equals.
func best(list []sighting, most int) []sighting {
	var top ranking
	for _, s := range list {
		switch {
		case len(top) < most:
			heap.Push(&top, s)
		case better(s, top[0]) < 0:
			top[0] = s
			heap.Fix(&top, 0)
		}
	}
	slices.SortFunc(top, better)
	return top
}

func better(a, b sighting) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.seq, a.seq))
}

// ranking is a heap with the worst on top.
type ranking []sighting

func (r ranking) Len() int           { return len(r) }
func (r ranking) Less(i, j int) bool { return better(r[i], r[j]) > 0 }
func (r ranking) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranking) Push(s any)        { *r = append(*r, s.(sighting)) }
func (r *ranking) Pop() any          { panic("nothing is taken from a ranking") }

// score is BM25 over a message and those around it, with what its speaker and its day say.
func (f field) score(s sighting, w *weights, norm float64) (score float64) {
	for left := w.words; left != 0; left &= left - 1 {
		t := bits.TrailingZeros64(left)
		weight, n := f.idf[t], w.of[t]
		if f.names>>t&1 == 1 {
			weight *= ownName
		}
		score += weight * n * (saturation + 1) / (n + saturation*norm)
	}
	if f.names != 0 && s.named {
		score *= bySpeaker
	}
	if s.dated {
		score = score*onDay + 2*f.daily
	}
	return score
}

// speakers are the people who have said the messages, with those of the question's words that name them.
func speakers(msgs []chat.Message, numbers map[string]int) map[string]uint64 {
	who := map[string]uint64{}
	for _, m := range msgs {
		if _, known := who[m.Actor.Name]; known {
			continue
		}
		who[m.Actor.Name] = 0
		for _, t := range tokenize.Terms(m.Actor.Name) {
			if n, asked := numbers[t]; asked && share(t) == 1 {
				who[m.Actor.Name] |= 1 << n
			}
		}
	}
	return who
}

// hit is a message with what speaks for it.
type hit struct {
	chat.Message
	about signature
	score float64
	chars int
}

// signature is a set of terms, by some bits of each.
type signature [8]uint64

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

// like is how similar two sets are, about: the cosine.
func (s signature) like(t signature) float64 {
	both := 0
	for i := range s {
		both += bits.OnesCount64(s[i] & t[i])
	}
	if both == 0 {
		return 0
	}
	return float64(both) / math.Sqrt(float64(s.size())*float64(t.size()))
}

// rank orders messages by how well they fit; the best first. Some may be near the question by what they mean.
func (f field) rank(msgs []chat.Message, near map[int64]float64) []hit {
	numbers := make(map[string]int, len(f.terms))
	for i, t := range f.terms {
		numbers[t] = i
	}
	terms, all := make([][]string, len(msgs)), 1
	for i, m := range msgs {
		terms[i] = tokenize.Terms(ends(m.Text, 4000))
		all += len(terms[i])
	}
	mean := float64(all) / float64(max(len(msgs), 1))
	who := speakers(msgs, numbers)
	for _, names := range who {
		f.names |= names
	}
	hits := make([]hit, len(msgs))
	var top float64
	var w weights
	for i, m := range msgs {
		h := hit{Message: m, chars: utf8.RuneCountInString(m.Text)}
		w.clear()
		for _, t := range terms[i] {
			h.about.add(t)
			if n, asked := numbers[t]; asked {
				w.add(1<<n, 1)
			}
		}
		f.around(m.Seq, &w)
		s := f.at(m.Seq)
		s.named = who[m.Actor.Name] != 0
		s.dated = slices.ContainsFunc(f.spans, func(day span) bool { return day.holds(m.Time.In(f.now.Location())) })
		h.score = f.score(s, &w, 1-lengthNorm+lengthNorm*float64(len(terms[i]))/mean)
		hits[i] = h
		top = max(top, h.score)
	}
	if top < leastFit*f.total && len(f.spans) == 0 { // the words find nothing
		for i := range hits {
			hits[i].score = 0
		}
	}
	if len(near) > 0 {
		top = blend(hits, near)
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Seq, a.Seq)) })
	return slices.DeleteFunc(hits, func(h hit) bool { return h.score < leastScore*top || h.score <= 0 })
}
