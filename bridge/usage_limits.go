package bridge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// usageLimits makes questions wait while the use of the model is limited: those that come meanwhile, and those that
// failed because of the limit, if somebody wants that. What is known of limits is only in the database.
type usageLimits struct {
	cfg     *Config
	store   *db.DB
	pool    *claude.Pool
	turns   *turnQueue
	outbox  *delivery.Outbox
	zone    *time.Location
	changed chan struct{} // another turn waits
	log     zerolog.Logger
}

// modelOf is the model of a chat's turns, as far as limits are concerned.
func (u *usageLimits) modelOf(c db.Chat) string {
	return cmp.Or(c.Settings.Model, u.pool.Config().Model)
}

// until is the time until which a chat's model is limited; zero = it is not. Without the database nobody waits.
func (u *usageLimits) until(ctx context.Context, c db.Chat) time.Time {
	l, err := u.store.Turns().LimitReached(ctx, u.modelOf(c))
	if err != nil && !errors.Is(err, db.ErrNotFound) && ctx.Err() == nil {
		u.log.Error().Err(err).Msg("limits of the model not available")
	}
	return l.Ends
}

// clock shows a time to readers.
func (u *usageLimits) clock(t time.Time) string {
	return shortTime(t.In(u.zone), time.Now().In(u.zone))
}

// postpone makes a claimed turn wait if its model is limited, and reports whether it does.
func (u *usageLimits) postpone(ctx context.Context, c db.Claim) bool {
	until := u.until(ctx, c.Chat)
	if until.IsZero() || c.Turn.Stopped || c.Turn.Follows != 0 {
		return false
	}
	at := u.clock(until)
	end := turncard.Outcome{State: convo.Queued, Until: at, Notice: i18n.AsksLater.With(at)}
	card := turncard.New(c.Turn.ID, u.cfg.langOf(c.Chat), time.Now()).Finish(end).Card(time.Now())
	err := u.store.Turns().Postpone(context.WithoutCancel(ctx), c.Turn, until, card)
	if err != nil {
		u.log.Error().Err(err).Stringer("chat", c.Turn.Key).Msg("turn not postponed; it is asked at once")
		return false
	}
	u.log.Info().Stringer("chat", c.Turn.Key).Int64("turn", c.Turn.ID).Time("until", until).
		Msg("the model is limited; the turn waits")
	u.outbox.Wake(c.Turn.Key)
	u.look()
	return true
}

// look makes Run look which turns wait, and until when.
func (u *usageLimits) look() {
	select {
	case u.changed <- struct{}{}:
	default: // it looks anyway
	}
}

// refused notes that a question was refused until a time, and offers to ask it again then.
func (u *usageLimits) refused(ctx context.Context, c db.Claim, r claude.Result, end turncard.Outcome) turncard.Outcome {
	if r.Resets.IsZero() {
		return end
	}
	l := db.Limit{Model: u.modelOf(c.Chat), Kind: r.Limit, Used: -1, Reached: true, Ends: r.Resets}
	if err := u.store.Turns().NoteLimits(context.WithoutCancel(ctx), l); err != nil {
		u.log.Error().Err(err).Msg("limit of the model not stored; other questions fail, too")
	}
	at := u.clock(r.Resets)
	if c.Turn.Follows == 0 { // otherwise there is no question to ask again
		end.Until = at
	}
	if end.Failure == string(claude.FailRateLimit) {
		end.Notice = i18n.LimitedUntil.With(at)
		return end
	}
	return end.Followed(i18n.BackAt.With(at))
}

// report notes what the agent reports of limits. A model that answers is not limited any more.
func (u *usageLimits) report(ctx context.Context, c db.Chat, e claude.RateLimit) {
	ctx, model := context.WithoutCancel(ctx), u.modelOf(c)
	if e.Allowed { // before the report, which may be about the same window
		u.lift(ctx, c, time.Now())
	}
	var list []db.Limit
	for _, w := range e.Windows {
		list = append(list, db.Limit{Model: model, Kind: w.Kind, Used: w.Used, Ends: w.Resets})
	}
	if err := u.store.Turns().NoteLimits(ctx, list...); err != nil {
		u.log.Error().Err(err).Msg("limits of the model not stored")
	}
}

// lift ends the wait for the limits of a chat's model that were noted before a time.
func (u *usageLimits) lift(ctx context.Context, c db.Chat, before time.Time) {
	if u.until(ctx, c).IsZero() {
		return
	}
	u.lifted(u.store.Turns().Lift(ctx, u.modelOf(c), before))
}

// loggedIn ends all waits: the limits were those of another account.
func (u *usageLimits) loggedIn() {
	u.lifted(u.store.Turns().Lift(context.Background(), "", time.Time{}))
}

// lifted begins the turns that wait, if limits were lifted.
func (u *usageLimits) lifted(some bool, err error) {
	if err != nil {
		u.log.Error().Err(err).Msg("limits of the model not lifted")
	} else if some {
		u.look()
	}
}

// release makes the turns of a chat that wait ask now: it has another model.
func (u *usageLimits) release(key chat.Key) {
	if _, err := u.store.Turns().Happens(context.Background(), key, convo.Due{}); err != nil {
		u.log.Error().Err(err).Stringer("chat", key).Msg("waiting turns not released")
	}
	u.turns.wake(key)
}

// askAgain handles the button under a question that was refused: it waits until the limit ends, and is then asked as
// any other.
func (u *usageLimits) askAgain(ctx context.Context, p chat.Press, l i18n.Lang) (string, error) {
	c, err := u.store.Chats().Get(ctx, p.Key)
	if err != nil {
		return "", err
	}
	w := db.Decision{Key: p.Key, Turn: p.Action.Turn, Event: p.ID, GoOn: true, Until: u.until(ctx, c)}
	end := turncard.Outcome{State: convo.Queued, Notice: i18n.SuggestionAsked}
	if !w.Until.IsZero() {
		end.Until = u.clock(w.Until)
		end.Notice = i18n.AsksAgain.With(end.Until)
	}
	w.Over = turncard.New(w.Turn, l, time.Now()).Finish(end).Card(time.Now())
	switch err := u.store.Turns().Decide(ctx, w); {
	case errors.Is(err, db.ErrRepeated):
		return "", nil
	case errors.Is(err, db.ErrNotFound):
		return i18n.StopOver.In(l), nil
	case err != nil:
		return "", err
	}
	u.outbox.Wake(p.Key)
	u.look()
	return end.Notice.In(l), nil
}

// maxSleep is after how long waiting turns are looked for again, because clocks can be set.
const maxSleep = 30 * time.Second

// Run begins turns whose wait is over, until ctx is done.
func (u *usageLimits) Run(ctx context.Context) {
	for {
		keys, next, err := u.store.Turns().Due(ctx)
		if err != nil && ctx.Err() == nil && !isUnsure(err) {
			u.log.Error().Err(err).Msg("waiting turns not found; trying again")
		}
		for _, key := range keys {
			u.turns.wake(key)
		}
		sleep := maxSleep
		if !next.IsZero() {
			sleep = min(sleep, max(time.Until(next), time.Millisecond))
		}
		t := time.NewTimer(sleep)
		select {
		case <-t.C:
		case <-u.changed:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// windows describes how much of the limits is used; empty = the agent has reported none.
func (u *usageLimits) windows(ctx context.Context, l i18n.Lang) (lines []string, err error) {
	list, err := u.store.Turns().Limits(ctx)
	for _, w := range list {
		used := i18n.LimitOpen.In(l)
		switch {
		case w.Reached:
			used = i18n.LimitReached.In(l)
		case w.Used >= 0:
			used = i18n.LimitUsed.Sprintf(l, int(100*w.Used+0.5))
		}
		lines = append(lines, i18n.StatusLimit.Sprintf(l, limitName(w.Kind).In(l), used, u.clock(w.Ends)))
	}
	return lines, err
}

// limitName names a window of limits. The CLI may add others.
func limitName(kind string) i18n.Phrase {
	switch kind {
	case "five_hour":
		return i18n.LimitFiveHours
	case "seven_day":
		return i18n.LimitWeek
	case "seven_day_opus":
		return i18n.LimitWeekOpus
	case "seven_day_sonnet":
		return i18n.LimitWeekSonnet
	}
	return i18n.LimitOther
}
