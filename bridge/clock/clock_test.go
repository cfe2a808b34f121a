package clock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/schedule"
)

var room = chat.FeishuChat("oc_1")

// asker is a bridge that stores what is asked. It can fail before and after that, as one that is killed.
type asker struct {
	store   *db.DB
	fail    string // when it fails next: "before" or "after" the commit; empty = not
	why     i18n.Phrase
	stopped []string
	busy    bool // nothing that was asked is answered
}

var errKilled = errors.New("killed")

func (a *asker) Ask(ctx context.Context, q Question) error {
	if a.fail == "before" {
		return errKilled
	}
	_, err := a.store.Messages().Accept(ctx, db.Inbound{
		Incoming: chat.Incoming{Key: q.Key, Kind: chat.Private, ID: db.PressID(q.ID), Actor: q.Maker, Text: q.Task, ToBot: true},
		Class:    chat.Talk, Reply: q.Head.In(i18n.English), Effects: []db.Effect{db.ChangeSchedules(q.Then)},
	})
	if err == nil && a.fail == "after" {
		return errKilled
	}
	return err
}

func (a *asker) MayAsk(context.Context, schedules.Schedule) (i18n.Phrase, error) { return a.why, nil }
func (a *asker) TellOwner(_ context.Context, s schedules.Schedule, why i18n.Phrase) error {
	a.stopped = append(a.stopped, fmt.Sprint(s.Number, " ", why.EN))
	return nil
}
func (a *asker) Lang(context.Context, chat.Key) i18n.Lang { return i18n.English }
func (a *asker) Wake(chat.Key)                            {}
func (a *asker) Waits(ctx context.Context, key chat.Key, id string) (bool, error) {
	if a.busy {
		return a.store.Schedules().Waits(ctx, key, db.PressID(id))
	}
	return false, nil // as in a chat that answers at once
}

// fataler is a test, or one of rapid.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// rig is a clock with a real database, whose time is what the test says.
type rig struct {
	fataler
	*asker
	ctx   context.Context
	clock *Clock
	at    time.Time
}

func newRig(t fataler, store *db.DB) *rig {
	r := &rig{fataler: t, asker: &asker{store: store}, ctx: context.Background()}
	mine := func(context.Context, chat.Key) error { return nil }
	r.clock = New(store.Schedules(), r.asker, mine, zerolog.Nop())
	r.clock.now = func() time.Time { return r.at }
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// add makes a schedule that is due for the first time after now.
func (r *rig) add(rule, zone string) schedules.Schedule {
	r.Helper()
	number, err := r.store.Schedules().NextNumber(r.ctx, room)
	r.must(err)
	s := schedules.Schedule{
		Key: room, Number: number, State: schedules.Active, Rule: rule, Words: rule, Zone: zone, Task: "look", Maker: chat.Actor{ID: "ou_1"},
	}
	times, err := s.Times()
	r.must(err)
	s.Next = times(r.at)
	_, err = r.store.Messages().Accept(r.ctx, db.Inbound{
		Incoming: chat.Incoming{Key: room, Kind: chat.Private, ID: fmt.Sprint("om_", number), Text: "/every"}, Class: chat.Command,
		Effects: []db.Effect{db.ChangeSchedules{Is: s}},
	})
	r.must(err)
	return s
}

// look lets the clock look, and reports for how long it sleeps then.
func (r *rig) look() time.Duration {
	r.Helper()
	pause, err := r.clock.look(r.ctx)
	if err != nil && !errors.Is(err, errKilled) {
		r.Fatal(err)
	}
	return pause
}

// run lets time pass while the clock runs.
func (r *rig) run(d time.Duration) {
	r.Helper()
	for end := r.at.Add(d); r.at.Before(end); {
		pause := r.look()
		if pause <= 0 {
			r.Fatalf("at %v the clock does not sleep", r.at)
		}
		r.at = r.at.Add(min(max(pause, 8*time.Minute), end.Sub(r.at))) // it would look more often
	}
	r.look()
}

// ran lists the times at which a schedule has run.
func (r *rig) ran(s schedules.Schedule) map[time.Time]int {
	r.Helper()
	list, err := r.store.Messages().Latest(r.ctx, room, 100_000)
	r.must(err)
	times := map[time.Time]int{}
	for _, m := range list {
		if at, ok := strings.CutPrefix(m.ID, fmt.Sprintf("press:schedule:%d:", s.Number)); ok {
			unix, err := strconv.ParseInt(at, 10, 64)
			r.must(err)
			times[time.Unix(unix, 0).UTC()]++
		}
	}
	return times
}

var missedRuns = regexp.MustCompile(`(\d+) (?:run was|runs were) missed`)

// told is how many missed runs people were told of, and the cards that offer to make up for them.
func (r *rig) told() (missed int, offers []chat.Card) {
	r.Helper()
	for {
		post, err := r.store.Outbox().Next(r.ctx, room)
		if errors.Is(err, db.ErrNotFound) {
			return missed, offers
		}
		r.must(err)
		text := post.Text
		if post.Card != nil {
			text = post.Card.Body
			offers = append(offers, *post.Card)
		}
		if m := missedRuns.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			missed += n
		}
		r.must(r.store.Outbox().MarkDelivered(r.ctx, post, fmt.Sprint("om_shown_", post.ID)))
	}
}

// Whatever happens to the machine, each run of a schedule takes place once, on time, or people are told that it did not.
func TestEachRunTakesPlaceOnceOrIsTold(t *testing.T) {
	zones := []string{"Asia/Shanghai", "Europe/Berlin", "America/New_York"}
	rules := []string{"0 9 * * *", "30 2 * * *", "*/30 * * * *", "0 */2 * * *", "15 9,18 * * 1-5"}
	rapid.Check(t, func(rt *rapid.T) {
		store := dbtest.New(t)
		r := newRig(rt, store)
		// Days on which clocks change are in reach.
		r.at = time.Date(2026, time.Month(rapid.SampledFrom([]int{3, 10}).Draw(rt, "month")), rapid.IntRange(5, 31).Draw(rt, "day"), 7, 3, 12, 0, time.UTC)
		s := r.add(rapid.SampledFrom(rules).Draw(rt, "rule"), rapid.SampledFrom(zones).Draw(rt, "zone"))
		begun, latest, jumped := r.at, r.at, false
		seen := map[time.Time]time.Time{} // when a run took place
		note := func() {
			latest = later(latest, r.at)
			for at := range r.ran(s) {
				if _, ok := seen[at]; !ok {
					seen[at] = r.at
				}
			}
		}
		for range rapid.IntRange(1, 6).Draw(rt, "events") {
			d := time.Duration(rapid.IntRange(1, 30).Draw(rt, "long")) * rapid.SampledFrom([]time.Duration{time.Minute, 7 * time.Minute, time.Hour}).Draw(rt, "unit")
			event := rapid.SampledFrom([]string{"runs", "runs", "sleeps", "before", "after", "back"}).Draw(rt, "event")
			switch event {
			case "sleeps":
				r.at = r.at.Add(d)
			case "back":
				r.at, jumped = r.at.Add(-min(d, r.at.Sub(begun))), true
			case "before", "after": // it is killed each time
				r.fail = event
				fallthrough
			default:
				for end := r.at.Add(d); r.at.Before(end); note() {
					r.run(min(24*time.Minute, end.Sub(r.at)))
				}
			}
			r.fail = ""
			r.look()
			note()
		}
		r.at = latest
		r.look()
		note()

		ran, due := r.ran(s), 0
		times, err := s.Times()
		r.must(err)
		for at := times(begun); !at.After(r.at); at = times(at) {
			due++
			if ran[at.UTC()] > 1 {
				rt.Fatalf("the run of %v took place %d times", at, ran[at.UTC()])
			}
			if when, ok := seen[at.UTC()]; ok && !jumped && when.Sub(at) > grace+25*time.Minute {
				rt.Fatalf("the run of %v took place at %v", at, when)
			}
			delete(ran, at.UTC())
		}
		if len(ran) > 0 {
			rt.Fatalf("runs that were not due: %v", ran)
		}
		missed, _ := r.told()
		if took := len(seen); took+missed != due && !jumped || took+missed < due {
			rt.Fatalf("%d runs were due, %d took place, %d were told to be missed", due, took, missed)
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// What is missed while the machine sleeps is offered once, and runs never come in a burst.
func TestAsleepOverThreeRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add("0 9 * * *", "UTC")
	r.at = r.at.AddDate(0, 0, 2).Add(4 * time.Hour) // over 3 times
	if pause := r.look(); pause != longest {
		t.Errorf("then it sleeps %v", pause)
	}
	r.look()
	missed, offers := r.told()
	if missed != 3 || len(offers) != 1 || len(offers[0].Buttons) != 2 || len(r.ran(s)) != 0 {
		t.Fatalf("%d told, %v, ran %v", missed, offers, r.ran(s))
	}
	last := time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
	if got, want := offers[0].Buttons[0].Action.ID, fmt.Sprintf("/schedule run 1 %d", last.Unix()); got != want {
		t.Errorf("it offers %q, want %q", got, want)
	}
	if got, err := r.store.Schedules().Of(r.ctx, room); err != nil || !got[0].Offered.Equal(last) || !got[0].Next.Equal(last.AddDate(0, 0, 1)) {
		t.Errorf("%+v, %v", got, err)
	}
	r.run(24 * time.Hour)
	if got := r.ran(s); len(got) != 1 || got[last.AddDate(0, 0, 1)] != 1 {
		t.Errorf("the next day it ran %v", got)
	}
	// A frequent one goes on with the newest run, and tells of the others.
	often := r.add("*/5 * * * *", "UTC")
	r.at = r.at.Add(17 * time.Minute)
	r.look()
	if missed, offers := r.told(); missed != 2 || len(offers) != 0 || len(r.ran(often)) != 1 {
		t.Errorf("%d told, %v, ran %v", missed, offers, r.ran(often))
	}
}

// One that was missed is told of by the clock of its zone.
func TestAMissedRunIsToldInItsZone(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	r.add("0 9 * * *", "Asia/Shanghai")
	r.at = r.at.Add(12 * time.Hour)
	r.look()
	if _, offers := r.told(); len(offers) != 1 || !strings.Contains(offers[0].Body, "the last one on Mon 2026-05-04 09:00") {
		t.Errorf("told: %+v", offers)
	}
}

// A machine whose clock was a year ahead for a moment goes on with the runs of today.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add("0 9 * * *", "UTC")
	r.run(2 * time.Hour)
	right := r.at
	r.at = r.at.AddDate(1, 0, 0)
	r.look()
	r.at = right.Add(-90 * time.Minute) // before the run of today
	r.run(25 * time.Hour)
	if got := r.ran(s); len(got) != 2 {
		t.Errorf("it ran %v", got)
	}
}

// While a question of a schedule waits, it is not asked again: what was due meanwhile is told once, later.
func TestABusyChatGetsNoBurst(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.busy = true
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add("*/5 * * * *", "UTC")
	r.run(2 * time.Hour)
	if missed, _ := r.told(); len(r.ran(s)) != 1 || missed != 0 {
		t.Errorf("it ran %v, and %d were told", r.ran(s), missed)
	}
	r.busy = false
	r.look()
	if missed, _ := r.told(); len(r.ran(s)) != 2 || missed != 22 {
		t.Errorf("then it ran %v, and %d were told", r.ran(s), missed)
	}
}

// What is to happen once happens once; if it was missed it can be made up for, and is over then.
func TestOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add(schedule.Once(r.at.Add(time.Hour)).String(), "UTC")
	r.run(3 * time.Hour)
	if got := r.ran(s); len(got) != 1 {
		t.Errorf("it ran %v", got)
	}
	if list, err := r.store.Schedules().Of(r.ctx, room); err != nil || len(list) != 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
	r.told()
	r.add(schedule.Once(r.at.Add(time.Hour)).String(), "UTC")
	r.at = r.at.Add(time.Hour + grace + time.Second)
	r.look()
	if missed, offers := r.told(); missed != 1 || len(offers) != 1 {
		t.Errorf("%d told, %v", missed, offers)
	}
	list, err := r.store.Schedules().Of(r.ctx, room)
	if err != nil || len(list) != 1 || list[0].State != schedules.Paused || list[0].Offered.IsZero() || list[0].WithoutOffer().State != schedules.Over {
		t.Errorf("%+v, %v", list, err)
	}
}

// A schedule whose maker may not ask any more is paused before it runs.
func TestWhoeverMayNotAskAnyMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add("0 9 * * *", "UTC")
	r.why = i18n.ScheduleNoAccess
	r.run(49 * time.Hour)
	if len(r.ran(s)) != 0 || len(r.stopped) != 1 {
		t.Errorf("ran %v, stopped %v", r.ran(s), r.stopped)
	}
	if list, err := r.store.Schedules().Of(r.ctx, room); err != nil || list[0].State != schedules.Paused || !list[0].Next.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}

// A schedule that was changed in the moment in which it was to run does not run as it was.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := r.add("0 9 * * *", "UTC")
	times, err := s.Times()
	r.must(err)
	removed := s
	removed.State, removed.Next = schedules.Over, time.Time{}
	r.must(r.store.Schedules().Make(r.ctx, room, schedules.Change{Was: s, Is: removed}))
	r.at = r.at.Add(time.Hour)
	if _, err := r.clock.run(r.ctx, dueAt(s, times, r.at), s); err != nil || len(r.ran(s)) != 0 {
		t.Errorf("ran %v, %v", r.ran(s), err)
	}
}

// What programs have called for is asked once, also if the bridge is killed in between, and not if it is paused.
func TestCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	store := r.store.Schedules()
	r.at = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	s := schedules.Schedule{Key: room, Number: 1, State: schedules.Active, Task: "look", Name: "ci", Words: "ci", Maker: chat.Actor{ID: "ou_1"}}
	_, err := r.store.Messages().Accept(r.ctx, db.Inbound{
		Incoming: chat.Incoming{Key: room, Kind: chat.Private, ID: "om_1"}, Class: chat.Command, Effects: []db.Effect{db.ChangeSchedules{Is: s}},
	})
	r.must(err)
	call := func(id string) {
		t.Helper()
		r.must(store.Call(r.ctx, schedules.Call{Schedule: s, ID: id, At: r.at}))
	}
	asked := func() (n int) {
		t.Helper()
		list, err := r.store.Messages().Latest(r.ctx, room, 100)
		r.must(err)
		for _, m := range list {
			if strings.HasPrefix(m.ID, "press:call:1:") {
				n++
			}
		}
		return n
	}
	call("a")
	call("a")
	for _, r.fail = range []string{"before", "after", "", ""} {
		r.look()
	}
	call("a")
	r.look()
	call("b")
	r.look()
	if n := asked(); n != 2 {
		t.Errorf("%d questions", n)
	}
	r.busy = true // one after the other
	call("http:c")
	r.look()
	if left, err := store.Calls(r.ctx); err != nil || len(left) != 1 || asked() != 2 {
		t.Errorf("in a busy chat: left %v, %v; %d questions", left, err, asked())
	}
	r.must(store.Make(r.ctx, room, schedules.Change{Answered: schedules.Call{Schedule: s, ID: "http:c"}}))
	r.busy = false
	paused := s
	paused.State = schedules.Paused
	r.must(store.Make(r.ctx, room, schedules.Change{Was: s, Is: paused}))
	call("c")
	r.look()
	if left, err := store.Calls(r.ctx); err != nil || len(left) != 1 || asked() != 2 {
		t.Errorf("left %v, %v; %d questions", left, err, asked())
	}
	over := paused
	over.State = schedules.Over
	r.must(store.Make(r.ctx, room, schedules.Change{Was: paused, Is: over}))
	r.look()
	if left, err := store.Calls(r.ctx); err != nil || len(left) != 0 || asked() != 2 {
		t.Errorf("left %v, %v; %d questions", left, err, asked())
	}
	for i := range 101 {
		if err := store.Call(r.ctx, schedules.Call{Schedule: s, ID: fmt.Sprint(i), At: r.at}); errors.Is(err, schedules.ErrTooMany) != (i == 100) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}
