// Package schedule says when something is due: once at a time, or again and again by the five fields of cron. It reads
// how people write that, in Chinese and English.
//
// It does not know what is due, nor what time it is.
package schedule

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/internal/dates"
	"magpie/internal/i18n"
)

// Rule is when something is due.
type Rule struct {
	once time.Time // zero = again and again, by the fields

	minutes, hours, days, months, weekdays uint64 // sets of numbers, as bits
	everyHour                              bool   // the field of the hour begins with a star
	anyDay, anyWeekday                     bool   // so do these: otherwise it is enough if one of them holds
	fields                                 string
}

// Once is due at a time, and never again.
func Once(at time.Time) Rule { return Rule{once: at} }

// IsOnce reports whether something is due only once.
func (r Rule) IsOnce() bool { return !r.once.IsZero() }

// onceMark begins the durable form of a rule that holds once.
const onceMark = "once "

// String is the durable form, which [Parse] reads.
func (r Rule) String() string {
	if r.IsOnce() {
		return onceMark + r.once.UTC().Format(time.RFC3339)
	}
	return r.fields
}

// field is one of the five fields of cron.
type field struct {
	first, last int
	name        func(word string) int // the number of a word; below first = none
}

var (
	monthName   = func(word string) int { return nameOf(word, dates.Month) }
	weekdayName = func(word string) int {
		return slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, word)
	}
	noName = func(string) int { return -1 }
)

// nameOf is the number of a word of three letters.
func nameOf(word string, number func(string) int) int {
	if len(word) != 3 {
		return -1
	}
	return number(word)
}

// theFields are minute, hour, day of the month, month and day of the week, where 7 is Sunday as well.
var theFields = [5]field{{0, 59, noName}, {0, 23, noName}, {1, 31, noName}, {1, 12, monthName}, {0, 7, weekdayName}}

// Parse reads the durable form of a rule.
func Parse(s string) (Rule, error) {
	if at, ok := strings.CutPrefix(s, onceMark); ok {
		t, err := time.Parse(time.RFC3339, at)
		return Once(t), err
	}
	return ParseCron(s)
}

// ParseCron reads the five fields of cron: numbers, ranges, lists, steps, and English names of months and weekdays. A rule
// that never comes is a mistake.
func ParseCron(s string) (Rule, error) {
	words := strings.Fields(strings.ToLower(s))
	if len(words) != len(theFields) {
		return Rule{}, i18n.Mistakef("cron 表达式应有五个字段（分 时 日 月 星期），%q 有 %d 个", "a cron expression has five fields (minute, hour, day, month, weekday), %q has %d",
			s, len(words))
	}
	r := Rule{fields: strings.Join(words, " ")}
	for i, set := range []*uint64{&r.minutes, &r.hours, &r.days, &r.months, &r.weekdays} {
		var ok bool
		if *set, ok = theFields[i].parse(words[i]); !ok {
			return Rule{}, i18n.Mistakef("cron 表达式 %q 的第 %d 个字段 %q 不对", "cron expression %q: field %d, %q, is not valid", s, i+1, words[i])
		}
	}
	r.weekdays |= r.weekdays >> 7 & 1
	r.everyHour = words[1][0] == '*'
	r.anyDay, r.anyWeekday = words[2][0] == '*', words[4][0] == '*'
	if r.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Rule{}, i18n.Mistakef("没有哪一天符合 %q", "no day is like %q", s)
	}
	return r, nil
}

// parse reads a field as a set of numbers.
func (f field) parse(s string) (set uint64, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		span, by, steps := strings.Cut(part, "/")
		step := 1
		if steps {
			n, err := strconv.Atoi(by)
			if err != nil || n < 1 || n > f.last || strings.HasPrefix(by, "+") {
				return 0, false
			}
			step = n
		}
		from, to := f.first, f.last
		if span != "*" {
			low, high, isRange := strings.Cut(span, "-")
			if !isRange && !steps {
				high = low
			}
			if from, ok = f.number(low); !ok {
				return 0, false
			}
			if isRange || !steps {
				if to, ok = f.number(high); !ok || to < from {
					return 0, false
				}
			}
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, true
}

func (f field) number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	if err != nil {
		n = f.name(s)
	}
	return n, n >= f.first && n <= f.last && !strings.HasPrefix(s, "+")
}

func has(set uint64, n int) bool { return set>>n&1 == 1 }

// onDay reports whether something is due on a day.
func (r Rule) onDay(month time.Month, day int, weekday time.Weekday) bool {
	inMonth, inWeek := has(r.days, day), has(r.weekdays, int(weekday))
	return has(r.months, int(month)) && (inMonth && inWeek || !r.anyDay && !r.anyWeekday && (inMonth || inWeek))
}

// Next is the first time after another one at which something is due, in that one's time zone; zero = never.
//
// Clocks that are put forward or back are treated as cron does. A rule for certain hours goes by the clock on the wall: a
// time that is left out comes at the end of the gap, and one that comes twice counts the first time. A rule for every
// hour, or every few hours, goes by the time that passes.
func (r Rule) Next(after time.Time) time.Time {
	if r.IsOnce() {
		if r.once.After(after) {
			return r.once.In(after.Location())
		}
		return time.Time{}
	}
	year, month, day := after.Date()
	// Days are counted in a zone in which none is left out. The longest gap is that of 29 February around 2100.
	date := time.Date(year, month, day-1, 0, 0, 0, 0, time.UTC)
	for range 9 * 366 {
		if r.onDay(date.Month(), date.Day(), date.Weekday()) {
			if at := r.onDate(date, after); !at.IsZero() {
				return at
			}
		}
		date = date.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// onDate is the first time after another one at which something is due on a date; zero = none.
func (r Rule) onDate(date, after time.Time) (first time.Time) {
	take := func(at time.Time) {
		if at.After(after) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	year, month, day := date.Date()
	for hours := r.hours; hours != 0; hours &= hours - 1 {
		for minutes := r.minutes; minutes != 0; minutes &= minutes - 1 {
			hour, minute := bits.TrailingZeros64(hours), bits.TrailingZeros64(minutes)
			earlier, later := wall(year, month, day, hour, minute, after.Location())
			if !r.everyHour {
				take(earlier)
				continue
			}
			for _, at := range []time.Time{earlier, later} {
				if at.Hour() == hour && at.Minute() == minute { // it is not left out
					take(at)
				}
			}
		}
	}
	return first
}

// wall is when clocks on the wall show a time. If they never do, both are the end of the gap.
func wall(year int, month time.Month, day, hour, minute int, zone *time.Location) (earlier, later time.Time) {
	at := time.Date(year, month, day, hour, minute, 0, 0, zone)
	begin, end := at.ZoneBounds()
	asked := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
	shown := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	switch {
	case shown.After(asked): // moved to behind the gap
		return begin, begin
	case shown.Before(asked): // moved to before it
		return end, end
	}
	earlier, later = at, at
	if again := sameOn(at, begin.Add(-1)); !begin.IsZero() && again.Before(begin) {
		earlier = again
	}
	if again := sameOn(at, end); !end.IsZero() && !again.Before(end) {
		later = again
	}
	return earlier, later
}

// sameOn is when clocks show the same as at one time, if they are set as at another one.
func sameOn(at, set time.Time) time.Time {
	_, have := at.Zone()
	_, want := set.Zone()
	return at.Add(time.Duration(have-want) * time.Second)
}
