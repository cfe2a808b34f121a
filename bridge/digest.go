package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// The times that the buttons of /digest offer; the first one is the default.
var digestTimes = []string{"09:00", "18:00"}

// digest is the command /digest.
func (cs *commandSet) digest(ctx context.Context, o invocation) (commandResult, error) {
	if o.Kind != chat.Private || !cs.access.At(o.Key).IsOwner(o.Actor) {
		return o.say(i18n.DigestOwner)
	}
	word, at := splitWord(strings.ToLower(o.args))
	on, known := onOff[word]
	switch {
	case word == "":
		return cs.showDigest(ctx, o)
	case known && !on && at == "":
		return o.do(db.ChangeSchedules{Digest: schedules.Digest{Key: o.Key}}, i18n.DigestOff)
	case known && !on:
		return o.say(i18n.DigestUsage)
	case !known: // only the time
		at = o.args
	case at == "":
		at = digestTimes[0]
	}
	clock, err := time.Parse("15:04", strings.ReplaceAll(at, "：", ":"))
	if err != nil {
		return o.say(i18n.DigestUsage)
	}
	now := time.Now().In(cs.zoneOf(o.chat))
	d := schedules.Digest{Key: o.Key, Minute: clock.Hour()*60 + clock.Minute(), Day: now.Format(time.DateOnly)}
	if now.Before(dueOn(now, d.Minute)) {
		d.Day = now.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return o.do(db.ChangeSchedules{Digest: d}, i18n.DigestOn, clock.Format("15:04"))
}

func (cs *commandSet) showDigest(ctx context.Context, o invocation) (commandResult, error) {
	list, err := cs.schedules.Digests(ctx)
	if err != nil {
		return commandResult{}, err
	}
	text := i18n.DigestOff.In(o.lang)
	for _, d := range list {
		if d.Key == o.Key {
			text = i18n.DigestOn.Sprintf(o.lang, fmt.Sprintf("%02d:%02d", d.Minute/60, d.Minute%60))
		}
	}
	var buttons []chat.Button
	for _, at := range digestTimes {
		buttons = append(buttons, turncard.CommandButton(i18n.DigestAtButton.Sprintf(o.lang, at), "/digest on "+at))
	}
	return offer(text, append(buttons, turncard.CommandButton(i18n.OffButton.In(o.lang), "/digest off")))
}

// dueOn is the time at which a day's digest is due.
func dueOn(day time.Time, minute int) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 0, minute, 0, 0, day.Location())
}

// sendDigests sends the owner a summary of each day on which anything happened, when it is due, if this bridge leads. One
// that was due while no bridge ran is sent at startup.
func (b *Bridge) sendDigests(ctx context.Context) {
	t := time.NewTicker(20 * time.Second)
	defer t.Stop()
	for {
		if b.db.Place().Leads() {
			if err := b.sendDueDigests(ctx, time.Now()); err != nil && ctx.Err() == nil && !isUnsure(err) {
				b.log.Error().Err(err).Msg("digest not sent; trying again")
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// sendDueDigests puts the digests that are due into the outbox.
func (b *Bridge) sendDueDigests(ctx context.Context, now time.Time) error {
	list, err := b.db.Schedules().Digests(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		c, err := b.db.Chats().Get(ctx, d.Key)
		if err != nil {
			return err
		}
		now := now.In(c.Settings.ZoneOr(b.context.Zone()))
		day := now.Format(time.DateOnly)
		if d.Day >= day || now.Before(dueOn(now, d.Minute)) || !b.belongsToOwner(ctx, d.Key) {
			continue
		}
		sum, err := b.db.Chats().Totals(ctx, b.access.Part(d.Key), now.AddDate(0, 0, -1), now)
		if err != nil {
			return err
		}
		text := ""
		if sum.Turns > 0 || sum.CostUSD > 0 || sum.Waiting > 0 {
			l := b.languages.OfChat(ctx, d.Key)
			text = i18n.DigestReport.Sprintf(l, sum.Turns, sum.Failed, i18n.USD(sum.CostUSD, l), sum.Waiting)
		}
		switch err := b.db.Schedules().FinishDigest(ctx, d.Key, day, text); {
		case errors.Is(err, schedules.ErrChanged): // just unsubscribed
		case err != nil:
			return err
		default:
			b.outbox.Wake(d.Key)
		}
	}
	return nil
}

// belongsToOwner reports whether a chat still belongs to the owner, who may have changed.
func (b *Bridge) belongsToOwner(ctx context.Context, key chat.Key) bool {
	a := b.access.At(key)
	return slices.ContainsFunc(append([]string{a.Owner}, a.OwnerIDs...), func(id string) bool {
		own, err := b.db.Chats().PrivateChat(ctx, id)
		return err == nil && own == key
	})
}
