package clock

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// LeastBetween is the least time between two runs of a schedule: each costs money, and nobody watches.
const LeastBetween = 5 * time.Minute

// ErrTooOften means that a schedule has less than [LeastBetween] between two runs.
var ErrTooOften = errors.New("too often")

// FirstTime is the first time of a schedule after another one; zero = none.
func FirstTime(s schedules.Schedule, after time.Time) (first time.Time, err error) {
	times, err := s.Times()
	if err != nil {
		return time.Time{}, err
	}
	first = times(after)
	for at, n := first, 0; n < 60 && !at.IsZero(); n++ { // an hour of the most frequent one
		next := times(at)
		if !next.IsZero() && next.Sub(at) < LeastBetween {
			return time.Time{}, ErrTooOften
		}
		at = next
	}
	return first, nil
}

// Words are the time of a schedule as people see it. Those that were read hold no markup, but for the stars of cron.
func Words(s schedules.Schedule) string {
	if strings.Contains(s.Words, "*") {
		return i18n.InlineCode(s.Words)
	}
	return s.Words
}

// ThreeTimes are the next three times of a schedule, as people read them.
func ThreeTimes(s schedules.Schedule, now time.Time, l i18n.Lang) string {
	times, err := s.Times()
	var list []string
	for at := now; err == nil && len(list) < 3; {
		if at = times(at); at.IsZero() {
			break
		}
		list = append(list, dayAndTime(at, l))
	}
	return strings.Join(list, " · ")
}

// NextTime is when a schedule is due next, as people read it.
func NextTime(s schedules.Schedule, l i18n.Lang) string { return timeOf(s, s.Next, l) }

// timeOf is a time of a schedule, in its zone.
func timeOf(s schedules.Schedule, at time.Time, l i18n.Lang) string {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	return dayAndTime(at.In(zone), l)
}

// dayAndTime is how times are written to people. The weekday shows them a misunderstanding.
func dayAndTime(at time.Time, l i18n.Lang) string {
	return strings.Fields(i18n.Weekdays.In(l))[at.Weekday()] + at.Format(" 2006-01-02 15:04")
}

// ZoneName is the name by which a time zone is found on other machines as well, if this one says what its own is.
func ZoneName(zone *time.Location) string {
	if zone != time.Local {
		return zone.String()
	}
	if file, err := os.Readlink("/etc/localtime"); err == nil && os.Getenv("TZ") == "" {
		if _, name, ok := strings.Cut(file, "zoneinfo/"); ok {
			if _, err := time.LoadLocation(name); err == nil {
				return name
			}
		}
	}
	return zone.String()
}

// MaxProposed is the length of a task that an agent may propose, in runes: people must see all of what they confirm.
const MaxProposed = 1000

// MaxSchedules is how many schedules a chat may have.
const MaxSchedules = 50

// maxProposals is how many proposals may wait in a chat.
const maxProposals = 10

// ErrTooMany means that a chat has [MaxSchedules].
var ErrTooMany = errors.New("too many schedules")

// Number is that of the next schedule of a chat, if it may have one more in that state.
func Number(ctx context.Context, store schedules.Store, key chat.Key, state schedules.State) (int64, error) {
	list, err := store.Of(ctx, key)
	if err != nil {
		return 0, err
	}
	proposed := 0
	for _, s := range list {
		if s.State == schedules.Proposed {
			proposed++
		}
	}
	// What nobody has confirmed takes no place of what people order.
	if state == schedules.Proposed && proposed >= maxProposals || len(list)-proposed >= MaxSchedules {
		return 0, ErrTooMany
	}
	return store.NextNumber(ctx, key)
}

// Propose stores a schedule that counts once somebody has confirmed it, and asks people to. In a topic the card replies to
// a message there. It returns the number.
func Propose(
	ctx context.Context, store schedules.Store, s schedules.Schedule, now time.Time, l i18n.Lang, below string,
) (number int64, err error) {
	if s.Number, err = Number(ctx, store, s.Key, s.State); err != nil {
		return 0, err
	}
	text := i18n.ScheduleProposed.Sprintf(l, s.Number, Words(s), i18n.PlainText(s.Task), ThreeTimes(s, now, l), s.Zone)
	head := i18n.ScheduleProposedHead.In(l)
	card := &chat.Card{Title: head, State: chat.CardNeedsYou, Body: text, Summary: head, Buttons: []chat.Button{
		button(i18n.ScheduleConfirm.In(l), "confirm", s.Number), button(i18n.ScheduleDiscard.In(l), "discard", s.Number),
	}}
	card.Buttons[0].Primary = true
	notice := schedules.Notice{To: chat.Ref{Key: s.Key, ID: below}, Idem: idem("proposed", s), Card: card}
	return s.Number, store.Make(ctx, s.Key, schedules.Change{Is: s, Tells: notice})
}

// Buttons are those of a schedule that somebody has just made.
func Buttons(s schedules.Schedule, l i18n.Lang) []chat.Button {
	return []chat.Button{
		button(i18n.ScheduleRunMissed.In(l), "run", s.Number), button(i18n.ScheduleRemove.In(l), "remove", s.Number),
	}
}
