package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// Limits of /resume.
const (
	pastSessions = 20 // the newest sessions
	shortID      = 8  // how many characters of an ID identify a session
)

// resume is the command /resume: it lists the chat's past sessions, or returns to one.
func (cs *commandSet) resume(ctx context.Context, o invocation) (commandResult, error) {
	cfg, current := cs.cfg, o.chat.Session
	list, err := cs.db.Chats().PastSessions(ctx, o.Key, pastSessions)
	if err != nil {
		return commandResult{}, err
	}
	switch {
	case !cfg.Context.Resumes():
		return o.say(i18n.ResumeNever)
	case o.args != "":
		return cs.goBack(ctx, o, list)
	case len(list) == 0:
		return o.say(i18n.ResumeNothing)
	}
	var s strings.Builder
	s.WriteString(i18n.ResumeHead.In(o.lang) + "\n")
	card := &chat.Card{Summary: i18n.FirstLine(i18n.ResumeHead.In(o.lang))}
	for i, p := range list {
		mark := ""
		// The current session needs no button.
		if p.ID == current.ID {
			mark = i18n.ResumeNow.In(o.lang)
		} else if len(card.Buttons) < maxButtons {
			card.Buttons = append(card.Buttons, turncard.CommandButton(fmt.Sprintf("%d", i+1), "/resume "+p.ID))
		}
		at := shortTime(p.Ended.In(cs.zone), o.Time.In(cs.zone))
		question, id := i18n.Excerpt(cmp.Or(p.Title, p.Question), contextWords), p.ID[:min(shortID, len(p.ID))]
		fmt.Fprintf(&s, i18n.ResumeLine.In(o.lang)+"\n", i+1, at, question, p.Turns, id, mark)
	}
	card.Body = s.String()
	return commandResult{card: card}, nil
}

// goBack makes one of the listed sessions the chat's current one. Any other session, such as one of another chat, is
// not found.
func (cs *commandSet) goBack(ctx context.Context, o invocation, list []db.PastSession) (commandResult, error) {
	past, ok := pick(list, o.args)
	if !ok && !isNumber(o.args) { // /search finds older ones, too
		older, err := cs.db.Chats().PastSessions(ctx, o.Key, maxSessions)
		if err != nil {
			return commandResult{}, err
		}
		past, ok = pick(older, o.args)
	}
	if !ok {
		if !isNumber(o.args) {
			cs.log.Warn().Stringer("chat", o.Key).Str("user", o.Actor.ID).
				Msg("a session was asked for that the chat has not had")
		}
		return o.say(i18n.ResumeUnknown)
	}
	if now := o.chat.Session; past.ID == now.ID {
		return o.say(i18n.ResumeIsNow)
	}
	if why, err := cs.turns.isBusy(ctx, o.Key); err != nil || why != (i18n.Phrase{}) {
		return commandResult{reply: why.In(o.lang)}, err
	}
	dir := realPath(cs.places.DirOf(o.chat))
	done := i18n.ResumeDone
	var lost *claude.LostError
	if _, err := cs.pool.Config().Transcripts(o.Key.String()).Verify(dir, past.ID, nil); errors.As(err, &lost) {
		done = i18n.ResumeLost // the conversation continues from the History
	}
	back, err := o.do(db.ResumeSession{Session: db.Session{ID: past.ID, Node: cs.cfg.Node, Cwd: dir}},
		done, i18n.Excerpt(past.Question, contextWords))
	if err != nil || past.Epoch == o.chat.Epoch { // the conversation goes on
		return back, err
	}
	return cs.cutOff.endWith(ctx, o, back)
}

func isNumber(s string) bool { _, err := strconv.Atoi(s); return err == nil }

// pick finds a session by its number in the list, or by its ID or a prefix of it.
func pick(list []db.PastSession, name string) (db.PastSession, bool) {
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(list) {
		return list[n-1], true
	}
	for _, p := range list {
		// Shorter prefixes could match by accident.
		if len(name) >= shortID && strings.HasPrefix(p.ID, strings.ToLower(name)) {
			return p, true
		}
	}
	return db.PastSession{}, false
}

// Limits of /search.
const (
	maxSessions = 500 // whose titles are searched
	maxMatches  = 500 // messages
	aroundMatch = 30  // runes on each side of a word
)

// search is the command /search: it finds the chat's conversations by the words in them, and in their titles.
func (cs *commandSet) search(ctx context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		return o.say(i18n.SearchUsage)
	}
	found, said, err := cs.matches(ctx, o.Key, o.args)
	switch {
	case err != nil:
		return commandResult{}, err
	case len(found) == 0:
		return o.say(i18n.SearchNothing, i18n.PlainText(i18n.Excerpt(o.args, contextWords)))
	}
	cfg, current := cs.cfg, o.chat.Session
	var s strings.Builder
	s.WriteString(i18n.SearchHead.In(o.lang) + "\n")
	card := &chat.Card{Summary: i18n.FirstLine(i18n.SearchHead.In(o.lang))}
	for i, one := range found {
		at, mark := cmp.Or(said[one.Epoch].Time, one.Ended), ""
		if one.ID == current.ID {
			mark = i18n.ResumeNow.In(o.lang)
		} else if cfg.Context.Resumes() {
			card.Buttons = append(card.Buttons, turncard.CommandButton(fmt.Sprintf("%d", i+1), "/resume "+one.ID))
		}
		title := i18n.PlainText(i18n.Excerpt(cmp.Or(one.Title, one.Question), contextWords))
		fmt.Fprintf(&s, "%d. %s **%s**%s\n", i+1, shortTime(at.In(cs.zone), o.Time.In(cs.zone)), title, mark)
		if text := said[one.Epoch].Text; text != "" {
			fmt.Fprintf(&s, "   %s\n", i18n.PlainText(excerptAround(cfg.clean(text), o.args)))
		}
	}
	card.Body = s.String()
	return commandResult{card: card}, nil
}

// matches are the conversations of a chat that have sessions and contain the words, the latest match first: the newest
// session of each. said is the newest message with the words, by epoch; without one they are in the title.
func (cs *commandSet) matches(
	ctx context.Context, key chat.Key, words string,
) (found []db.PastSession, said map[int64]chat.Message, err error) {
	sessions, err := cs.db.Chats().PastSessions(ctx, key, maxSessions)
	if err != nil {
		return nil, nil, err
	}
	newest := map[int64]db.PastSession{} // by epoch
	for _, s := range slices.Backward(sessions) {
		newest[s.Epoch] = s
	}
	messages, err := cs.db.Search().WithWords(ctx, key, words, maxMatches)
	if err != nil {
		return nil, nil, err
	}
	said = map[int64]chat.Message{}
	for _, m := range messages {
		if s, ok := newest[m.Epoch]; ok {
			found, said[m.Epoch] = append(found, s), m
			delete(newest, m.Epoch)
		}
	}
	for _, s := range sessions {
		if left := newest[s.Epoch]; left.ID == s.ID && strings.Contains(strings.ToLower(s.Title), strings.ToLower(words)) {
			found = append(found, s)
		}
	}
	return found[:min(len(found), maxButtons)], said, nil
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
