package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
)

// usage is what transcripts tell of the cost of a turn that ran in the folder dir: what its agent did, and what
// subagents have used since the chat's last expense, and since counted, until when it is known; nil = nothing.
func (r *cutOffTurns) usage(
	ctx context.Context, dir string, t db.Turn, did claude.Outcome, counted time.Time,
) *db.Usage {
	since := r.lastBooked(ctx, t)
	if counted.After(since) {
		since = counted
	}
	list, err := r.pool.Config().Transcripts(t.Key.String()).SubagentUsageSince(dir, t.Session, since)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("cost of subagents is not known")
	}
	if did.Known && (did.Usage != claude.Usage{} || did.Model != "") { // otherwise the model has said nothing
		list = append([]claude.ModelUsage{{Model: did.Model, Usage: did.Usage}}, list...)
	}
	return r.budget.Estimate(ctx, t.Created, list)
}

// unreported is what a turn that ran in the folder dir has used whose process was ended or has died before it reported
// that; nil = unknown. Otherwise such turns would be free, and no daily limit could be reached with them.
func (r *cutOffTurns) unreported(ctx context.Context, dir string, t db.Turn, counted time.Time) *db.Usage {
	var did claude.Outcome
	known, err := r.db.Turns().PromptIDs(ctx, t)
	if err == nil {
		did, err = r.outcomeOf(dir, t, known)
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("cost of a turn that was cut off is not known")
	}
	return r.usage(ctx, dir, t, did, counted)
}

// bookUnread books what the agent of an ended turn, and its subagents, have used since the chat's last expense, after
// a user has stopped them. Otherwise no turn would book it, and it would not count against the daily limits.
func (r *cutOffTurns) bookUnread(ctx context.Context, t db.Turn) error {
	c, err := r.db.Chats().Get(ctx, t.Key)
	if err != nil {
		return err
	}
	transcripts := r.pool.Config().Transcripts(t.Key.String())
	list, err := transcripts.UsageSince(r.transcriptDir(c, t), t.Session, r.lastBooked(ctx, t))
	if err != nil {
		return err
	}
	if u := r.budget.Estimate(ctx, t.Created, list); u != nil {
		return r.db.Access().Book(ctx, db.Expense{Key: t.Key, Turn: t.ID, Follows: t.Follows, Usage: *u})
	}
	return nil
}

// lastBooked is when the cost of the chat was last booked, which included everything until then.
func (r *cutOffTurns) lastBooked(ctx context.Context, t db.Turn) time.Time {
	at, err := r.db.Access().LastBooked(ctx, t.Key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("last expense of a chat not found")
	}
	if at.IsZero() { // what its session held before, such as an imported one, was paid elsewhere
		return t.Created
	}
	return at
}
