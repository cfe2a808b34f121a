package contextmgr

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Limits bound the history prefix.
type Limits struct {
	MinChars        int // runes
	MinUserMessages int
	MaxTokens       int // estimated; of the whole prefix; 0 or less = no bound
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
// is there. It returns them oldest first, and pulls nothing that it does not need. When the walk fails, what it had taken
// comes with the error.
func Select(newestFirst iter.Seq2[chat.Message, error], l Limits) (taken []chat.Message, err error) {
	defer func() { slices.Reverse(taken) }()
	chars, users, tokens := 0, 0, 0
	for m, err := range newestFirst {
		if err != nil {
			return taken, err
		}
		if !counts(m) {
			continue
		}
		taken = append(taken, m)
		chars += utf8.RuneCountInString(m.Text)
		tokens += min(EstimateTokens(m.Text), l.MaxTokens/2) // Fit leaves no message more
		if m.Role == chat.User {
			users++
		}
		if chars >= l.MinChars && users >= l.MinUserMessages || l.MaxTokens > 0 && tokens >= l.MaxTokens {
			break
		}
	}
	return taken, nil
}
