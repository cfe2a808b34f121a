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

// Press handles a decision, and returns the toast to show. A press that does not match the request, or comes from a
// user who may not decide, has no effect.
func (rs *Requests) Press(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	id, _, _ := strings.Cut(p.Action.ID, ".")
	log := rs.log.With().Stringer("chat", p.Key).Str("user", p.Actor.ID).Str("approval", id).
		Str("do", p.Action.Do).Logger()
	p = withOption(p)
	if err := rs.awaitRecovery(ctx); err != nil {
		return "", err
	}
	a, err := rs.store.Approvals().Get(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		log.Warn().Msg("press for an unknown approval")
		return i18n.ApprovalOver.In(l), nil
	} else if err != nil {
		return "", err
	}
	if why := rs.objection(a, p, l, log); why != "" {
		return why, nil
	}
	if p.Action.Do == DoExplain {
		return rs.askReason(ctx, a, l)
	}
	toast, _, err = rs.settlePress(ctx, a, p, "", l, log)
	return toast, err
}

// settlePress settles an approval as a press that has passed all checks decides. prompt is not empty for a message that
// decides; see [db.Settling]. settled is false if the press has no effect.
func (rs *Requests) settlePress(
	ctx context.Context, a db.Approval, p chat.Press, prompt string, l i18n.Lang, log zerolog.Logger,
) (toast string, settled bool, err error) {
	d, err := rs.evaluate(ctx, a, p, l)
	if err != nil || d.Objection != "" {
		return d.Objection, false, err
	}
	a.Settlement = d.Settlement
	s := db.Settling{From: db.Waiting, Event: p.ID, Always: p.Action.Do == DoAlways, Prompt: prompt}
	// The agent may be gone by the time this is stored.
	if s.GoOn, err = rs.continuation(ctx, a, p.Actor, l); err != nil {
		return "", false, err
	}
	stored, err := rs.storeSoon(ctx, func(ctx context.Context) error { return rs.resolve(ctx, a, s, d.Agent) })
	switch {
	case !stored:
		return i18n.ApprovalNoted.In(l), true, nil
	case errors.Is(err, db.ErrRepeated), errors.Is(err, db.ErrNotFound):
		log.Info().Msg("press for a settled or unneeded approval")
		rs.Reconsider(a.Key)
		return i18n.ApprovalOver.In(l), false, nil
	case err != nil:
		return "", false, err
	}
	log.Info().Str("state", string(a.State)).Str("tool", a.Tool).Msg("approval decided")
	return d.Toast, true, nil
}

// evaluate is [Decide] that names the user.
func (rs *Requests) evaluate(ctx context.Context, a db.Approval, p chat.Press, l i18n.Lang) (d Decision, err error) {
	if p.Actor.Name == "" { // asking the platform would take too long
		if p.Actor.Name, err = rs.store.Approvals().AskerName(ctx, a, p.Actor.ID); err != nil {
			return Decision{}, err
		}
	}
	return Decide(a, p, l), nil
}

// askReason shows the field for the reason of a refusal on the card of an approval. A second press does not draw it
// again, which would clear what somebody is writing.
func (rs *Requests) askReason(ctx context.Context, a db.Approval, l i18n.Lang) (toast string, err error) {
	if claude.AsksPeople(a.Tool) {
		return i18n.ApprovalOver.In(l), nil
	}
	set := func(explains bool) bool {
		return rs.open.change(a.ID, func(p *pending) bool {
			changes := p.explains != explains
			p.explains = explains
			return changes
		})
	}
	if !set(true) {
		return i18n.ApprovalWhyBelow.In(l), nil
	}
	stored, err := rs.storeSoon(ctx, func(ctx context.Context) error {
		err := rs.redraw(ctx, a)
		if err != nil {
			set(false)
		}
		return err
	})
	switch {
	case !stored:
		return i18n.ApprovalNoted.In(l), nil
	case errors.Is(err, db.ErrNotFound): // somebody decided just now
		return i18n.ApprovalOver.In(l), nil
	case err != nil:
		return "", err
	}
	return i18n.ApprovalWhyBelow.In(l), nil
}

// objection is why a press has no effect on an approval, whatever its form contains; empty = it has.
func (rs *Requests) objection(a db.Approval, p chat.Press, l i18n.Lang, log zerolog.Logger) string {
	sameChat := a.Key.Channel == p.Key.Channel && a.Key.ID == p.Key.ID
	waiting, open := rs.open.get(a.ID)
	switch rules := rs.access.Load(); {
	case !sameChat || a.Turn != p.Action.Turn || p.Action.ID != ActionID(a):
		log.Warn().Stringer("asked_in", a.Key).Msg("press does not match the request of its approval")
		return i18n.ApprovalOver.In(l)
	case a.State != db.Waiting || !open:
		log.Info().Str("state", string(a.State)).Msg("press for a settled approval")
		return i18n.ApprovalOver.In(l)
	case !mayDecide(rules, a, p.Actor):
		log.Warn().Msg("press by a user who may not decide")
		return i18n.ApprovalNotYours.In(l)
	case p.Action.Do != DoRefuse && p.Action.Do != DoExplain && waiting.admins && !rules.IsAdmin(p.Actor):
		log.Warn().Msg("a user who is not an admin tried to allow what only admins may")
		return i18n.AdminsAllow.In(l)
	}
	return ""
}

const (
	// recoveryWait is how long a press waits for the recovery of the previous run. The platform waits three seconds
	// for the reply.
	recoveryWait = 2 * time.Second
	// soon is how long a press waits for its decision to be stored.
	soon = 700 * time.Millisecond
)

// awaitRecovery waits for the recovery of the previous run, but no longer than a press may take.
func (rs *Requests) awaitRecovery(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, recoveryWait)
	defer stop()
	return rs.interrupted.AwaitRecovery(ctx)
}

// storeSoon stores something for a press. It returns false if that takes longer than a press may take; the card will
// show it.
func (rs *Requests) storeSoon(ctx context.Context, store func(context.Context) error) (stored bool, err error) {
	done := make(chan error, 1)
	rs.jobs.Enqueue(func(ctx context.Context) { done <- store(ctx) })
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
