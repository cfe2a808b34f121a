package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Limits of /resume.
const (
	pastSessions = 20 // the newest sessions
	shortID      = 8  // how many characters of an ID identify a session
)

// resume is the command /resume: it lists the chat's past sessions, or returns to one.
func (cs *commandSet) resume(ctx context.Context, o invocation) (commandResult, error) {
	list, err := cs.db.Chats().PastSessions(ctx, o.Key, pastSessions)
	if err != nil {
		return commandResult{}, err
	}
	switch {
	case !cs.cfg.Context.Resumes():
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
		if p.ID == o.chat.Session.ID {
			mark = i18n.ResumeNow.In(o.lang)
		} else if len(card.Buttons) < mostButtons {
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
		older, err := cs.db.Chats().PastSessions(ctx, o.Key, mostSessions)
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
	if past.ID == o.chat.Session.ID {
		return o.say(i18n.ResumeIsNow)
	}
	if busy, err := cs.turns.isBusy(ctx, o.Key); err != nil || busy {
		return commandResult{reply: i18n.Busy.In(o.lang)}, err
	}
	dir := realPath(cs.cfg.projectDir(o.chat))
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
