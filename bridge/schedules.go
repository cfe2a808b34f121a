package bridge

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/bridge/access"
	"magpie/bridge/clock"
	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/schedule"
)

// every is the command /every.
func (cs *commandSet) every(ctx context.Context, o invocation) (commandResult, error) {
	order, err := schedule.ReadEvery(o.args)
	return cs.orderTask(ctx, o, order, err, i18n.EveryUsage)
}

// at is the command /at.
func (cs *commandSet) at(ctx context.Context, o invocation) (commandResult, error) {
	order, err := schedule.ReadAt(o.args, o.Time.In(cs.zoneOf(o.chat)))
	return cs.orderTask(ctx, o, order, err, i18n.AtUsage)
}

// zoneOf is the time zone of a chat's schedules.
func (cs *commandSet) zoneOf(c db.Chat) *time.Location { return c.Settings.ZoneOr(cs.zone) }

// orderTask makes a schedule of what was read.
func (cs *commandSet) orderTask(ctx context.Context, o invocation, order schedule.Order, err error, usage i18n.Phrase) (commandResult, error) {
	switch {
	case errors.Is(err, schedule.ErrPast):
		return o.say(i18n.SchedulePast)
	case errors.Is(err, schedule.ErrNoTime):
		return o.say(usage)
	case err != nil:
		return o.say(i18n.ScheduleBad, i18n.Visible(i18n.ErrorText(o.lang, err)))
	case order.Task == "":
		return o.say(i18n.ScheduleNoTask)
	}
	s := schedules.Schedule{
		Key: o.Key, State: schedules.Active, Rule: order.Rule.String(), Words: i18n.Excerpt(i18n.Visible(order.Words), maxWords),
		Zone: clock.ZoneName(cs.zoneOf(o.chat)), Task: order.Task, Maker: o.Actor, ReplyTo: o.topicMessage(),
	}
	if s.Next, err = clock.FirstTime(s, o.Time); errors.Is(err, clock.ErrTooOften) {
		return o.say(i18n.ScheduleTooOften, int(clock.LeastBetween.Minutes()))
	} else if err != nil {
		return commandResult{}, err
	}
	return cs.addSchedule(ctx, o, s, func(s schedules.Schedule) string {
		return i18n.ScheduleMade.Sprintf(o.lang, scheduleWords(s, o)...)
	})
}

const (
	maxWords     = 60  // of a time, in runes
	maxShownTask = 200 // of a task
)

// shownTask is what a schedule asks, as people see it.
func shownTask(s schedules.Schedule) string {
	return i18n.PlainText(i18n.Excerpt(s.Task, maxShownTask))
}

// topicMessage is the message below which something later is answered, so that it stays in the topic; empty = none.
func (o invocation) topicMessage() string {
	switch {
	case o.Key.Thread == "":
		return ""
	case o.answers != "":
		return o.answers
	}
	return o.ID
}

// addSchedule stores a new schedule, and replies.
func (cs *commandSet) addSchedule(ctx context.Context, o invocation, s schedules.Schedule, reply func(schedules.Schedule) string) (commandResult, error) {
	if cmd, name, _ := parseCommand(s.Task); cmd != nil || name != "" || agentCommand.MatchString(s.Task) {
		return o.say(i18n.ScheduleCommand)
	}
	var err error
	if s.Number, err = clock.Number(ctx, cs.schedules, o.Key, s.State); errors.Is(err, clock.ErrTooMany) {
		return o.say(i18n.ScheduleTooMany, clock.MaxSchedules)
	} else if err != nil {
		return commandResult{}, err
	}
	s.Task = cs.cfg.redactForHistory(s.Task)
	done, err := offer(reply(s), clock.Buttons(s, o.lang))
	done.effects = []db.Effect{db.ChangeSchedules{Is: s}}
	return done, err
}

var triggerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)

// trigger is the command /trigger.
func (cs *commandSet) trigger(ctx context.Context, o invocation) (commandResult, error) {
	name, task := splitWord(o.args)
	if task == "" || !triggerName.MatchString(name) {
		return o.say(i18n.TriggerUsage)
	}
	list, err := cs.schedules.Named(ctx, name)
	if err != nil {
		return commandResult{}, err
	} else if slices.ContainsFunc(list, func(s schedules.Schedule) bool { return s.Key == o.Key }) {
		return o.say(i18n.TriggerTaken, name)
	}
	s := schedules.Schedule{
		Key: o.Key, State: schedules.Active, Task: task, Name: name, Words: name, Maker: o.Actor, ReplyTo: o.topicMessage(),
	}
	return cs.addSchedule(ctx, o, s, func(s schedules.Schedule) string {
		return i18n.TriggerMade.Sprintf(o.lang, s.Number, name, shownTask(s),
			i18n.PersonName(s.Maker.Name, s.Maker.ID))
	})
}

// scheduleVerbs are what /schedule does with a schedule, by its names.
var scheduleVerbs = map[string]string{
	"pause": "pause", "暂停": "pause", "resume": "resume", "继续": "resume", "恢复": "resume", "remove": "remove", "删除": "remove",
	"run": "run", "执行": "run", "运行": "run", "confirm": "confirm", "确认": "confirm", "skip": "skip", "跳过": "skip",
	"discard": "discard",
}

// schedule is the command /schedule.
func (cs *commandSet) schedule(ctx context.Context, o invocation) (commandResult, error) {
	words := strings.Fields(o.args)
	list, err := cs.schedules.Of(ctx, o.Key)
	switch {
	case err != nil:
		return commandResult{}, err
	case len(words) == 0:
		return cs.listSchedules(o, list)
	case len(words) == 2 && slices.Contains([]string{"zone", "时区"}, strings.ToLower(words[0])):
		return cs.setZone(o, words[1])
	}
	verb, known := scheduleVerbs[strings.ToLower(words[0])]
	if !known || len(words) < 2 || len(words) > 3 {
		return o.say(i18n.ScheduleUsage)
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(words[1], "#"), 10, 64)
	if err != nil {
		return o.say(i18n.ScheduleUsage)
	}
	i := slices.IndexFunc(list, func(s schedules.Schedule) bool { return s.Number == number })
	if i < 0 {
		return o.say(i18n.ScheduleUnknown, number)
	}
	was := list[i]
	if a := cs.access.At(o.Key); was.State != schedules.Proposed && verb != "run" && verb != "skip" && was.Maker.ID != o.Actor.ID && !a.InCharge(o.Incoming) {
		return o.say(i18n.ScheduleNotYours, number)
	}
	switch {
	case was.State == schedules.Proposed && verb != "confirm" && verb != "resume" && verb != "discard" && verb != "remove":
		return o.say(i18n.ScheduleWaits, number)
	case verb == "skip" && was.Offered.IsZero() && len(words) == 2:
		return o.say(i18n.ScheduleNoneMissed)
	}
	if len(words) == 3 && words[2] != strconv.FormatInt(was.Offered.Unix(), 10) {
		return o.say(i18n.ScheduleNotOpen) // the button of a missed time
	}
	return cs.changeSchedule(ctx, o, verb, was)
}

// changeSchedule does something with a schedule.
func (cs *commandSet) changeSchedule(ctx context.Context, o invocation, verb string, was schedules.Schedule) (commandResult, error) {
	is, number := was, was.Number
	change := func(p i18n.Phrase, args ...any) (commandResult, error) {
		return o.do(db.ChangeSchedules{Was: was, Is: is}, p, args...)
	}
	ended := i18n.ScheduleRemoved
	switch verb {
	case "pause":
		is.State, is.Next = schedules.Paused, time.Time{}
		return change(i18n.SchedulePause, number)
	case "discard":
		ended = i18n.ScheduleDiscarded
		fallthrough
	case "remove":
		is.State, is.Next, is.Task = schedules.Over, time.Time{}, ""
		return change(ended, number)
	case "skip":
		is = was.WithoutOffer()
		return change(i18n.ScheduleSkipped)
	case "run": // on behalf of whoever wants it now
		done := commandResult{ask: was.Task, reply: i18n.ScheduleNow.Sprintf(o.lang, number, shownTask(was))}
		if !was.Offered.IsZero() {
			done.effects = []db.Effect{db.ChangeSchedules{Was: was, Is: was.WithoutOffer()}}
		}
		return done, nil
	}
	if was.State == schedules.Active || verb == "confirm" && was.State != schedules.Proposed {
		return o.say(i18n.ScheduleNotOpen) // and what is due already stays due
	}
	if was.State == schedules.Paused {
		why, err := cs.MayAsk(ctx, was)
		if err != nil {
			return commandResult{}, err
		} else if why != (i18n.Phrase{}) {
			return o.say(i18n.ScheduleStopped, number, clock.Words(was), why.In(o.lang))
		}
	}
	is.State = schedules.Active
	if was.Name == "" {
		var err error
		if is.Next, err = clock.FirstTime(is, o.Time); err != nil {
			return commandResult{}, err
		} else if is.Next.IsZero() {
			return o.say(i18n.ScheduleEnded, number)
		}
	}
	if was.State == schedules.Proposed {
		is.Maker, is.ReplyTo = o.Actor, o.topicMessage()
		return change(i18n.ScheduleMade, scheduleWords(is, o)...)
	}
	if was.Name != "" {
		return change(i18n.ScheduleResumed, number, i18n.ScheduleByName.Sprintf(o.lang, was.Name))
	}
	return change(i18n.ScheduleResumed, number, i18n.ScheduleNext.Sprintf(o.lang, clock.ThreeTimes(is, o.Time, o.lang)))
}

// scheduleWords are the arguments of [i18n.ScheduleMade].
func scheduleWords(s schedules.Schedule, o invocation) []any {
	return []any{
		s.Number, clock.Words(s), shownTask(s), clock.ThreeTimes(s, o.Time, o.lang), s.Zone,
		i18n.PersonName(s.Maker.Name, s.Maker.ID),
	}
}

func (cs *commandSet) setZone(o invocation, name string) (commandResult, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || !strings.Contains(name, "/") && name != "UTC" {
		return o.say(i18n.ScheduleBadZone, excerptOf(name))
	}
	return o.set(func(s *db.Settings) { s.Zone = zone.String() }, i18n.ScheduleZone, zone.String())
}

func (cs *commandSet) listSchedules(o invocation, list []schedules.Schedule) (commandResult, error) {
	if len(list) == 0 {
		return o.say(i18n.ScheduleNone)
	}
	lines := []string{i18n.ScheduleHead.Sprintf(o.lang, clock.ZoneName(cs.zoneOf(o.chat)))}
	for _, s := range list {
		state := ""
		switch {
		case s.State == schedules.Proposed:
			state = i18n.ScheduleWaits.Sprintf(o.lang, s.Number)
		case s.State == schedules.Paused:
			state = i18n.SchedulePausedIs.In(o.lang)
		case s.Name != "":
			state = i18n.ScheduleByName.Sprintf(o.lang, s.Name)
		default:
			state = i18n.ScheduleNextAt.Sprintf(o.lang, clock.NextTime(s, o.lang))
		}
		who := ""
		if s.Maker.ID != "" {
			who = i18n.PersonName(s.Maker.Name, s.Maker.ID)
		}
		lines = append(lines, "- "+strings.TrimSuffix(i18n.ScheduleLine.Sprintf(o.lang, s.Number, clock.Words(s), shownTask(s), state, who), " · "))
	}
	return commandResult{reply: strings.Join(append(lines, i18n.ScheduleFoot.In(o.lang)), "\n")}, nil
}

// MayAsk implements [clock.Bridge].
func (cs *commandSet) MayAsk(ctx context.Context, s schedules.Schedule) (why i18n.Phrase, err error) {
	if in, err := cs.db.Chats().HasBot(ctx, s.Key); err != nil {
		return why, err
	} else if !in {
		return i18n.ScheduleLeft, nil
	}
	who, err := cs.access.Authorize(ctx, s.Key, s.Maker)
	if err == nil && who != access.Admitted {
		why = i18n.ScheduleNoAccess
	}
	return why, err
}

// Ask implements [clock.Bridge]. A question that is due is like one that a pressed button asks.
func (cs *commandSet) Ask(ctx context.Context, q clock.Question) error {
	press := chat.Press{Key: q.Key, Card: q.ReplyTo, Actor: q.Maker}
	return cs.executePress(ctx, press, db.PressID(q.ID), "", func(_ context.Context, o invocation) (commandResult, error) {
		done := commandResult{ask: q.Task, reply: q.Head.In(o.lang), effects: []db.Effect{db.ChangeSchedules(q.Then)}}
		if q.File != nil {
			done.files = []chat.File{*q.File}
			done.ask += "\n" + i18n.ScheduleSent.In(o.lang) + "\n" + chat.AttachmentMark(chat.Document.Label(), q.File.Name)
		}
		return done, nil
	})
}

// TellOwner implements [clock.Bridge].
func (cs *commandSet) TellOwner(ctx context.Context, s schedules.Schedule, why i18n.Phrase) error {
	owner := cs.access.At(s.Key).Approver()
	if owner == "" {
		return nil
	}
	l := cs.languages.OfUser(ctx, owner)
	where := i18n.ScheduleStoppedAt.Sprintf(l, why.In(l), s.Key.String())
	return cs.outbox.Enqueue(ctx, db.Post{
		Key: chat.PersonKey(owner), Idem: "paused:" + uuid.NewString(),
		Text: i18n.ScheduleStopped.Sprintf(l, s.Number, clock.Words(s), where),
	})
}

// Lang implements [clock.Bridge].
func (cs *commandSet) Lang(ctx context.Context, key chat.Key) i18n.Lang {
	return cs.languages.OfChat(ctx, key)
}

// Waits implements [clock.Bridge].
func (cs *commandSet) Waits(ctx context.Context, key chat.Key, id string) (bool, error) {
	return cs.schedules.Waits(ctx, key, db.PressID(id))
}

// Wake implements [clock.Bridge].
func (cs *commandSet) Wake(key chat.Key) { cs.outbox.Wake(key) }
