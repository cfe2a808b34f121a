package bridge

import (
	"context"
	"regexp"
	"strings"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// agentCommand matches a command of the agent's own, such as "//compact".
var agentCommand = regexp.MustCompile(`^//[a-zA-Z][\w:-]*([ \t].*)?$`)

// parseForwarded reports whether a text is one of the agent's own commands that chats may use, and returns that
// command.
func parseForwarded(own workspace.SlashCommands, text string) (line string, ok bool) {
	text = strings.TrimSpace(text)
	if !agentCommand.MatchString(text) {
		return "", false
	}
	return text[1:], own.Allow(text[1:])
}

// forwardCommand is the plan for a text that looks like one of the agent's own commands.
func (cs *commandSet) forwardCommand(ctx context.Context, o invocation) (commandResult, error) {
	own := cs.pool.Config().SlashCommands()
	if _, ok := parseForwarded(own, o.Text); !ok {
		name, _ := splitWord(o.Text)
		return o.say(i18n.NotPassed, name, "`//"+strings.Join(own, "` `//")+"`")
	}
	// A command of the CLI cannot be queued: it acts on the session as it is when it arrives.
	if why, err := cs.turns.isBusy(ctx, o.Key); err != nil || why != (i18n.Phrase{}) {
		return commandResult{reply: why.In(o.lang)}, err
	}
	return commandResult{ask: strings.TrimSpace(o.Text)}, nil
}

// ownCommand returns the agent's own command if the turn consists of one; empty = the turn is a question.
func (r *turnRunner) ownCommand(t *turn) string {
	if len(t.Asked) != 1 {
		return ""
	}
	line, ok := parseForwarded(r.pool.Config().SlashCommands(), t.Asked[0].Text)
	if !ok {
		return ""
	}
	return line
}

// handleCommandResult handles the result of one of the agent's own commands. Most print nothing and make no model
// request. A new session then leaves no transcript, so there is nothing to resume.
func (t *turn) handleCommandResult(r claude.Result) {
	if r.Failure == "" && t.view.Answer() == "" {
		t.setView(t.view.WithAnswer(i18n.Passed.In(t.view.Lang)))
	}
	if !t.session.resume && r.Usage == (claude.Usage{}) {
		t.session.kept = db.Session{}
	}
}
