package approval

import (
	"context"
	"strings"
	"unicode/utf8"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// TypedAnswer is a message that answers the agent's question as its card would.
type TypedAnswer struct {
	approval db.Approval
	press    chat.Press
}

// TypedAnswer returns a message as the answer to what the agent of a turn asks. ok is false unless that is a single
// question, and nothing else waits for a decision: otherwise it would not be clear what the message answers.
func (rs *Requests) TypedAnswer(turn int64, m chat.Incoming) (answer TypedAnswer, ok bool) {
	open := rs.open.forTurn(turn)
	if len(open) != 1 || open[0].Tool != claude.QuestionTool || !mayDecide(rs.access.Load(), open[0], m.Actor) {
		return TypedAnswer{}, false
	}
	a := open[0]
	list, err := questionsOf(a.Input)
	if err != nil || len(list) != 1 || strings.TrimSpace(m.Text) == "" || utf8.RuneCountInString(m.Text) > longestAnswer {
		return TypedAnswer{}, false
	}
	return TypedAnswer{a, chat.Press{
		ID: m.ID, Key: m.Key, Actor: m.Actor, Action: chat.Action{Do: DoAllow, Turn: a.Turn, ID: ActionID(a)},
		Values: map[string][]string{freeTextField(0): {m.Text}},
	}}, true
}

// Answer settles the question with a typed answer. It returns false if somebody else has settled it meanwhile.
func (rs *Requests) Answer(ctx context.Context, t TypedAnswer, l i18n.Lang) (settled bool, err error) {
	log := rs.log.With().Stringer("chat", t.press.Key).Str("user", t.press.Actor.ID).Str("approval", t.approval.ID).Logger()
	_, settled, err = rs.settlePress(ctx, t.approval, t.press, l, log)
	return settled, err
}
