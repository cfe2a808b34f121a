package bridge

import (
	"context"
	"iter"
	"regexp"
	"strings"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// passedOn is a line like "//compact": a command of the agent's own.
var passedOn = regexp.MustCompile(`^//[a-zA-Z][\w:-]*([ \t].*)?$`)

// forwarded reports whether a text is a command of the agent's own that chats may give, and the command.
func (b *Bridge) forwarded(text string) (line string, ok bool) {
	text = strings.TrimSpace(text)
	if !passedOn.MatchString(text) {
		return "", false
	}
	return text[1:], b.pool.Config().TakesCommand(text[1:])
}

// forwardCommand is the plan for a text that looks like a command of the agent's own.
func forwardCommand(ctx context.Context, o ordered) (order, error) {
	own := o.b.pool.Config().SlashCommands()
	if _, ok := o.b.forwarded(o.m.Text); !ok {
		name, _ := splitWord(o.m.Text)
		return o.say(i18n.NotPassed, name, "`//"+strings.Join(own, "` `//")+"`")
	}
	if busy, err := o.busy(ctx); err != nil || busy {
		return order{reply: i18n.Busy.In(o.lang)}, err
	}
	return order{ask: strings.TrimSpace(o.m.Text)}, nil
}

// busy reports whether the chat is being answered, or waits for it.
func (o ordered) busy(ctx context.Context) (bool, error) {
	if o.b.lanes.RunningTurn(o.m.Key) != 0 {
		return true, nil
	}
	if err := o.b.recovery.await(ctx); err != nil {
		return false, err
	}
	turns, err := o.b.db.Queue().Turns(ctx, o.m.Key)
	return len(turns) > 0, err
}

// ownCommand is the command of the agent's own that a turn consists of; empty = it is a question.
func (t *turn) ownCommand() string {
	if len(t.claim.Asked) != 1 {
		return ""
	}
	line, ok := t.b.forwarded(t.claim.Asked[0].Text)
	if !ok {
		return ""
	}
	return line
}

// ask puts the question to a process, or has it carry out a command of its own.
func (t *turn) ask(ctx context.Context, p *claude.Process) iter.Seq2[claude.Event, error] {
	t.course.sent = true
	if line := t.ownCommand(); line != "" {
		return p.Command(ctx, t.claim.Turn.Prompt, line)
	}
	prompt := t.build(ctx, !p.Fresh(), t.session.compare(ctx, p))
	t.b.context.Sent(t.claim.Turn.Key, prompt, !p.Fresh())
	failpoint.At("prompt: sending")
	return p.Run(ctx, t.claim.Turn.Prompt, prompt.Text(), t.shown...)
}

// carriedOut takes up that the agent has carried out a command of its own. Most say nothing, and ask the model nothing:
// a new session leaves no transcript then, so there is nothing to resume.
func (t *turn) carriedOut(r claude.Result) {
	if r.Failure == "" && t.view.Answer() == "" {
		t.show(t.view.Saying(i18n.Passed.In(t.view.Lang)))
	}
	if !t.session.resume && r.Usage == (claude.Usage{}) {
		t.session.kept = db.Session{}
	}
}
