package bridge

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// A message that arrives while an agent works may be the answer to what the agent asks, an addition to its turn, or a
// question of its own.

// addsTo matches a message that says that it adds to an earlier question.
var addsTo = regexp.MustCompile(`(?i)^\s*(补充(一下|一点|说明)?\s*([:：,，。、]|\s)|also\s*[:：])`)

// answerTo returns the answer that a message gives to what an agent asks: people answer the way they talk, and a message
// that waited for the end of the turn would wait for its own answer. A message with a file gives none, nor does one that
// says that it is an addition.
func (rc *receiver) answerTo(ctx context.Context, m chat.Incoming) (approval.TypedAnswer, error) {
	if addsTo.MatchString(m.Text) {
		return approval.TypedAnswer{}, nil
	}
	if err := rc.awaitAsked(ctx, m.Key); err != nil {
		return approval.TypedAnswer{}, err
	}
	running := rc.busy.running(m.Key)
	if running == 0 && m.Quoted() == "" && goOn.MatchString(m.Text) { // without an answer
		return approval.TypedAnswer{}, nil
	}
	m.Time = time.Now().Add(-rc.cfg.Age(m)) // by the clock that says when the agent asked
	return rc.approvals.TypedAnswer(ctx, running, m), nil
}

// awaitAsked waits for the recovery of the previous run if it has asked something in the chat.
func (rc *receiver) awaitAsked(ctx context.Context, key chat.Key) error {
	turns := rc.turns
	if turns.isRecovered(key) {
		return nil
	}
	left, err := rc.db.Access().OpenApprovals(ctx, key)
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		rc.log.Error().Err(err).Stringer("chat", key).
			Msg("what an earlier run has asked not found; taking a message as a question")
	}
	if len(left) == 0 {
		return nil
	}
	return turns.awaitRecovery(ctx, key)
}

// turnFor returns the running turn that a message belongs to; 0 = it is a question of its own. In a group only askers
// of the turn and admins may add to it: the turn acts on behalf of its askers. A file is always a question of its own,
// and so is a message that quotes anything but the turn's card, or is a request. One that is not marked as an addition joins the
// questions that wait, if there are any. A limit that is reached refuses the message, as it would refuse a question.
func (rc *receiver) turnFor(ctx context.Context, m chat.Incoming) (int64, error) {
	turn, quoted := rc.busy.running(m.Key), m.Quoted()
	if turn == 0 || chat.IsRequest(m.ID) || m.HasFiles() {
		return 0, nil
	}
	adds := quoted != "" && rc.isCardOf(ctx, turn, quoted) || quoted == "" && addsTo.MatchString(m.Text)
	if !adds && (quoted != "" || !rc.takesAll || rc.hasWaiting(ctx, m.Key)) {
		return 0, nil
	}
	if !rc.busy.mayAdd(turn, m, rc.access.At(m.Key).InCharge(m)) {
		return 0, nil
	}
	return turn, rc.budget.CheckAddition(ctx, turn, m)
}

// hasWaiting reports whether the chat has waiting questions, which a message that is not marked as an addition may
// belong to, such as the text for a file.
func (rc *receiver) hasWaiting(ctx context.Context, key chat.Key) bool {
	life, err := rc.db.Turns().Of(ctx, key)
	if err != nil {
		rc.log.Error().Err(err).Stringer("chat", key).Msg("waiting turns not found; queueing the addition")
	}
	return err != nil || len(life.In(convo.Queued)) > 0
}

// isCardOf reports whether a message is one of those that show the answer of a turn.
func (rc *receiver) isCardOf(ctx context.Context, turn int64, message string) bool {
	card, err := rc.db.Outbox().CardOf(ctx, turn, "")
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		rc.log.Error().Err(err).Int64("turn", turn).Msg("card of a turn not found; taking its quote as a question")
	}
	return card != "" && rc.outbox.CardOf(message) == chat.FirstMessage(card)
}

// give gives the agent the answer of a stored message, which is then done with. If somebody else has answered meanwhile,
// the message is handed to the agent as an addition.
func (rc *receiver) give(ctx context.Context, e db.Inbound, m chat.Message, answer approval.TypedAnswer, l i18n.Lang) {
	failpoint.At("answer: typed")
	settled, err := rc.approvals.Answer(ctx, answer, e.Prompt, l)
	if err != nil {
		rc.log.Error().Err(err).Stringer("chat", m.Key).Int64("turn", e.Adds).
			Msg("typed answer not stored; passing it to the agent as an addition")
	}
	if !settled {
		rc.add(e.Adds, e.Prompt, m)
		return
	}
	rc.reactions.Set([]chat.Message{m}, chat.Finished)
}

// add hands a stored message to the agent of its turn.
func (rc *receiver) add(turn int64, prompt string, m chat.Message) {
	failpoint.At("steer: stored")
	rc.busy.hand(turn, prompt, m)
	failpoint.At("steer: handed")
}

// askUnread adds the unread messages to the questions of the turn before its prompt is built: on the first attempt, or
// after the process that had them has died.
func (r *turnRunner) askUnread(ctx context.Context, t *turn) error {
	list := r.busy.detach(t.Turn.Key)
	if len(list) == 0 {
		return nil
	}
	var prompts []string
	for _, u := range list {
		prompts = append(prompts, u.prompt)
		t.Asked = append(t.Asked, u.message)
	}
	joins := convo.Joins{Turn: t.Turn.ID, Prompts: prompts}
	_, err := r.db.Turns().Happens(context.WithoutCancel(ctx), t.Turn.Key, joins)
	return err
}

// markRead records that the agent has read a message, and returns it.
func (r *turnRunner) markRead(ctx context.Context, t *turn, prompt string) (chat.Message, bool) {
	m, ok := r.busy.read(t.Turn.Key, prompt)
	if !ok {
		return chat.Message{}, false
	}
	failpoint.At("steer: read")
	t.steersRead = append(t.steersRead, prompt)
	defer failpoint.At("steer: noted")
	reads := convo.Reads{Turn: t.Turn.ID, Prompts: []string{prompt}}
	_, err := r.db.Turns().Happens(context.WithoutCancel(ctx), t.Turn.Key, reads)
	if err != nil { // stored at the end
		zerolog.Ctx(ctx).Error().Err(err).Msg("message read by the agent not recorded")
	}
	return m, true
}
