// Package clock asks in chats what is to be asked at a time, or when a program says so. What it asks is a message like
// that of a pressed button, whose ID is made of the schedule and the time: it is stored once, with its turn.
//
// It does not know who may talk to the bot, nor how a turn runs.
package clock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/db/engine"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// Question is what the clock has asked in a chat, on behalf of whoever has made its schedule.
type Question struct {
	schedules.Schedule

	ID   string     // of the schedule and the time: the same question is asked once
	File *chat.File // what a program has sent with it; nil = nothing
	Head i18n.Phrase
	Then schedules.Change // made with it
}

// Bridge is what a clock needs of the bridge.
type Bridge interface {
	// MayAsk reports why a schedule must not run any more; no text = it may.
	MayAsk(ctx context.Context, s schedules.Schedule) (why i18n.Phrase, err error)
	// Ask asks. A question that was asked before changes nothing.
	Ask(ctx context.Context, q Question) error
	// TellOwner tells whoever decides about access to a chat that a schedule there was paused.
	TellOwner(ctx context.Context, s schedules.Schedule, why i18n.Phrase) error
	// Lang is the language of a chat.
	Lang(ctx context.Context, key chat.Key) i18n.Lang
	// Waits reports whether a question whose ID begins so waits to be asked.
	Waits(ctx context.Context, key chat.Key, id string) (bool, error)
	// Wake has what waits for delivery in a chat delivered.
	Wake(key chat.Key)
}

// Clock runs the schedules of the chats that this bridge has.
type Clock struct {
	store  schedules.Store
	bridge Bridge
	mine   func(ctx context.Context, key chat.Key) (bool, error)
	log    zerolog.Logger
	now    func() time.Time
	woken  chan struct{}
}

// New returns a clock. require takes the room of a chat for this bridge, or returns [chat.ErrElsewhere].
func New(store schedules.Store, b Bridge, require func(context.Context, chat.Key) error, log zerolog.Logger) *Clock {
	mine := func(ctx context.Context, key chat.Key) (bool, error) {
		err := require(ctx, key)
		if errors.Is(err, chat.ErrElsewhere) {
			return false, nil
		}
		return err == nil, err
	}
	return &Clock{store: store, bridge: b, mine: mine, log: log, now: time.Now, woken: make(chan struct{}, 1)}
}

// Wake makes the clock look what is due.
func (c *Clock) Wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// Named lists the schedules that programs call by a name.
func (c *Clock) Named(ctx context.Context, name string) ([]schedules.Schedule, error) {
	return c.store.Named(ctx, name)
}

// HasRoom returns [schedules.ErrTooMany] if a call would be too many.
func (c *Clock) HasRoom(ctx context.Context, call schedules.Call) error {
	return c.store.HasRoom(ctx, call)
}

// Call takes the call of a program. Once it returns without error, the call survives a crash.
func (c *Clock) Call(ctx context.Context, call schedules.Call) error {
	err := c.store.Call(ctx, call)
	c.Wake()
	return err
}

const (
	// longest is for how long the clock sleeps: its timer does not count while the machine is suspended, and what other
	// bridges store does not wake it.
	longest = 10 * time.Second
	// grace is how late something may run. What is later was missed: people may not want it any more.
	grace = 10 * time.Minute
	// maxMissed limits how many missed times are counted.
	maxMissed = 999
)

// Run runs what is due until ctx is done.
func (c *Clock) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause, err := c.look(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrAway) { // which is said once
			c.log.Error().Err(err).Msg("a schedule did not run; trying again")
			pause = longest
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.woken:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// look runs what is due, and returns how long nothing else will be.
func (c *Clock) look(ctx context.Context) (pause time.Duration, err error) {
	pause = longest
	calls, err := c.store.Calls(ctx)
	for _, call := range calls {
		err = errors.Join(err, c.answer(ctx, call))
	}
	list, listErr := c.store.Waiting(ctx)
	err = errors.Join(err, listErr)
	now := c.now()
	for _, s := range list {
		times, timesErr := s.Times()
		if timesErr != nil {
			err = errors.Join(err, timesErr)
			continue
		}
		if s.Next.After(now) && !times(now).Before(s.Next) {
			pause = min(pause, s.Next.Sub(now))
			continue
		}
		switch mine, mineErr := c.mine(ctx, s.Key); {
		case mineErr != nil:
			err = errors.Join(err, mineErr)
		case mine:
			next, runErr := c.run(ctx, dueAt(s, times, now), s)
			if err = errors.Join(err, runErr); !next.IsZero() {
				pause = min(pause, max(next.Sub(now), 0))
			}
		}
	}
	return pause, err
}

// due is what is to become of a schedule at a time.
type due struct {
	is     schedules.Schedule
	run    time.Time // which of its times is run; zero = none
	missed int       // how many others were not
	last   time.Time // the last of these
}

// dueAt decides what becomes of a schedule. One whose next time is too far away, since the clock was put back, gets a
// nearer one.
func dueAt(s schedules.Schedule, times func(time.Time) time.Time, now time.Time) due {
	d := due{is: s}
	for at := s.Next; !at.IsZero() && !at.After(now) && d.missed < maxMissed; at = times(at) {
		d.missed, d.last = d.missed+1, at
	}
	for at := times(now.Add(-grace)); !at.IsZero() && !at.After(now); at = times(at) {
		if !at.Before(s.Next) {
			d.run, d.last = at, at
		}
	}
	if d.missed == maxMissed { // nobody needs to know of each
		for at := times(now.Add(-25 * time.Hour)); !at.IsZero() && !at.After(now); at = times(at) {
			d.last = at
		}
	}
	if !d.run.IsZero() {
		d.missed--
	}
	d.is.Next = times(now)
	if d.missed > 0 {
		d.is.Offered = time.Time{}
		if d.run.IsZero() {
			d.is.Offered = d.last
		}
	}
	if d.is.Next.IsZero() {
		if d.is.State = schedules.Over; !d.is.Offered.IsZero() {
			d.is.State = schedules.Paused
		}
	}
	return d
}

// run runs a schedule that was s, or tells that it was missed. It returns when it is due next.
func (c *Clock) run(ctx context.Context, d due, s schedules.Schedule) (next time.Time, err error) {
	begin := fmt.Sprintf("schedule:%d:", s.Number)
	if waits, err := c.bridge.Waits(ctx, s.Key, begin); err != nil || waits {
		return time.Time{}, err // it is asked once more, or was missed, when that one is asked
	}
	then := schedules.Change{Was: s, Is: d.is}
	switch why, err := c.stop(ctx, s); {
	case err != nil || why:
		return time.Time{}, err
	case d.run.IsZero() && d.missed == 0:
	case d.run.IsZero():
		then.Tells = c.notice(ctx, d)
	default:
		head := i18n.ScheduleRuns.With(s.Number, Words(s), i18n.PlainText(i18n.Excerpt(s.Task, maxTask)))
		if d.missed > 0 {
			head = i18n.Phrase{ZH: head.ZH + "\n" + i18n.ScheduleMissedToo.Sprintf(i18n.Chinese, d.missed), EN: head.EN + "\n" +
				i18n.ScheduleMissedToo.Sprintf(i18n.English, d.missed)}
		}
		q := Question{Schedule: s, ID: begin + strconv.FormatInt(d.run.Unix(), 10), Head: head, Then: then}
		failpoint.At("schedule: due")
		if err := c.bridge.Ask(ctx, q); errors.Is(err, schedules.ErrChanged) {
			return time.Time{}, nil // it is looked at again
		} else if err != nil {
			return time.Time{}, fmt.Errorf("schedule %d of %v: %w", s.Number, s.Key, err)
		}
		failpoint.At("schedule: asked")
		c.log.Info().Stringer("chat", s.Key).Int64("schedule", s.Number).Time("due", d.run).Msg("a schedule runs")
	}
	// If it was asked before, as when the clock was put back, this is left to do.
	err = c.store.Make(ctx, s.Key, then)
	if errors.Is(err, schedules.ErrChanged) {
		err = nil
	}
	c.bridge.Wake(s.Key)
	return d.is.Next, err
}

// notice tells that a schedule was missed.
func (c *Clock) notice(ctx context.Context, d due) schedules.Notice {
	s := d.is
	l := c.bridge.Lang(ctx, s.Key)
	text := i18n.ScheduleMissed.Sprintf(l, s.Number, Words(s), i18n.PlainText(i18n.Excerpt(s.Task, maxTask)), d.missed, timeOf(s, d.last, l))
	card := &chat.Card{Title: i18n.ScheduleMissedHead.In(l), State: chat.CardNeedsYou, Body: text, Summary: i18n.FirstLine(text), Buttons: []chat.Button{
		button(i18n.ScheduleRunMissed.In(l), "run", s.Number, d.last.Unix()),
		button(i18n.ScheduleSkipMissed.In(l), "skip", s.Number, d.last.Unix()),
	}}
	return schedules.Notice{To: chat.Ref{Key: s.Key, ID: s.ReplyTo}, Idem: idem("missed", s, d.last.Unix()), Card: card}
}

// stop pauses a schedule whose maker may not ask any more. It reports whether it did.
func (c *Clock) stop(ctx context.Context, s schedules.Schedule) (stopped bool, err error) {
	why, err := c.bridge.MayAsk(ctx, s)
	if err != nil || why == (i18n.Phrase{}) {
		return false, err
	}
	is := s
	is.State, is.Next = schedules.Paused, time.Time{}
	l := c.bridge.Lang(ctx, s.Key)
	err = c.store.Make(ctx, s.Key, schedules.Change{Was: s, Is: is, Tells: schedules.Notice{
		To: chat.Ref{Key: s.Key, ID: s.ReplyTo}, Idem: "paused:" + uuid.NewString(),
		Text: i18n.ScheduleStopped.Sprintf(l, s.Number, Words(s), why.In(l)),
	}})
	if errors.Is(err, schedules.ErrChanged) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	c.log.Warn().Stringer("chat", s.Key).Int64("schedule", s.Number).Msg("a schedule is paused: whoever has made it may not ask any more")
	c.bridge.Wake(s.Key)
	return true, c.bridge.TellOwner(ctx, s, why)
}

// answer asks what a program has called for.
func (c *Clock) answer(ctx context.Context, call schedules.Call) error {
	s := call.Schedule
	mine, err := c.mine(ctx, s.Key)
	if err != nil || !mine {
		return err
	}
	forget, begin := schedules.Change{Answered: call}, fmt.Sprintf("call:%d:", s.Number)
	if s.State != schedules.Over {
		if s.State != schedules.Active {
			return nil // it waits until somebody has it go on
		}
		if stopped, err := c.stop(ctx, s); err != nil || stopped {
			return err
		}
		if waits, err := c.bridge.Waits(ctx, s.Key, begin); err != nil || waits {
			return err // one after the other
		}
		q := Question{
			Schedule: s, ID: begin + call.ID, Then: forget,
			Head: i18n.ScheduleCalled.With(s.Name, i18n.PlainText(i18n.Excerpt(s.Task, maxTask))),
		}
		if call.File != "" {
			q.File = &chat.File{Number: 1, Kind: chat.Document, Of: call.ID, Key: call.File, Name: schedules.FileName}
		}
		if err := c.bridge.Ask(ctx, q); err != nil {
			return fmt.Errorf("schedule %d of %v: %w", s.Number, s.Key, err)
		}
	}
	return c.store.Make(ctx, s.Key, forget)
}

// maxTask is how much of a task is shown, in runes.
const maxTask = 100

// button gives the command /schedule.
func button(label, verb string, numbers ...int64) chat.Button {
	return turncard.CommandButton(label, "/schedule "+verb+" "+strings.Trim(fmt.Sprint(numbers), "[]"))
}

// idem is the idempotency key of what is shown about a schedule.
func idem(what string, s schedules.Schedule, numbers ...int64) string {
	return fmt.Sprintf("%s:%v:%d:%v", what, s.Key, s.Number, numbers)
}
