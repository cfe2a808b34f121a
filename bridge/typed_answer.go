package bridge

import (
	"context"

	"magpie/bridge/approval"
	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// typedAnswers takes a message that is written while the agent has a question as the answer to it: people answer the way
// they talk, and a message that waited for the end of the turn would wait for its own answer.
type typedAnswers struct {
	lanes     *workqueue.Lanes
	steering  *steering
	approvals *approval.Requests
}

// answerTo returns the running turn whose agent a message answers, and the answer; 0 = it answers none. A message with a
// file does not, nor one that says that it is an addition.
func (ta typedAnswers) answerTo(ctx context.Context, m chat.Incoming) (turn int64, answer approval.TypedAnswer) {
	if turn = ta.lanes.RunningTurn(m.Key); turn == 0 || addition.MatchString(m.Text) {
		return 0, approval.TypedAnswer{}
	}
	answer, ok := ta.approvals.TypedAnswer(ctx, turn, m)
	if !ok {
		return 0, approval.TypedAnswer{}
	}
	return turn, answer
}

// give gives the agent the answer of a stored message. If somebody else has answered meanwhile, the message is passed to
// the agent as an addition.
func (ta typedAnswers) give(ctx context.Context, s db.Steer, m chat.Message, answer approval.TypedAnswer, l i18n.Lang) {
	failpoint.At("answer: typed")
	settled, err := ta.approvals.Answer(ctx, answer, s.Prompt, l)
	if err != nil {
		ta.steering.log.Error().Err(err).Stringer("chat", m.Key).Int64("turn", s.Turn).
			Msg("typed answer not stored; passing it to the agent as an addition")
	}
	if !settled {
		ta.steering.handToAgent(s.Turn, s.Prompt, m)
	}
}
