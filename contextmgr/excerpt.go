package contextmgr

import (
	"strings"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// excerpts shortens texts longer than most runes to the part most related to the question.
func (f *queryIndex) excerpts(msgs []chat.Message, most int) []chat.Message {
	for i, m := range msgs {
		if utf8.RuneCountInString(m.Text) > most {
			msgs[i].Text = f.excerpt(m.Text, most)
		}
	}
	return msgs
}

// excerpt is the part of a text, at most that many runes long, with most of the question's words; in whole lines and
// sentences if possible. Marks show what is missing.
func (f *queryIndex) excerpt(text string, most int) string {
	marks := 2 * utf8.RuneCountInString(omissionNote(utf8.RuneCountInString(text), f.lang))
	if most <= marks { // no room for anything between the marks
		return string([]rune(validUTF8(text))[:most])
	}
	most -= marks
	pieces := sentences(validUTF8(text), max(most/4, 1))
	weight := map[string]float64{}
	for t, kinds := range f.kindsOf() {
		for _, kind := range kinds {
			weight[t] = max(weight[t], f.idf[kind])
		}
	}
	score, long := make([]float64, len(pieces)), make([]int, len(pieces))
	for i, p := range pieces {
		seen := map[string]bool{}
		for _, t := range tokenize.Terms(p) {
			if !seen[t] {
				seen[t] = true
				score[i] += weight[t]
			}
		}
		long[i] = utf8.RuneCountInString(p)
	}
	// A window of at most most runes slides over the pieces; the one with the highest score wins.
	var from, to, bestFrom, bestTo, chars int
	var sum, best float64
	for ; to < len(pieces); to++ {
		sum += score[to]
		chars += long[to]
		for ; chars > most; from++ {
			sum -= score[from]
			chars -= long[from]
		}
		if sum > best || bestTo == 0 {
			best, bestFrom, bestTo = sum, from, to+1
		}
	}
	cut := func(pieces []string) string {
		if len(pieces) == 0 {
			return ""
		}
		return omissionNote(utf8.RuneCountInString(strings.Join(pieces, "")), f.lang)
	}
	return strings.TrimSpace(cut(pieces[:bestFrom]) + strings.Join(pieces[bestFrom:bestTo], "") + cut(pieces[bestTo:]))
}

// sentences splits a text after the ends of lines and sentences, and longer pieces after most runes.
func sentences(text string, most int) (pieces []string) {
	start, runes := 0, 0
	for i, r := range text {
		if runes == most {
			pieces = append(pieces, text[start:i])
			start, runes = i, 0
		}
		runes++
		end := i + utf8.RuneLen(r)
		if r == '\n' || strings.ContainsRune("。！？", r) ||
			// A full stop without a space is part of a number, a name or a URL.
			strings.ContainsRune(".!?;", r) && strings.HasPrefix(text[end:], " ") {
			pieces = append(pieces, text[start:end])
			start, runes = end, 0
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}
