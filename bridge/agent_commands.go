package bridge

import (
	"context"
	"regexp"
	"strings"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/claude"
)

// agentCommand is a line like "//compact": a command of the agent's own.
var agentCommand = regexp.MustCompile(`^//[a-zA-Z][\w:-]*([ \t].*)?$`)

// forwarded reports whether a text is a command of the agent's own that chats may give, and the command.
func forwarded(own claude.SlashCommands, text string) (line string, ok bool) {
	text = strings.TrimSpace(text)
	if !agentCommand.MatchString(text) {
		return "", false
	}
	return text[1:], own.Allow(text[1:])
}

// forwardCommand is the plan for a text that looks like a command of the agent's own.
func (cs conversationCommands) forwardCommand(ctx context.Context, o ordered) (order, error) {
	own := cs.pool.Config().SlashCommands()
	if _, ok := forwarded(own, o.m.Text); !ok {
		name, _ := splitWord(o.m.Text)
		return o.say(i18n.NotPassed, name, "`//"+strings.Join(own, "` `//")+"`")
	}
	// A command of the CLI cannot be queued: it acts on the session as it is when it arrives.
	if busy, err := cs.turns.busy(ctx, o.m.Key); err != nil || busy {
		return order{reply: i18n.Busy.In(o.lang)}, err
	}
	return order{ask: strings.TrimSpace(o.m.Text)}, nil
}

// ownCommand is the command of the agent's own that a turn consists of; empty = it is a question.
func (r attemptRunner) ownCommand(t *turn) string {
	if len(t.claim.Asked) != 1 {
		return ""
	}
	line, ok := forwarded(r.pool.Config().SlashCommands(), t.claim.Asked[0].Text)
	if !ok {
		return ""
	}
	return line
}

// carriedOut takes up that the agent has carried out a command of its own. Most say nothing, and ask the model nothing:
// a new session leaves no transcript then, so there is nothing to resume.
func (t *turn) carriedOut(r claude.Result) {
	if r.Failure == "" && t.view.Answer() == "" {
		t.setView(t.view.Saying(i18n.Passed.In(t.view.Lang)))
	}
	if !t.session.resume && r.Usage == (claude.Usage{}) {
		t.session.kept = db.Session{}
	}
}
