package contextmgr

import (
	"fmt"
	"slices"
	"sort"

	"magpie/internal/chat"
	"magpie/internal/text"
)

// truncate reduces msgs, oldest first, to l.MaxTokens for the whole prefix with its headings. No message keeps more
// than half of the budget: a longer one loses its middle, with a mark that says how much is missing. Then the oldest
// messages are dropped. The newest always stays, cut as far as needed. msgs itself is not changed.
func truncate(msgs []chat.Message, l Limits) []chat.Message {
	kept := slices.Clone(msgs)
	if l.MaxTokens <= 0 {
		return kept
	}
	room := l.MaxTokens - EstimateTokens(head(l.Lang)) - EstimateTokens(questionHead(l.Lang))
	half := l.MaxTokens / 2
	first := len(kept)
	for i := len(kept) - 1; i >= 0; i-- {
		m := &kept[i]
		frame := frameCost(len(kept), *m, l.Lang)
		most := min(half, room) - frame
		cost := textCost(m.Text)
		newest := i == len(kept)-1
		// A message that exceeds any budget is cut, if enough room is left for a useful part. A shorter one is kept
		// whole or not at all.
		huge := cost > half-frame && most >= l.MaxTokens/8
		if cost > most {
			if !newest && !huge {
				break
			}
			m.Text = omitMiddle(m.Text, most, l.Lang)
			cost = textCost(m.Text)
		}
		room -= frame + cost
		first = i
	}
	return kept[first:]
}

// leastShare is the minimum number of tokens for each message, if it has that many, when many share a budget.
const leastShare = 30

// shrink cuts the longest messages, in place, to one common length, so that all fit in l.MaxTokens: a summary must not
// miss a message. If that is not enough, [truncate] drops the oldest.
func shrink(msgs []chat.Message, l Limits) []chat.Message {
	room := l.MaxTokens - EstimateTokens(head(l.Lang)) - EstimateTokens(questionHead(l.Lang))
	costs, longest := make([]int, len(msgs)), 0
	for i, m := range msgs {
		room -= frameCost(len(msgs), m, l.Lang)
		costs[i] = textCost(m.Text)
		longest = max(longest, costs[i])
	}
	tooMuch := func(most int) bool {
		sum := 0
		for _, c := range costs {
			sum += min(c, most)
		}
		return sum > room
	}
	// The largest common limit with which the sum still fits.
	most := sort.Search(longest, func(n int) bool { return tooMuch(n + 1) })
	for i := range msgs {
		if costs[i] > most {
			msgs[i].Text = omitMiddle(msgs[i].Text, max(most, leastShare), l.Lang)
		}
	}
	return msgs
}

// textCost is the cost of a message's text in the prefix, where some of its lines may be escaped.
func textCost(text string) int { return EstimateTokens(escape(validUTF8(text), reservedInHistory)) }

// frameCost is an upper bound of what the prefix adds to m in a list of up to n messages.
func frameCost(n int, m chat.Message, lang string) int {
	h := heading(n, Parsed{Role: m.Role, Name: speaker(m, chat.Group)}, lang)
	return EstimateTokens(h) + EstimateTokens("\n\n")
}

// omitMiddle removes runes from the middle of text until the rest costs at most this many tokens, and puts a
// mark in their place. It does not split grapheme clusters, except those of dozens of runes. If nothing
// fits, only the mark is left.
func omitMiddle(text string, most int, lang string) string {
	runes := []rune(validUTF8(text))
	tooMany := func(keep int) bool { return textCost(cutMiddle(runes, keep, lang)) > most }
	// First find an upper bound by doubling: the cost of a very long text is measured only in small parts.
	high := 64
	for high < len(runes) && !tooMany(high) {
		high *= 2
	}
	high = min(high, len(runes)-1)
	keep := sort.Search(high, func(n int) bool { return tooMany(n + 1) })
	return cutMiddle(runes, keep, lang)
}

// cutMiddle keeps about keep runes, two thirds of them from the start, and marks the gap.
func cutMiddle(runes []rune, keep int, lang string) string {
	from := text.Border(runes, keep-keep/3, -1)
	to := text.Border(runes, len(runes)-keep/3, +1)
	return string(runes[:from]) + omissionNote(to-from, lang) + string(runes[to:])
}

var omission = wording{"\n…（此处省略 %d 字）…\n", "\n… (%d characters left out here) …\n"}

// omissionNote is the mark for text that was cut out of a message.
func omissionNote(runes int, lang string) string { return fmt.Sprintf(omission.in(lang), runes) }
