package approval

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// expire settles what nobody has decided in time.
func (rs *Requests) expire(ctx context.Context, a db.Approval) {
	a.State = db.Expired
	rs.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Msg("nobody has decided in time")
	err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{Why: notDecided})
	if err != nil && !errors.Is(err, db.ErrNotFound) { // the agent gets its answer anyway; the card is closed at the next start
		rs.log.Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		if p, ok := rs.take(a.ID); ok {
			p.answer(claude.Decision{Why: notDecided})
		}
	}
}

// unseen ends an approval whose card cannot be shown, as a notice says in place of it: the agent need not wait for what
// nobody can decide. It reports false when nobody waited for it any more.
func (rs *Requests) unseen(ctx context.Context, id, notice string) bool {
	rs.mu.Lock()
	p, ok := rs.open[id]
	rs.mu.Unlock()
	if !ok {
		return false
	}
	ctx, a := context.WithoutCancel(ctx), p.approval
	a.State = db.Withdrawn
	line := OutcomeLine(a, rs.language(ctx, a.Key))
	card := chat.Card{Status: line, Body: notice, Summary: line}
	err := rs.rows.Settle(ctx, a, db.Settling{From: db.Waiting, Card: card})
	if errors.Is(err, db.ErrNotFound) { // somebody has decided just now
		return false
	} else if err != nil { // the agent gets its answer anyway; the card is closed at the next start
		rs.log.Error().Err(err).Str("approval", id).Msg("end of an approval not stored")
	}
	rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", id).
		Msg("nobody can be asked: the card cannot be shown; tool refused")
	if p, ok := rs.take(id); ok {
		p.answer(claude.Decision{Why: notAsked})
	}
	return err == nil
}

// resolve stores what became of an approval, and then tells the agent.
func (rs *Requests) resolve(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	ctx = context.WithoutCancel(ctx)
	l := rs.language(ctx, a.Key)
	a.Words = rs.secrets.Text(a.Words) // the agent reads them as they were written
	s.Card = Card(a, l)
	if err := rs.rows.Settle(ctx, a, s); err != nil {
		return err
	}
	rs.outbox.Wake(a.Key)
	p, ok := rs.take(a.ID)
	if ok && p.answer(v) || a.State != db.Approved {
		return nil
	}
	// Its turn has ended while this was stored, so nothing was run.
	a.Settlement = db.Settlement{State: db.Withdrawn}
	err := rs.rows.Settle(ctx, a, db.Settling{From: db.Approved, Card: Card(a, l)})
	rs.outbox.Wake(a.Key)
	return err
}

// Withdraw settles what an agent does not ask any more.
func (rs *Requests) Withdraw(ctx context.Context, ask string) {
	rs.drop(ctx, db.Withdrawn, func(p pending) bool { return p.ask == ask })
}

// EndTurn settles what a turn still asks when it ends.
func (rs *Requests) EndTurn(ctx context.Context, turn int64, end db.TurnState) {
	state := db.Withdrawn
	if end == db.Interrupted {
		state = db.Lost
	}
	rs.drop(ctx, state, func(p pending) bool { return p.approval.Turn == turn })
}

// drop settles pending approvals that nobody waits for any more.
func (rs *Requests) drop(ctx context.Context, state db.ApprovalState, which func(pending) bool) {
	rs.mu.Lock()
	var list []db.Approval
	for id, p := range rs.open {
		if which(p) {
			p.timer.Stop()
			delete(rs.open, id)
			list = append(list, p.approval)
		}
	}
	rs.mu.Unlock()
	for _, a := range list {
		a.State = state
		err := rs.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{})
		if err != nil && !errors.Is(err, db.ErrNotFound) { // the next start closes its card
			zerolog.Ctx(ctx).Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		}
	}
}

// Recover settles what an earlier process has asked: the agents that waited for it are gone.
func (rs *Requests) Recover(ctx context.Context) error {
	list, err := rs.rows.Waiting(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		a.State = db.Lost
		rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).
			Msg("the program ended before anybody decided")
		s := db.Settling{From: db.Waiting, Card: Card(a, rs.language(ctx, a.Key))}
		err := rs.rows.Settle(ctx, a, s)
		if err != nil && !db.Permanent(err) {
			return err
		}
		rs.outbox.Wake(a.Key)
	}
	return nil
}
