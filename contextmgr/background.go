package contextmgr

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// backgroundChars is how much of what was said to others a prompt carries, in runes.
const backgroundChars = 2000

// overheard is what was said in a group but not to the bot, up to the question. A session has seen what was said before
// the last turn that it holds.
func (m *Manager) overheard(ctx context.Context, r Request) []chat.Message {
	if r.Kind == chat.Private || m.cfg.AutoChatContext == 0 {
		return nil
	}
	var seen int64
	if r.Live || r.ResumeID != "" {
		seen = r.Seen
	}
	list, err := m.db.Background().Overheard(ctx, r.Key, r.Epoch, seen, lastAsked(r), m.cfg.AutoChatContext)
	if err != nil {
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).Msg("what was overheard is not known; answering without it")
	}
	return newest(list, backgroundChars)
}

// newest is the end of msgs, oldest first, with so many runes at most. When not even the last one fits, it loses its
// middle.
func newest(msgs []chat.Message, chars int) []chat.Message {
	var kept []chat.Message
	for _, m := range slices.Backward(msgs) {
		m.Text = strings.TrimSpace(m.Text)
		n := utf8.RuneCountInString(m.Text)
		if n == 0 {
			continue
		}
		if n > chars {
			if len(kept) > 0 {
				break
			}
			m.Text = without([]rune(valid(m.Text)), chars)
		}
		chars -= n
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	return kept
}

// lastAsked is when the newest of the questions was written; now, when nothing is asked yet.
func lastAsked(r Request) time.Time {
	if len(r.Asked) == 0 {
		return time.Now()
	}
	var last time.Time
	for _, m := range r.Asked {
		if m.Time.After(last) {
			last = m.Time
		}
	}
	return last
}
