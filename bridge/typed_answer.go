package bridge

import (
	"context"
	"slices"
	"time"

	"magpie/bridge/approval"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// typedAnswers takes a message that is written while the agent has a question as the answer to it: people answer the way
// they talk, and a message that waited for the end of the turn would wait for its own answer.
type typedAnswers struct {
	turns     *turnQueue
	store     db.Approvals
	steering  *steering
	approvals *approval.Requests
	reactions *delivery.Reactions
}

// answerTo returns the answer that a message gives to what an agent asks. A message with a file gives none, nor does one
// that says that it is an addition.
func (ta typedAnswers) answerTo(ctx context.Context, m chat.Incoming) (approval.TypedAnswer, error) {
	if addition.MatchString(m.Text) {
		return approval.TypedAnswer{}, nil
	}
	if err := ta.awaitRecovery(ctx, m.Key); err != nil {
		return approval.TypedAnswer{}, err
	}
	running := ta.turns.lanes.RunningTurn(m.Key)
	if running == 0 && m.Quoted() == "" && goOn.MatchString(m.Text) { // without an answer
		return approval.TypedAnswer{}, nil
	}
	m.Time = time.Now().Add(-ta.turns.cfg.Age(m.Time)) // by the clock that says when the agent asked
	return ta.approvals.TypedAnswer(ctx, running, m), nil
}

// awaitRecovery waits for the recovery of the previous run if it has asked something in the chat.
func (ta typedAnswers) awaitRecovery(ctx context.Context, key chat.Key) error {
	if ta.turns.isRecovered() {
		return nil
	}
	left, err := ta.store.Waiting(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		ta.steering.log.Error().Err(err).Stringer("chat", key).
			Msg("what an earlier run has asked not found; taking a message as a question")
	}
	if slices.ContainsFunc(left, func(a db.Approval) bool { return a.Key == key }) {
		return ta.turns.awaitRecovery(ctx)
	}
	return nil
}

// give gives the agent the answer of a stored message, which is then done with. If somebody else has answered meanwhile,
// the message is passed to the agent as an addition.
func (ta typedAnswers) give(ctx context.Context, s db.Steer, m chat.Message, answer approval.TypedAnswer, l i18n.Lang) {
	failpoint.At("answer: typed")
	settled, err := ta.approvals.Answer(ctx, answer, s.Prompt, l)
	if err != nil {
		ta.steering.log.Error().Err(err).Stringer("chat", m.Key).Int64("turn", s.Turn).
			Msg("typed answer not stored; passing it to the agent as an addition")
	}
	if !settled {
		ta.steering.handToAgent(s.Turn, s.Prompt, m)
		return
	}
	ta.reactions.Set([]chat.Message{m}, chat.Finished)
}
