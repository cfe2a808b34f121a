package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// expireAfter lets an approval expire after d.
func (rs *Requests) expireAfter(a db.Approval, d time.Duration) *time.Timer {
	return time.AfterFunc(d, func() { rs.jobs.Enqueue(func(ctx context.Context) { rs.expire(ctx, a) }) })
}

// expire settles an approval that nobody has decided in time.
func (rs *Requests) expire(ctx context.Context, a db.Approval) {
	a.State = db.Expired
	failpoint.At("approval: expiring")
	rs.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Msg("approval expired")
	p, _ := rs.open.get(a.ID)
	err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{Why: undecidedText(a.Tool)})
	if err == nil && p.answer == nil {
		a.NeededBy = p.approval.NeededBy // another turn may have taken it over
		err = rs.interrupted.AskNoMore(context.WithoutCancel(ctx), a, rs.language(ctx, a.Key))
	}
	// the agent gets its answer anyway; the next start closes the card
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		rs.log.Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		if p, ok := rs.open.remove(a.ID); ok {
			p.tellAgent(claude.Decision{Why: undecidedText(a.Tool)})
		}
	}
}

// withdrawUnseen ends an approval whose card cannot be shown and is replaced by a notice: nobody can decide, so the
// agent need not wait. It returns false if the approval was no longer open.
func (rs *Requests) withdrawUnseen(ctx context.Context, id, notice string) bool {
	p, ok := rs.open.get(id)
	if !ok {
		return false
	}
	ctx, a := context.WithoutCancel(ctx), p.approval
	a.State = db.Withdrawn
	line := OutcomeLine(a, rs.language(ctx, a.Key))
	card := chat.Card{Status: line, Body: notice, Summary: line}
	err := rs.settle(ctx, a, db.Settling{From: db.Waiting, Card: card})
	if errors.Is(err, db.ErrNotFound) { // somebody decided just now
		return false
	} else if err != nil { // the agent gets its answer anyway; the next start closes the card
		rs.log.Error().Err(err).Str("approval", id).Msg("end of an approval not stored")
	}
	rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", id).
		Msg("nobody can be asked: the card cannot be shown; tool refused")
	if p, ok := rs.open.remove(id); ok {
		p.tellAgent(claude.Decision{Why: notAsked})
	}
	return err == nil
}

// resolve stores the outcome of an approval, and then tells the agent or the turn that continues.
func (rs *Requests) resolve(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	ctx = context.WithoutCancel(ctx)
	a, s = rs.complete(ctx, a, s)
	if err := rs.settle(ctx, a, s); err != nil {
		return err
	}
	return rs.settled(ctx, a, s, v)
}

// complete prepares an outcome for the store: without secrets, with the card that shows it.
func (rs *Requests) complete(ctx context.Context, a db.Approval, s db.Settling) (db.Approval, db.Settling) {
	a.Words = rs.secrets.Text(a.Words) // the agent reads the text as it was written
	if s.AgentWaiting = rs.open.hasAgent(a.ID); s.AgentWaiting {
		s.GoOn, a.Answers = nil, nil
	} else if a.Answers != nil {
		a.Answers = json.RawMessage(rs.secrets.Text(string(a.Answers)))
	}
	s.Card = Card(a, rs.language(ctx, a.Key))
	// until the agent writes, only the turn's card above this one changes
	if s.AgentWaiting && a.State != db.Withdrawn {
		s.Card.Footer = i18n.ApprovalGoesOnBelow.In(rs.language(ctx, a.Key))
	}
	return a, s
}

// settled tells the agent, or the turn that continues, an outcome that is stored.
func (rs *Requests) settled(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	crashAfter(a.State)
	rs.outbox.Wake(a.Key)
	if s.GoOn != nil {
		rs.interrupted.Wake(a.Key)
	}
	p, _ := rs.open.remove(a.ID)
	if !s.AgentWaiting {
		return rs.tellStoredDecision(ctx, a, p, v)
	}
	if p.tellAgent(v) || a.State != db.Approved {
		return nil
	}
	// The turn ended while this was stored, so nothing was run.
	a.Settlement = db.Settlement{State: db.Withdrawn}
	err := rs.settle(ctx, a, db.Settling{From: db.Approved, Card: Card(a, rs.language(ctx, a.Key))})
	rs.outbox.Wake(a.Key)
	return err
}

// crashAfter marks the step after the end of an approval.
func crashAfter(end db.ApprovalState) {
	switch end {
	case db.Expired:
		failpoint.At("approval: expired")
	case db.Withdrawn:
		failpoint.At("approval: withdrawn")
	default:
		failpoint.At("decision: stored")
	}
}

// tellStoredDecision passes a decision to an agent that repeats the request, if the decision came while the request was
// being stored.
func (rs *Requests) tellStoredDecision(ctx context.Context, a db.Approval, p pending, v claude.Decision) error {
	if p.answer == nil {
		return nil
	}
	if a.State == db.Approved || a.State == db.Refused {
		if err := rs.store.Approvals().MarkDelivered(ctx, a); err != nil { // a decision must not be used twice
			p.tellAgent(claude.Decision{Why: notAsked})
			return err
		}
	}
	p.tellAgent(v)
	return nil
}

// withdrawUnused withdraws decisions that a turn has not used before it ended: nothing was run.
func (rs *Requests) withdrawUnused(ctx context.Context, turn int64) {
	ctx, log := context.WithoutCancel(ctx), zerolog.Ctx(ctx)
	list, err := rs.store.Approvals().UndeliveredTo(ctx, turn)
	for _, a := range list {
		if a.State != db.Approved {
			continue
		}
		a.Settlement = db.Settlement{State: db.Withdrawn}
		s := db.Settling{From: db.Approved, Card: Card(a, rs.language(ctx, a.Key))}
		err = errors.Join(err, rs.settle(ctx, a, s))
		rs.outbox.Wake(a.Key)
	}
	if err != nil {
		log.Error().Err(err).Int64("turn", turn).Msg("unused decisions of a turn not settled")
	}
}

// settleUnneeded settles open approvals that are no longer needed.
func (rs *Requests) settleUnneeded(ctx context.Context, state db.ApprovalState, which func(pending) bool) {
	for _, p := range rs.open.takeAll(which) {
		a := p.approval
		a.State = state
		failpoint.At("approval: withdrawing")
		err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{})
		if err != nil && !errors.Is(err, db.ErrNotFound) { // the next start closes its card
			zerolog.Ctx(ctx).Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		}
	}
}
