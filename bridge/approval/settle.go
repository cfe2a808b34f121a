package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// expireAfter settles an approval that nobody has decided by then.
func (rs *Requests) expireAfter(a db.Approval, d time.Duration) *time.Timer {
	return time.AfterFunc(d, func() { rs.jobs.Enqueue(func(ctx context.Context) { rs.expire(ctx, a) }) })
}

// expire settles what nobody has decided in time.
func (rs *Requests) expire(ctx context.Context, a db.Approval) {
	a.State = db.Expired
	rs.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Msg("nobody has decided in time")
	err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{Why: notDecided})
	if err != nil && !errors.Is(err, db.ErrNotFound) { // the agent gets its answer anyway; the card is closed at the next start
		rs.log.Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		if p, ok := rs.open.take(a.ID); ok {
			p.tell(claude.Decision{Why: notDecided})
		}
	}
}

// unseen ends an approval whose card cannot be shown, as a notice says in place of it: the agent need not wait for what
// nobody can decide. It reports false when nobody waited for it any more.
func (rs *Requests) unseen(ctx context.Context, id, notice string) bool {
	p, ok := rs.open.get(id)
	if !ok {
		return false
	}
	ctx, a := context.WithoutCancel(ctx), p.approval
	a.State = db.Withdrawn
	line := OutcomeLine(a, rs.language(ctx, a.Key))
	card := chat.Card{Status: line, Body: notice, Summary: line}
	err := rs.settle(ctx, a, db.Settling{From: db.Waiting, Card: card})
	if errors.Is(err, db.ErrNotFound) { // somebody has decided just now
		return false
	} else if err != nil { // the agent gets its answer anyway; the card is closed at the next start
		rs.log.Error().Err(err).Str("approval", id).Msg("end of an approval not stored")
	}
	rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", id).
		Msg("nobody can be asked: the card cannot be shown; tool refused")
	if p, ok := rs.open.take(id); ok {
		p.tell(claude.Decision{Why: notAsked})
	}
	return err == nil
}

// resolve stores what became of an approval, and then tells the agent, or the turn that goes on.
func (rs *Requests) resolve(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	ctx = context.WithoutCancel(ctx)
	l := rs.language(ctx, a.Key)
	a.Words = rs.secrets.Text(a.Words) // the agent reads them as they were written
	if s.Told = rs.open.attended(a.ID); s.Told {
		s.GoOn, a.Answers = nil, nil
	} else if a.Answers != nil {
		a.Answers = json.RawMessage(rs.secrets.Text(string(a.Answers)))
	}
	s.Card = Card(a, l)
	if err := rs.settle(ctx, a, s); err != nil {
		return err
	}
	failpoint.At("decision: stored")
	rs.outbox.Wake(a.Key)
	if s.GoOn != nil {
		rs.interrupted.Wake(a.Key)
	}
	p, _ := rs.open.take(a.ID)
	if !s.Told {
		return rs.tellNew(ctx, a, p, v)
	}
	if p.tell(v) || a.State != db.Approved {
		return nil
	}
	// Its turn has ended while this was stored, so nothing was run.
	a.Settlement = db.Settlement{State: db.Withdrawn}
	err := rs.settle(ctx, a, db.Settling{From: db.Approved, Card: Card(a, l)})
	rs.outbox.Wake(a.Key)
	return err
}

// tellNew tells an agent a decision if it has come while that was stored, and asks for the same. There is nothing to do
// if none has.
func (rs *Requests) tellNew(ctx context.Context, a db.Approval, p pending, v claude.Decision) error {
	if p.answer == nil {
		return nil
	}
	if a.State == db.Approved || a.State == db.Refused {
		if err := rs.store.Approvals().Tell(ctx, a.ID); err != nil { // it must not be used twice
			p.tell(claude.Decision{Why: notAsked})
			return err
		}
	}
	p.tell(v)
	return nil
}

// Withdraw settles what an agent does not ask any more.
func (rs *Requests) Withdraw(ctx context.Context, ask string) {
	rs.drop(ctx, db.Withdrawn, func(p pending) bool { return p.answer != nil && p.ask == ask })
}

// EndTurn settles what a turn still asks when it ends. If it may go on, people may still decide.
func (rs *Requests) EndTurn(ctx context.Context, t db.Turn, end db.TurnState) {
	if end == db.Interrupted || end == db.Queued {
		rs.leave(t.ID)
		return
	}
	rs.drop(ctx, db.Withdrawn, func(p pending) bool { return p.approval.NeededBy == t.ID })
	if t.Continues != 0 {
		rs.forgo(ctx, t.ID)
	}
}

// forgo withdraws what people have allowed and a turn has not asked for again before it ended: nothing was run.
func (rs *Requests) forgo(ctx context.Context, turn int64) {
	ctx, log := context.WithoutCancel(ctx), zerolog.Ctx(ctx)
	list, err := rs.store.Approvals().Untold(ctx, turn)
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
		log.Error().Err(err).Int64("turn", turn).Msg("decisions that a turn did not use are not settled")
	}
}

// drop settles pending approvals that nobody waits for any more.
func (rs *Requests) drop(ctx context.Context, state db.ApprovalState, which func(pending) bool) {
	for _, p := range rs.open.takeAll(which) {
		a := p.approval
		a.State = state
		err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{})
		if err != nil && !errors.Is(err, db.ErrNotFound) { // the next start closes its card
			zerolog.Ctx(ctx).Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		}
	}
}
