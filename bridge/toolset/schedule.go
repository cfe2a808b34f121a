package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/bridge/clock"
	"magpie/db/schedules"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/schedule"
)

const scheduleTool = "Proposes that something is done at a time, or again and again: people are shown a card and confirm it. Use it when the user wants " +
	"to be reminded, or wants something done later or regularly. The task is what you will be asked then, in this chat, without anything else: say all that " +
	"is needed, in the language of the user. Do not use it for what can be done now. Tell the user to confirm the card."

// ScheduleInput is the input of the tool that proposes a schedule.
type ScheduleInput struct {
	When string `json:"when" jsonschema:"once: a local time as 2026-05-04 09:00; again and again: the five fields of cron (minute, hour, day, month, weekday), as 0 9 * * 1-5"`
	Task string `json:"task" jsonschema:"what to ask then, complete in itself"`
}

// ProposeSchedule proposes a schedule to the people of a chat.
func (s *Set) ProposeSchedule(ctx context.Context, key chat.Key, in ScheduleInput) (string, error) {
	a, err := s.RunningTurn(key)
	if err != nil {
		return "", err
	}
	task := i18n.Visible(s.Clean(in.Task)) // of which people see all
	if n := utf8.RuneCountInString(task); n == 0 || n > clock.MaxProposed || strings.HasPrefix(task, "/") {
		return "", agenttools.Refusedf("Not proposed: the task must have 1 to %d characters and not begin with a slash.", clock.MaxProposed)
	}
	now, zone := time.Now(), a.Chat.Settings.ZoneOr(s.Context.Zone())
	rule, err := schedule.ParseCron(in.When)
	if at, onceErr := time.ParseInLocation("2006-01-02 15:04", strings.TrimSpace(in.When), zone); onceErr == nil {
		rule, err = schedule.Once(at), nil
	}
	if err != nil {
		return "", agenttools.Refusedf("Not proposed: %v; or write a local time as 2026-05-04 09:00.", err)
	}
	words := rule.String()
	if rule.IsOnce() {
		words = strings.TrimSpace(in.When) // which was read as a whole
	}
	p := schedules.Schedule{Key: key, State: schedules.Proposed, Rule: rule.String(), Words: words, Zone: clock.ZoneName(zone), Task: task}
	switch first, err := clock.FirstTime(p, now); {
	case errors.Is(err, clock.ErrTooOften):
		return "", agenttools.Refusedf("Not proposed: there must be at least %v between two times.", clock.LeastBetween)
	case err != nil:
		return "", err
	case first.IsZero():
		return "", agenttools.Refusedf("Not proposed: that time is over; it is %s now.", now.In(zone).Format("2006-01-02 15:04 Monday"))
	}
	below := ""
	if key.Thread != "" {
		below = a.Turn.ReplyTo
	}
	p.Number, err = clock.Propose(ctx, s.DB.Schedules(), p, now, s.Language(ctx, key), below)
	if errors.Is(err, clock.ErrTooMany) {
		return "", agenttools.Refusedf("Not proposed: this chat has too many schedules. The user can remove some with /schedule.")
	} else if err != nil {
		return "", err
	}
	s.Outbox.Wake(key)
	return fmt.Sprintf("Proposed as number %d. It counts once somebody has confirmed the card: tell the user.", p.Number), nil
}
