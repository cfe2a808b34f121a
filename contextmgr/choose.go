package contextmgr

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Limits bound the history prefix.
type Limits struct {
	MinChars        int // runes
	MinUserMessages int
	MaxTokens       int // estimated; of the whole prefix
}

// growth is how much more history a turn gets whose session is not there.
const growth = 4

// Grown is for a turn without a session: all that the agent will know is in the prefix.
func (l Limits) Grown() Limits {
	l.MinChars *= growth
	l.MinUserMessages *= growth
	return l
}

// counts reports whether a message is part of the conversation.
func counts(m chat.Message) bool {
	return (m.Role == chat.User || m.Role == chat.Assistant) && m.Class == chat.Talk && strings.TrimSpace(m.Text) != ""
}

// Select walks a History backwards and takes whole messages until both minimums are met, or until the most that fits
// is there. It returns them oldest first, and pulls nothing that it does not need.
func Select(newestFirst iter.Seq2[chat.Message, error], l Limits) ([]chat.Message, error) {
	var taken []chat.Message
	chars, users, tokens := 0, 0, 0
	for m, err := range newestFirst {
		if err != nil {
			return nil, err
		}
		if !counts(m) {
			continue
		}
		taken = append(taken, m)
		chars += utf8.RuneCountInString(m.Text)
		tokens += EstimateTokens(m.Text)
		if m.Role == chat.User {
			users++
		}
		if chars >= l.MinChars && users >= l.MinUserMessages || tokens >= l.MaxTokens {
			break
		}
	}
	for i, j := 0, len(taken)-1; i < j; i, j = i+1, j-1 {
		taken[i], taken[j] = taken[j], taken[i]
	}
	return taken, nil
}

// messageOverhead is what a message's heading costs, in tokens; prefixOverhead is the frame around them all.
const (
	messageOverhead = 12
	prefixOverhead  = 80
)

// Fit keeps a selection, oldest first, within the token budget: a message that would take more than half of it is cut in
// the middle, then the oldest leave until the rest fits. The newest always stays.
func Fit(msgs []chat.Message, l Limits) []chat.Message {
	left := l.MaxTokens - prefixOverhead
	half := max(left/2-messageOverhead, 0)
	kept := len(msgs)
	fitted := make([]chat.Message, len(msgs))
	for i := len(msgs) - 1; i >= 0; i-- {
		m := msgs[i]
		m.Text = cutMiddle(m.Text, half)
		left -= EstimateTokens(m.Text) + messageOverhead
		if left < 0 && i < len(msgs)-1 {
			break
		}
		fitted[i] = m
		kept = i
	}
	return fitted[kept:]
}

// omitted is put where text was cut out of a message.
func omitted(runes int) string { return fmt.Sprintf("\n…（此处省略 %d 字）…\n", runes) }

// cutMiddle shortens a text to about max tokens by cutting its middle out, never inside a character.
func cutMiddle(text string, max int) string {
	have := EstimateTokens(text)
	if have <= max {
		return text
	}
	r := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	keep := len(r) * max / have
	for keep > 0 {
		from, to := border(r, keep*2/3), border(r, len(r)-keep/3)
		short := string(r[:from]) + omitted(to-from) + string(r[to:])
		if EstimateTokens(short) <= max {
			return short
		}
		keep = keep * 9 / 10
	}
	return omitted(len(r))
}

// border moves i back to where a visible character begins.
func border(r []rune, i int) int {
	const joiner = 0x200D
	for i > 0 && i < len(r) && (r[i] == joiner || r[i-1] == joiner || unicode.In(r[i], unicode.Mn, unicode.Me, unicode.Sk)) {
		i--
	}
	return i
}
