package bridge

import (
	"context"

	"magpie/bridge/approval"
	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
)

// typedAnswers takes a message that is written while the agent has a question as the answer to it: people answer the way
// they talk, and a message that waited for the end of the turn would wait for its own answer.
type typedAnswers struct {
	lanes     *workqueue.Lanes
	steering  *steering
	approvals *approval.Requests
}

// answerTo returns the running turn whose agent a message answers, and the answer; 0 = it answers none. A message with a
// file or a quote does not, nor one that says that it is an addition.
func (ta typedAnswers) answerTo(m chat.Incoming) (turn int64, answer approval.TypedAnswer) {
	if turn = ta.lanes.RunningTurn(m.Key); turn == 0 || len(m.Files) > 0 || addition.MatchString(m.Text) {
		return 0, approval.TypedAnswer{}
	}
	answer, ok := ta.approvals.TypedAnswer(turn, m)
	if !ok {
		return 0, approval.TypedAnswer{}
	}
	return turn, answer
}

// give gives the agent the answer of a stored message. If somebody else has answered meanwhile, the message is passed to
// the agent as an addition. After a crash the question is asked again, and the message is part of the History.
func (ta typedAnswers) give(ctx context.Context, s db.Steer, m chat.Message, answer approval.TypedAnswer, l i18n.Lang) {
	log := ta.steering.log.With().Stringer("chat", m.Key).Int64("turn", s.Turn).Logger()
	if err := ta.steering.store.MarkRead(ctx, s.Turn, s.Prompt); err != nil {
		log.Error().Err(err).Msg("message read by the agent not recorded")
	}
	settled, err := ta.approvals.Answer(ctx, answer, l)
	if err != nil {
		log.Error().Err(err).Msg("typed answer not stored; passing it to the agent as an addition")
	}
	if !settled {
		ta.steering.handToAgent(s.Turn, s.Prompt, m)
	}
}
