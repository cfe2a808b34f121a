package contextmgr

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Limits bound the history prefix.
type Limits struct {
	MinChars        int // runes
	MinUserMessages int
	MaxTokens       int // estimated; of the whole prefix; 0 or less = no bound

	Asked time.Time // when the question was asked: after a long silence the minimums grow; zero = they do not
	Held  int64     // the last turn that the session holds: what came after it is taken in any case; 0 = not known
}

// How many times the minimums grow: for a turn whose session is not there, and for one after a silence so long that
// people have to be reminded themselves.
const (
	growth      = 4
	reminder    = 2
	longSilence = 6 * time.Hour
)

// grown is for a turn without a session: all that the agent will know is in the prefix.
func (l Limits) grown() Limits { return l.times(growth) }

func (l Limits) times(n int) Limits {
	l.MinChars *= n
	l.MinUserMessages *= n
	return l
}

// since raises the minimums when the newest message of the conversation is from long before the question.
func (l Limits) since(newest time.Time) Limits {
	if !l.Asked.IsZero() && l.Asked.Sub(newest) > longSilence {
		return l.times(reminder)
	}
	return l
}

// met reports whether both minimums are.
func (l Limits) met(chars, users int) bool { return chars >= l.MinChars && users >= l.MinUserMessages }

// counts reports whether a message is part of the conversation.
func counts(m chat.Message) bool {
	return (m.Role == chat.User || m.Role == chat.Assistant) && m.Class == chat.Talk && strings.TrimSpace(m.Text) != ""
}

// selectRecent walks a History backwards and takes whole messages until both minimums are met and the session holds the
// rest, or until the most that fits is there. It returns them oldest first, and pulls nothing that it does not need.
// When the walk fails, what it had taken comes with the error.
func selectRecent(newestFirst iter.Seq2[chat.Message, error], l Limits) (taken []chat.Message, err error) {
	defer func() { slices.Reverse(taken) }()
	chars, users, tokens := 0, 0, 0
	for m, err := range newestFirst {
		if err != nil {
			return taken, err
		}
		if !counts(m) {
			continue
		}
		if len(taken) == 0 {
			l = l.since(m.Time)
		} else if l.met(chars, users) && m.Turn <= l.Held {
			break
		}
		taken = append(taken, m)
		chars += utf8.RuneCountInString(m.Text)
		tokens += min(EstimateTokens(m.Text), l.MaxTokens/2) // fit leaves no message more
		if m.Role == chat.User {
			users++
		}
		if l.met(chars, users) && l.Held == 0 || l.MaxTokens > 0 && tokens >= l.MaxTokens {
			break
		}
	}
	return taken, nil
}
