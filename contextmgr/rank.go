package contextmgr

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/lexicon"
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
	leastScore = 0.02 // of the best message's
)

// sighting is what the index tells of a message.
type sighting struct {
	seq   int64
	words uint64  // which of the question's it holds
	named bool    // somebody said it whom the question names
	dated bool    // it was written on a day that the question names, or the day before or after
	score float64 // of the words
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

// survey puts together what the index tells.
func survey(q query, found db.Found) field {
	f := field{query: q, idf: make([]float64, len(q.terms))}
	var marks []int64 // seq and number of the term, in one
	const kinds = 1 << 7
	isName, isDay := len(q.terms), len(q.terms)+1
	n := float64(found.Messages)
	var onDays float64
	for i, p := range found.Terms {
		as := i
		switch {
		case i < len(q.terms):
			f.idf[i] = idf(p, n) * share(p.Term)
			w := f.idf[i]
			if len(p.Seqs) == 0 {
				w *= unheard
			}
			f.total += w
		case i < 2*len(q.terms):
			if len(p.Seqs) == 0 || share(p.Term[len("§"):]) < 1 {
				continue
			}
			f.names |= 1 << (i - len(q.terms))
			as = isName
		default:
			as = isDay
			onDays += float64(len(p.Seqs))
		}
		for _, s := range p.Seqs {
			marks = append(marks, s*kinds+int64(as))
		}
	}
	f.daily = math.Log(1 + n/(onDays+1))
	slices.Sort(marks)
	for _, mark := range marks {
		seq, as := mark>>7, int(mark&(kinds-1))
		if len(f.sighted) == 0 || f.sighted[len(f.sighted)-1].seq != seq {
			f.sighted = append(f.sighted, sighting{seq: seq})
		}
		s := &f.sighted[len(f.sighted)-1]
		switch as {
		case isName:
			s.named = true
		case isDay:
			s.dated = true
		default:
			s.words |= 1 << as
			s.score += f.idf[as]
		}
	}
	return f
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

// around is how much of each word the message has from the messages around it, into sum.
func (f field) around(seq int64, sum []float64) {
	i, _ := f.find(seq)
	add := func(words uint64, w float64) {
		for ; words != 0; words &= words - 1 {
			sum[bits.TrailingZeros64(words)] += w
		}
	}
	for j := i - 1; j >= 0 && f.sighted[j].seq >= seq-reach; j-- {
		add(f.sighted[j].words, fromBefore*steps[seq-f.sighted[j].seq])
	}
	for j := i; j < len(f.sighted) && f.sighted[j].seq <= seq+reach; j++ {
		if d := f.sighted[j].seq - seq; d > 0 {
			add(f.sighted[j].words, fromAfter*steps[d])
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
	seeds := slices.Clone(f.sighted)
	for i := range seeds {
		if seeds[i].dated {
			seeds[i].score += f.daily
		}
	}
	slices.SortFunc(seeds, func(a, b sighting) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.seq, a.seq)) })
	seen := map[int64]bool{}
	var list []sighting
	sum := make([]float64, len(f.terms))
	for _, s := range seeds[:min(len(seeds), mostSeeds)] {
		for seq := s.seq - reach; seq <= s.seq+reach; seq++ {
			if seen[seq] {
				continue
			}
			seen[seq] = true
			c := f.at(seq)
			clear(sum)
			f.around(seq, sum)
			c.score = f.score(c, func(t int) float64 { return float64(c.words >> t & 1) }, sum, 1)
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b sighting) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.seq, a.seq)) })
	var seqs []int64
	for _, c := range list[:min(len(list), mostRead)] {
		seqs = append(seqs, c.seq)
	}
	return seqs
}

// score is BM25 over a message and those around it, with what its speaker and its day say.
func (f field) score(s sighting, tf func(term int) float64, around []float64, norm float64) (score float64) {
	for t, w := range f.idf {
		n := tf(t) + around[t]
		if n == 0 {
			continue
		}
		if f.names>>t&1 == 1 {
			w *= ownName
		}
		score += w * n * (saturation + 1) / (n + saturation*norm)
	}
	if f.names != 0 && s.named {
		score *= bySpeaker
	}
	if s.dated {
		score = score*onDay + 2*f.daily
	}
	return score
}

// seed makes numbers of terms.
var seed = maphash.MakeSeed()

// hit is a message with what speaks for it.
type hit struct {
	chat.Message
	tf    []float64 // how often it has each of the question's words
	words []uint32  // its terms, as numbers, each once and sorted
	long  float64   // in terms
	score float64
	chars int
}

// rank orders messages by how well they fit; the best first.
func (f field) rank(msgs []chat.Message) []hit {
	hits := make([]hit, len(msgs))
	words := make(map[string]int, len(f.terms))
	for i, t := range f.terms {
		words[t] = i
	}
	counts := make([]float64, len(msgs)*len(f.terms))
	var sum float64
	for i, m := range msgs {
		terms := lexicon.Terms(m.Text)
		h := hit{Message: m, words: make([]uint32, len(terms)), long: float64(len(terms)), chars: utf8.RuneCountInString(m.Text)}
		h.tf, counts = counts[:len(f.terms)], counts[len(f.terms):]
		for j, t := range terms {
			h.words[j] = uint32(maphash.String(seed, t)) //nolint:gosec // the lower half is as good as the whole
			if n, asked := words[t]; asked {
				h.tf[n]++
			}
		}
		slices.Sort(h.words)
		h.words = slices.Compact(h.words)
		hits[i] = h
		sum += h.long
	}
	mean := max(sum/float64(max(len(hits), 1)), 1)
	around := make([]float64, len(f.terms))
	var best float64
	for i := range hits {
		h := &hits[i]
		clear(around)
		f.around(h.Seq, around)
		s := f.at(h.Seq)
		s.dated = slices.ContainsFunc(f.spans, func(sp span) bool { return sp.holds(h.Time.In(f.now.Location())) })
		h.score = f.score(s, func(t int) float64 { return h.tf[t] }, around, 1-lengthNorm+lengthNorm*h.long/mean)
		best = max(best, h.score)
	}
	if best <= 0 || best < leastFit*f.total && len(f.spans) == 0 {
		return nil
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Seq, a.Seq)) })
	return slices.DeleteFunc(hits, func(h hit) bool { return h.score < leastScore*best || h.score <= 0 })
}
