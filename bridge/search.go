package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
)

// Limits of /search.
const (
	mostSessions = 500 // whose titles are searched
	mostMatches  = 500 // messages
	aroundMatch  = 30  // runes on each side of a word
)

// match is a conversation that /search has found.
type match struct {
	session db.PastSession // its newest one
	message chat.Message   // the newest one with the words; empty = they are in the title
}

// search is the command /search: it finds the chat's conversations by the words in them, and in their titles.
func (cs *commandSet) search(ctx context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		return o.say(i18n.SearchUsage)
	}
	matches, err := cs.matches(ctx, o.Key, o.args)
	switch {
	case err != nil:
		return commandResult{}, err
	case len(matches) == 0:
		return o.say(i18n.SearchNothing, i18n.PlainText(i18n.Excerpt(o.args, contextWords)))
	}
	var s strings.Builder
	s.WriteString(i18n.SearchHead.In(o.lang) + "\n")
	card := &chat.Card{Summary: i18n.FirstLine(i18n.SearchHead.In(o.lang))}
	for i, m := range matches {
		at, mark := cmp.Or(m.message.Time, m.session.Ended), ""
		if m.session.ID == o.chat.Session.ID {
			mark = i18n.ResumeNow.In(o.lang)
		} else if cs.cfg.Context.Resumes() {
			card.Buttons = append(card.Buttons, turncard.CommandButton(fmt.Sprintf("%d", i+1), "/resume "+m.session.ID))
		}
		title := i18n.PlainText(i18n.Excerpt(cmp.Or(m.session.Title, m.session.Question), contextWords))
		fmt.Fprintf(&s, "%d. %s **%s**%s\n", i+1, shortTime(at.In(cs.zone), o.Time.In(cs.zone)), title, mark)
		if m.message.Text != "" {
			fmt.Fprintf(&s, "   %s\n", i18n.PlainText(excerptAround(cs.cfg.clean(m.message.Text), o.args)))
		}
	}
	card.Body = s.String()
	return commandResult{card: card}, nil
}

// matches are the conversations of a chat that have sessions and contain the words, the latest match first.
func (cs *commandSet) matches(ctx context.Context, key chat.Key, words string) (list []match, err error) {
	sessions, err := cs.db.Chats().PastSessions(ctx, key, mostSessions)
	if err != nil {
		return nil, err
	}
	newest := map[int64]db.PastSession{} // by epoch
	for _, s := range slices.Backward(sessions) {
		newest[s.Epoch] = s
	}
	messages, err := cs.db.Index().WithWords(ctx, key, words, mostMatches)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if s, ok := newest[m.Epoch]; ok {
			list = append(list, match{s, m})
			delete(newest, m.Epoch)
		}
	}
	for _, s := range sessions {
		if left := newest[s.Epoch]; left.ID == s.ID && strings.Contains(strings.ToLower(s.Title), strings.ToLower(words)) {
			list = append(list, match{session: s})
		}
	}
	return list[:min(len(list), mostButtons)], nil
}

// excerptAround is the part of a text around the first of the words that occurs in it as it is written.
func excerptAround(text, words string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	lower := make([]rune, len(runes)) // of the same length, unlike what strings.ToLower returns
	for i, r := range runes {
		lower[i] = unicode.ToLower(r)
	}
	at := 0
	for _, word := range strings.Fields(strings.ToLower(words)) {
		if before, _, ok := strings.Cut(string(lower), word); ok {
			at = len([]rune(before))
			break
		}
	}
	from, before := max(0, at-aroundMatch), ""
	if from > 0 {
		before = "…"
	}
	return before + i18n.Excerpt(string(runes[from:]), 3*aroundMatch)
}
