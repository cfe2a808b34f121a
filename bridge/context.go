package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Limits of what /context and /history show.
const (
	contextLines = 5  // newest messages of each part
	contextWords = 40 // runes per message
	historyLines = 10 // messages, by default
	maxHistory   = 50
	historyWords = 100
	sameDay      = "15:04"
	sameYear     = "01-02 15:04"
	anotherYear  = "2006-01-02 15:04"
)

// showContext previews the context of the next prompt; a question may follow the command.
func (cs *commandSet) showContext(ctx context.Context, o invocation) (commandResult, error) {
	if o.chat.Kind == "" {
		return o.say(i18n.ContextNothing)
	}
	cfg, c, l := cs.cfg, o.chat, o.lang
	// The prompt for a live process carries only new messages, so the preview must know whether there is one.
	live := cfg.Context.Resumes() && c.Session.ID != "" && cfg.checkResumable(c) == "" &&
		cs.pool.HasIdle(o.Key.String(), c.Session.ID)
	question := chat.Message{Key: o.Key, ID: o.ID, Actor: o.Actor, Text: o.args, Time: o.Time}
	built, err := NewPreview(*cfg, cs.db, cs.context, cs.pool.Config()).Build(ctx, question, live)
	if err != nil {
		return commandResult{}, err
	}
	p, s := built.Prompt, i18n.ContextHead.In(l)+"\n\n"+built.outline(l)
	for _, part := range []struct {
		title i18n.Phrase
		msgs  []chat.Message
	}{{i18n.ContextOverheard, p.Overheard}, {i18n.ContextRecalled, p.Retrieved}, {i18n.ContextRecent, p.History}} {
		if len(part.msgs) == 0 {
			continue
		}
		s += "\n\n" + part.title.In(l) + "\n\n"
		if more := len(part.msgs) - contextLines; more > 0 {
			s += fmt.Sprintf(i18n.ContextMore.In(l)+"\n", more)
		}
		s += listing(part.msgs[max(0, len(part.msgs)-contextLines):], l, p.Zone, o.Time, contextWords)
	}
	return commandResult{reply: s}, nil
}

// showHistory shows the last messages of the chat, including those from before /new.
func (cs *commandSet) showHistory(ctx context.Context, o invocation) (commandResult, error) {
	l, n := o.lang, historyLines
	if o.args != "" {
		var err error
		if n, err = strconv.Atoi(o.args); err != nil || n < 1 {
			return o.say(i18n.HistoryUsage, maxHistory)
		}
		n = min(n, maxHistory)
	}
	list, err := cs.db.Messages().Latest(ctx, o.Key, n)
	if err != nil {
		return commandResult{}, err
	}
	if len(list) == 0 {
		return o.say(i18n.HistoryNothing)
	}
	s := fmt.Sprintf(i18n.HistoryShown.In(l), len(list)) + "\n\n"
	from := 0
	for i, said := range list {
		if said.Epoch != list[from].Epoch {
			s += listing(list[from:i], l, cs.context.Zone(), o.Time, historyWords)
			s += "\n\n" + i18n.HistoryRestarted.In(l) + "\n\n"
			from = i
		}
	}
	return commandResult{reply: s + listing(list[from:], l, cs.context.Zone(), o.Time, historyWords)}, nil
}

// listing has a line for each message: time, author and first words.
func listing(msgs []chat.Message, l i18n.Lang, zone *time.Location, now time.Time, words int) string {
	lines := make([]string, len(msgs))
	for i, m := range msgs {
		who := i18n.SpeakerBot.In(l)
		if m.Role == chat.User {
			who = cmp.Or(i18n.Excerpt(m.Actor.Name, 20), i18n.SpeakerUser.In(l))
		}
		at := shortTime(m.Time.In(zone), now.In(zone))
		lines[i] = fmt.Sprintf("- %s **%s**: %s", at, who, i18n.Excerpt(m.Text, words))
	}
	return strings.Join(lines, "\n")
}

// shortTime formats t without the parts that it shares with now.
func shortTime(t, now time.Time) string {
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(sameDay)
	case t.Year() == now.Year():
		return t.Format(sameYear)
	}
	return t.Format(anotherYear)
}
