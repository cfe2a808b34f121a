package contextmgr

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Limits are the limits of the history prefix.
type Limits struct {
	MinChars        int // runes
	MinUserMessages int
	MaxTokens       int    // estimated, for the whole prefix; 0 or less = no limit
	Lang            string // of the prefix

	AskedAt     time.Time // the time of the question; after a long silence the minimums grow; zero = they do not
	SessionTurn int64     // the last turn that the session holds; all later messages are taken; 0 = unknown
}

// Factors of the minimums: for a turn without a session, and for one after a silence so long that people themselves
// have forgotten the details.
const (
	growth      = 4
	reminder    = 2
	longSilence = 6 * time.Hour
)

// forNewSession returns the limits for a turn without a session, whose prefix is all that the agent knows.
func (l Limits) forNewSession() Limits { return l.times(growth) }

// times multiplies the minimums. The token limit stays, as it limits the cost of a turn.
func (l Limits) times(n int) Limits {
	l.MinChars *= n
	l.MinUserMessages *= n
	return l
}

// afterSilence raises the minimums if the newest message of the conversation is much older than the question.
func (l Limits) afterSilence(newest time.Time) Limits {
	if !l.AskedAt.IsZero() && l.AskedAt.Sub(newest) > longSilence {
		return l.times(reminder)
	}
	return l
}

// maxTaken limits the messages taken from one chat, however short they are.
const maxTaken = 500

// satisfied reports whether both minimums are reached.
func (l Limits) satisfied(chars, users int) bool {
	return chars >= l.MinChars && users >= l.MinUserMessages
}

// isConversation reports whether a message is part of the conversation.
func isConversation(m chat.Message) bool {
	return (m.Role == chat.User || m.Role == chat.Assistant) && m.Class == chat.Talk && strings.TrimSpace(m.Text) != ""
}

// selectRecent walks a History backwards and takes whole messages until both minimums are reached and the session holds
// the rest, or until a limit of tokens or messages is reached. It returns them oldest first, and reads no more than it
// needs. After an error it returns what it has taken so far.
func selectRecent(newestFirst iter.Seq2[chat.Message, error], l Limits) (taken []chat.Message, err error) {
	defer func() { slices.Reverse(taken) }()
	chars, users, tokens := 0, 0, 0
	for m, err := range newestFirst {
		if err != nil {
			return taken, err
		}
		if !isConversation(m) {
			continue
		}
		// The minimums are final once the newest message is known, because they depend on its age.
		if len(taken) == 0 {
			l = l.afterSilence(m.Time)
		} else if l.satisfied(chars, users) && m.Turn <= l.SessionTurn {
			break
		}
		taken = append(taken, m)
		chars += utf8.RuneCountInString(m.Text)
		tokens += min(EstimateTokens(m.Text), l.MaxTokens/2) // truncate leaves at most half to one message
		if m.Role == chat.User {
			users++
		}
		if l.satisfied(chars, users) && l.SessionTurn == 0 || l.MaxTokens > 0 && tokens >= l.MaxTokens ||
			len(taken) == maxTaken {
			break
		}
	}
	return taken, nil
}
