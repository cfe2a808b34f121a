package approval

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Press takes in a decision, and returns the toast to show. What does not fit to what was asked, or comes from somebody
// who may not decide, changes nothing.
func (rs *Requests) Press(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	id, _, _ := strings.Cut(p.Action.ID, ".")
	log := rs.log.With().Stringer("chat", p.Key).Str("user", p.Actor.ID).Str("approval", id).
		Str("do", p.Action.Do).Logger()
	if err := rs.awaitRecovery(ctx); err != nil {
		return "", err
	}
	a, err := rs.store.Approvals().Get(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		log.Warn().Msg("press for an approval that there is not")
		return i18n.ApprovalOver.In(l), nil
	} else if err != nil {
		return "", err
	}
	if why := rs.objection(a, p, l, log); why != "" {
		return why, nil
	}
	if p.Actor.Name == "" { // the platform's answer would take too long
		if p.Actor.Name, err = rs.store.Approvals().AskerName(ctx, a, p.Actor.ID); err != nil {
			return "", err
		}
	}
	d := Decide(a, p, l)
	if d.Objection != "" {
		return d.Objection, nil
	}
	a.Settlement = d.Settlement
	s := db.Settling{From: db.Waiting, Event: p.ID, Always: p.Action.Do == DoAlways}
	// Its agent may be gone by the time when this is stored.
	if s.GoOn, err = rs.continuation(ctx, a, p.Actor, l); err != nil {
		return "", err
	}
	switch stored, err := rs.resolveSoon(ctx, a, s, d.Verdict); {
	case !stored:
		return i18n.ApprovalNoted.In(l), nil
	case errors.Is(err, db.ErrRepeated), errors.Is(err, db.ErrNotFound):
		log.Info().Msg("press for an approval that is settled, or that no turn needs")
		rs.Reconsider(a.Key)
		return i18n.ApprovalOver.In(l), nil
	case err != nil:
		return "", err
	}
	log.Info().Str("state", string(a.State)).Str("tool", a.Tool).Msg("approval decided")
	return d.Toast, nil
}

// objection is why a press decides nothing about an approval, whatever its form says; empty = it does.
func (rs *Requests) objection(a db.Approval, p chat.Press, l i18n.Lang, log zerolog.Logger) string {
	sameChat := a.Key.Channel == p.Key.Channel && a.Key.ID == p.Key.ID
	waiting, open := rs.open.get(a.ID)
	switch rules := rs.access.Load(); {
	case !sameChat || a.Turn != p.Action.Turn || p.Action.ID != ActionID(a):
		log.Warn().Stringer("asked_in", a.Key).Msg("press for an approval does not fit to what was asked")
		return i18n.ApprovalOver.In(l)
	case a.State != db.Waiting || !open:
		log.Info().Str("state", string(a.State)).Msg("press for an approval that is settled")
		return i18n.ApprovalOver.In(l)
	case !mayDecide(rules, a, p.Actor):
		log.Warn().Msg("somebody who may not decide has pressed")
		return i18n.ApprovalNotYours.In(l)
	case p.Action.Do != DoRefuse && waiting.admins && !rules.IsAdmin(p.Actor):
		log.Warn().Msg("somebody who is no admin wants to allow what only admins may")
		return i18n.AdminsAllow.In(l)
	}
	return ""
}

// soon is how long a press waits for its decision to be stored. The platform waits one second for the answer.
const soon = 700 * time.Millisecond

// awaitRecovery waits until it is known what the last run has left, no longer than a press can.
func (rs *Requests) awaitRecovery(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, soon)
	defer stop()
	return rs.interrupted.AwaitRecovery(ctx)
}

// resolveSoon has a decision stored. It reports false when that takes longer than a press can wait: the card will show
// what became of it.
func (rs *Requests) resolveSoon(
	ctx context.Context, a db.Approval, s db.Settling, v claude.Decision,
) (stored bool, err error) {
	done := make(chan error, 1)
	rs.jobs.Enqueue(func(ctx context.Context) { done <- rs.resolve(ctx, a, s, v) })
	t := time.NewTimer(soon)
	defer t.Stop()
	select {
	case err = <-done:
		return true, err
	case <-t.C:
	case <-ctx.Done():
	}
	return false, nil
}
