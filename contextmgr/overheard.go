package contextmgr

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// overheardChars bounds, in runes, how much of a group's other talk a prompt carries.
const overheardChars = 2000

// overheardMessages returns the group messages that were not addressed to the bot, up to the question. A session
// already contains those from before its last turn. An error is only logged: it is optional.
func (m *Manager) overheardMessages(ctx context.Context, r Request) []chat.Message {
	if r.Kind == chat.Private || m.cfg.AutoChatContext == 0 {
		return nil
	}
	var seen int64
	if r.Live || r.ResumeID != "" {
		seen = r.Seen
	}
	list, err := m.db.Messages().Overheard(ctx, r.Key, r.Epoch, seen, lastAsked(r), m.cfg.AutoChatContext)
	if err != nil {
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).
			Msg("what was overheard is not known; answering without it")
	}
	return newestWithin(list, overheardChars, r.Lang)
}

// newestWithin returns the newest messages, oldest first, that fit in the given number of runes. If even the last one
// does not fit, its middle is cut out.
func newestWithin(msgs []chat.Message, chars int, lang string) []chat.Message {
	var kept []chat.Message
	for _, m := range slices.Backward(msgs) {
		m.Text = strings.TrimSpace(validUTF8(m.Text))
		n := utf8.RuneCountInString(m.Text)
		if n == 0 {
			continue
		}
		if n > chars {
			// Only the newest message may be cut: half of an older one would be misleading.
			if len(kept) > 0 {
				break
			}
			m.Text = cutMiddle([]rune(m.Text), chars, lang)
		}
		chars -= n
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	return kept
}

// lastAsked is the time of the newest question, or now if nothing is asked yet.
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
