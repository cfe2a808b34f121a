package approval

import (
	"context"
	"slices"
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
// question, and it is clear that the message answers it.
func (rs *Requests) TypedAnswer(ctx context.Context, turn int64, m chat.Incoming) (answer TypedAnswer, ok bool) {
	a, ok := rs.requestAnsweredBy(ctx, turn, m)
	if !ok || a.Tool != claude.QuestionTool || !mayDecide(rs.access.Load(), a, m.Actor) {
		return TypedAnswer{}, false
	}
	list, err := questionsOf(a.Input)
	if err != nil || len(list) != 1 || strings.TrimSpace(m.Text) == "" || utf8.RuneCountInString(m.Text) > longestAnswer {
		return TypedAnswer{}, false
	}
	return TypedAnswer{a, chat.Press{
		ID: m.ID, Key: m.Key, Actor: m.Actor, Action: chat.Action{Do: DoAllow, Turn: a.Turn, ID: ActionID(a)},
		Values: map[string][]string{freeTextField(0): {m.Text}},
	}}, true
}

// requestAnsweredBy is the request of a turn's agent whose card a message quotes. A message of an asker that quotes nothing
// belongs to the only request; somebody else, such as an admin, may mean anything.
func (rs *Requests) requestAnsweredBy(ctx context.Context, turn int64, m chat.Incoming) (a db.Approval, ok bool) {
	if m.HasFiles() {
		return db.Approval{}, false
	}
	open, quoted := rs.open.forTurn(turn), m.Quoted()
	if quoted == "" {
		if len(open) != 1 || !slices.Contains(open[0].Askers, m.Actor.ID) {
			return db.Approval{}, false
		}
		return open[0], true
	}
	for _, a := range open {
		card, err := rs.store.Approvals().CardOf(ctx, a.ID)
		if err != nil {
			rs.log.Error().Err(err).Str("approval", a.ID).Msg("card of an approval not found; taking its quote as a question")
		} else if rs.outbox.Shows(card, quoted) {
			return a, true
		}
	}
	return db.Approval{}, false
}

// Answer settles the question with a typed answer, a message steered to the turn under a prompt ID. It returns false if
// somebody else has settled it meanwhile.
func (rs *Requests) Answer(ctx context.Context, t TypedAnswer, prompt string, l i18n.Lang) (settled bool, err error) {
	log := rs.log.With().Stringer("chat", t.press.Key).Str("user", t.press.Actor.ID).Str("approval", t.approval.ID).Logger()
	_, settled, err = rs.settlePress(ctx, t.approval, t.press, prompt, l, log)
	return settled, err
}
