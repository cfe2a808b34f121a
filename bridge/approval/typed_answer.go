package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// TypedAnswer is a message that answers the agent's question as its card would.
type TypedAnswer struct {
	Turn        int64 // the turn that needs the answer; 0 = the message answers nothing
	Interrupted bool  // no agent waits for it: the message continues the turn
	approval    db.Approval
	press       chat.Press
	decision    Decision // if Interrupted
}

// TypedAnswer returns a message as the answer to what an agent asks in its chat, in which a turn may be running. It is
// empty unless that is a single question, and it is clear that the message answers it.
func (rs *Requests) TypedAnswer(ctx context.Context, running int64, m chat.Incoming) TypedAnswer {
	a, ok := rs.requestAnsweredBy(ctx, running, m)
	if !ok || !stream.AsksPeople(a.Tool) || !mayDecide(rs.access.At(m.Key), a, m.Actor) {
		return TypedAnswer{}
	}
	list, err := questionsOf(a.Tool, a.Input, i18n.Chinese)
	if err != nil || len(list) != 1 || strings.TrimSpace(m.Text) == "" || utf8.RuneCountInString(m.Text) > longestAnswer {
		return TypedAnswer{}
	}
	press := chat.Press{
		ID: m.ID, Key: m.Key, Actor: m.Actor, Action: chat.Action{Do: DoAllow, Turn: a.Turn, ID: ActionID(a)},
		Values: map[string][]string{freeTextField(0): {m.Text}},
	}
	if list[0].field != nil { // a form takes not any words
		for _, l := range []i18n.Lang{i18n.Chinese, i18n.English} {
			if n, ok := optionNamed(a, m.Text, l); ok {
				press.Values = map[string][]string{choiceField(0): {n}}
			}
		}
		if _, objection, err := answersOf(a, press.Values, i18n.English); err != nil || objection != "" {
			return TypedAnswer{}
		}
	}
	return TypedAnswer{Turn: a.NeededBy, Interrupted: a.NeededBy != running, approval: a, press: press}
}

// requestAnsweredBy is the request whose card a message quotes. A message of an asker that quotes nothing belongs to the
// only request, unless it was written before that and came late; somebody else, such as an admin, may mean anything.
func (rs *Requests) requestAnsweredBy(ctx context.Context, running int64, m chat.Incoming) (a db.Approval, ok bool) {
	if m.HasFiles() {
		return db.Approval{}, false
	}
	open, err := rs.openIn(ctx, m.Key)
	if err != nil { // the message is taken as a question
		rs.log.Error().Err(err).Stringer("chat", m.Key).Msg("what people are asked not read")
	}
	quoted := m.Quoted()
	open = slices.DeleteFunc(open, func(a db.Approval) bool {
		if rs.open.hasAgent(a.ID) {
			return a.NeededBy != running
		}
		return quoted == "" && running != 0
	})
	if quoted == "" {
		if len(open) != 1 || !slices.Contains(open[0].Askers, m.Actor.ID) || m.Time.Before(open[0].Created) {
			return db.Approval{}, false
		}
		return open[0], running != 0 || rs.isNewest(ctx, open[0])
	}
	first := rs.outbox.CardOf(quoted)
	for _, a := range open {
		card, err := rs.store.Outbox().CardOf(ctx, 0, a.ID)
		if err != nil {
			rs.log.Error().Err(err).Str("approval", a.ID).Msg("card of an approval not found; taking its quote as a question")
		} else if chat.FirstMessage(card) == first {
			return a, true
		}
	}
	return db.Approval{}, false
}

// isNewest reports whether nothing was asked since the interrupted turn that needs an approval.
func (rs *Requests) isNewest(ctx context.Context, a db.Approval) bool {
	t, err := rs.store.Turns().Interrupted(ctx, a.Key, 0)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		rs.log.Error().Err(err).Str("approval", a.ID).Msg("newest turn not found; taking a message as a question")
	}
	return err == nil && t.ID == a.NeededBy
}

// Answer settles the question with a typed answer, a message steered to the turn under a prompt ID. It returns false if
// somebody else has settled it meanwhile.
func (rs *Requests) Answer(ctx context.Context, t TypedAnswer, prompt string, l i18n.Lang) (settled bool, err error) {
	log := rs.log.With().Stringer("chat", t.press.Key).Str("user", t.press.Actor.ID).Str("approval", t.approval.ID).Logger()
	_, settled, err = rs.settlePress(ctx, t.approval, t.press, prompt, l, log)
	return settled, err
}

// Continue makes a message continue the interrupted turn whose question it answers. [Requests.Continued] must follow
// once the message is stored with its answer.
func (rs *Requests) Continue(ctx context.Context, t *TypedAnswer, e *db.Inbound, l i18n.Lang) (err error) {
	if t.decision, err = rs.evaluate(ctx, t.approval, t.press, l); err != nil {
		return err
	}
	if e.Over, err = rs.interrupted.ContinuedCard(ctx, e.Key, t.Turn, l); err != nil {
		return err
	}
	a := t.approval
	a.Settlement = t.decision.Settlement
	decided, how := rs.complete(ctx, a, db.Settling{From: convo.Waiting})
	e.Continues = t.Turn
	e.Effects = []db.Effect{db.DecideApproval{Approval: decided, Settling: how}}
	t.approval = decided
	return nil
}

// Continued closes the question that a stored message has answered.
func (rs *Requests) Continued(ctx context.Context, t TypedAnswer) {
	log := rs.log.With().Stringer("chat", t.press.Key).Str("approval", t.approval.ID).Logger()
	err := rs.settled(context.WithoutCancel(ctx), t.approval, db.Settling{}, t.decision.Agent)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		log.Error().Err(err).Msg("decision cannot be used; asking again")
	}
	log.Info().Str("user", t.press.Actor.ID).Str("tool", t.approval.Tool).Msg("approval decided")
}
