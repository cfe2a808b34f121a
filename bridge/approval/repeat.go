package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/claude"
)

const (
	leastHalf  = time.Minute // no reminder if half of an approval's time is less
	mostCalled = 10          // users in one message
)

// startTimers starts the timers of an approval: a reminder after half of its time, and its end.
func (rs *Requests) startTimers(a db.Approval) []*time.Timer {
	timers := []*time.Timer{rs.expireAfter(a, time.Until(a.Expires))}
	half := a.Expires.Sub(a.Created) / 2
	if half < leastHalf || time.Until(a.Expires) < leastHalf {
		return timers
	}
	return append(timers, time.AfterFunc(time.Until(a.Created.Add(half)), func() {
		rs.jobs.Enqueue(func(ctx context.Context) { rs.remind(ctx, a) })
	}))
}

// remind reminds those who may decide about an approval, once.
func (rs *Requests) remind(ctx context.Context, a db.Approval) {
	p, ok := rs.open.get(a.ID)
	if !ok {
		return
	}
	users := a.Askers
	if p.admins {
		users = rs.access.Load().AdminUsers()
	}
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	l, says := rs.language(ctx, a.Key), i18n.ApprovalAgain
	if claude.AsksPeople(a.Tool) {
		says = i18n.QuestionAgain
	}
	left := strings.TrimSpace(i18n.RoughDuration(time.Until(a.Expires).Round(time.Minute), l))
	text := says.Sprintf(l, left)
	err := rs.store.Approvals().Remind(ctx, a, text, users[:min(len(users), mostCalled)])
	log := rs.log.With().Stringer("chat", a.Key).Str("approval", a.ID).Logger()
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		log.Error().Err(err).Msg("reminder about an approval not stored")
	default:
		log.Info().Msg("reminder about an approval sent")
		rs.outbox.Wake(a.Key)
	}
}
