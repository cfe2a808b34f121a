package contextmgr

import (
	"regexp"
	"strings"
	"time"

	"magpie/internal/dates"
)

// span is a period in a question: from the start of one day up to the start of another.
type span struct{ from, to time.Time }

func (s span) holds(t time.Time) bool { return !t.Before(s.from) && t.Before(s.to) }

// spansIn finds the days that text names, in Chinese and English, relative to now, the time at which it was written.
func spansIn(text string, now time.Time) []span {
	c := calendar{today(now)}
	text = strings.ToLower(dates.HalfWidth(text))
	var spans []span
	for _, rule := range dateRules {
		text = replaceMatches(rule.re, text, func(m []string) bool {
			s, ok := rule.span(c, m)
			if ok {
				spans = append(spans, s)
			}
			return ok
		})
	}
	return spans
}

// replaceMatches blanks the matches that take accepts, so that later rules do not read parts of them.
func replaceMatches(re *regexp.Regexp, text string, take func(groups []string) bool) string {
	return re.ReplaceAllStringFunc(text, func(match string) string {
		if take(re.FindStringSubmatch(match)) {
			return " "
		}
		return match
	})
}

// calendar computes periods relative to the day of the question.
type calendar struct{ today time.Time }

// today is the midnight before t, in t's time zone.
func today(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// days is a period of n days; first is relative to today.
func (c calendar) days(first, n int) span {
	from := c.today.AddDate(0, 0, first)
	return span{from, from.AddDate(0, 0, n)}
}

// around is the day this many days ago, plus and minus some slack: "three weeks ago" is rarely exact.
func (c calendar) around(ago, slack int) span { return c.days(-ago-slack, 2*slack+1) }

// week is the week this many weeks ago; it starts on Monday.
func (c calendar) week(ago int) span { return c.days(-weekday(c.today)-7*ago, 7) }

// weekday counts from Monday = 0.
func weekday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// month is the month this many months ago.
func (c calendar) month(ago int) span {
	from := time.Date(c.today.Year(), c.today.Month()-time.Month(ago), 1, 0, 0, 0, 0, c.today.Location())
	return span{from, from.AddDate(0, 1, 0)}
}

func (c calendar) year(y int) span {
	from := time.Date(y, 1, 1, 0, 0, 0, 0, c.today.Location())
	return span{from, from.AddDate(1, 0, 0)}
}

// dateSpan is a day, or a month if day is 0. Without a year it is the latest one that has begun.
func (c calendar) dateSpan(year, month, day int) (span, bool) {
	if month < 1 || month > 12 || day < 0 || day > 31 || year < 0 {
		return span{}, false
	}
	at := func(y int) span {
		from := time.Date(y, time.Month(month), max(day, 1), 0, 0, 0, 0, c.today.Location())
		if day == 0 {
			return span{from, from.AddDate(0, 1, 0)}
		}
		return span{from, from.AddDate(0, 0, 1)}
	}
	switch {
	case year > 0 && year < 100:
		return at(2000 + year), true
	case year > 0:
		return at(year), year > 1900 && year < 2200
	}
	s := at(c.today.Year())
	// People who name a month without a year mean the past.
	if s.from.After(c.today) {
		s = at(c.today.Year() - 1)
	}
	return s, true
}

// latest is the newest such weekday up to today.
func (c calendar) latest(day int) span {
	ago := (weekday(c.today) - day + 7) % 7
	return c.days(-ago, 1)
}

// Parts of the patterns below.
const (
	enMonth = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	enDay   = `(mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?day`
	enCount = `(\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:a )?couple(?: of)?|(?:a )?few|several)`
	zhCount = `(\d+|[一二两三四五六七八九十几]+)`
	zhWeek  = `(?:周|星期|礼拜)`
)

// dateRule recognizes one way of naming days.
type dateRule struct {
	re   *regexp.Regexp
	span func(c calendar, m []string) (span, bool)
}

func rule(pattern string, f func(c calendar, m []string) (span, bool)) dateRule {
	return dateRule{regexp.MustCompile(pattern), f}
}

// always is for patterns whose period does not depend on their groups.
func always(f func(c calendar) span) func(calendar, []string) (span, bool) {
	return func(c calendar, _ []string) (span, bool) { return f(c), true }
}

// dateRules are tried in this order; longer and more specific patterns come first.
var dateRules = []dateRule{
	rule(`\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b`, func(c calendar, m []string) (span, bool) {
		return c.dateSpan(dates.Number(m[1]), dates.Number(m[2]), dates.Number(m[3]))
	}),
	rule(`\b(\d{4})-(\d{2})\b`, func(c calendar, m []string) (span, bool) {
		return c.dateSpan(dates.Number(m[1]), dates.Number(m[2]), 0)
	}),
	rule(`(\d{4}|\d{2}|去|今|前)年\s*`+zhCount+`月份?\s*(?:`+zhCount+`[日号])?`, func(c calendar, m []string) (span, bool) {
		year := dates.Number(m[1])
		switch m[1] {
		case "今":
			year = c.today.Year()
		case "去":
			year = c.today.Year() - 1
		case "前":
			year = c.today.Year() - 2
		}
		return c.dateSpan(year, dates.Number(m[2]), dates.Number(m[3]))
	}),
	rule(`(上上个?|上个?|这个?|本)月\s*(?:`+zhCount+`[日号])?`, func(c calendar, m []string) (span, bool) {
		ago := map[string]int{"上上": 2, "上": 1, "这": 0, "本": 0}[strings.TrimSuffix(m[1], "个")]
		s := c.month(ago)
		if day := dates.Number(m[2]); day > 0 {
			return c.dateSpan(s.from.Year(), int(s.from.Month()), day)
		}
		return s, true
	}),
	rule(zhCount+`月份?\s*`+zhCount+`[日号]?`, func(c calendar, m []string) (span, bool) {
		return c.dateSpan(0, dates.Number(m[1]), dates.Number(m[2]))
	}),
	rule(zhCount+`个?半?(天|日|周|星期|礼拜|个?月|年)(?:之|以)?前`, func(c calendar, m []string) (span, bool) {
		n := dates.Number(m[1])
		switch m[2] {
		case "天", "日":
			return c.around(n, n/7), n > 0
		case "月", "个月":
			return c.around(30*n, 12), n > 0
		case "年":
			return c.around(365*n, 60), n > 0
		}
		return c.around(7*n, 3), n > 0
	}),
	rule(`半年前`, always(func(c calendar) span { return c.around(182, 40) })),
	rule(`半个月前`, always(func(c calendar) span { return c.around(15, 4) })),
	rule(zhCount+`月份?`, func(c calendar, m []string) (span, bool) { return c.dateSpan(0, dates.Number(m[1]), 0) }),
	rule(`(上上个?|上个?|这个?|本|)`+zhWeek+`([一二三四五六日天1-6])`, func(c calendar, m []string) (span, bool) {
		day := dates.Weekday(m[2])
		ago, ok := map[string]int{"上上": 2, "上": 1, "这": 0, "本": 0}[strings.TrimSuffix(m[1], "个")]
		if !ok {
			return c.latest(day), true
		}
		from := c.week(ago).from.AddDate(0, 0, day)
		return span{from, from.AddDate(0, 0, 1)}, true
	}),
	rule(`(上上个?|上个?|这个?|本)?周末`, func(c calendar, m []string) (span, bool) {
		ago := map[string]int{"上上": 2, "上": 1}[strings.TrimSuffix(m[1], "个")]
		s := c.week(ago)
		if s.from.AddDate(0, 0, 5).After(c.today) {
			s = c.week(1)
		}
		return span{s.from.AddDate(0, 0, 5), s.to}, true
	}),
	rule(`(上上个?|上个?|这个?|本)`+zhWeek, func(c calendar, m []string) (span, bool) {
		return c.week(map[string]int{"上上": 2, "上": 1, "这": 0, "本": 0}[strings.TrimSuffix(m[1], "个")]), true
	}),
	rule(`大前天`, always(func(c calendar) span { return c.days(-3, 1) })),
	rule(`前天`, always(func(c calendar) span { return c.days(-2, 1) })),
	rule(`昨[天日晚]`, always(func(c calendar) span { return c.days(-1, 1) })),
	rule(`今[天日早晚]`, always(func(c calendar) span { return c.days(0, 1) })),
	rule(`前几天|这几天|最近几天`, always(func(c calendar) span { return c.days(-6, 7) })),
	rule(`去年`, always(func(c calendar) span { return c.year(c.today.Year() - 1) })),
	rule(`前年`, always(func(c calendar) span { return c.year(c.today.Year() - 2) })),
	rule(`今年`, always(func(c calendar) span { return c.year(c.today.Year()) })),
	rule(`(20\d\d)年`, func(c calendar, m []string) (span, bool) { return c.year(dates.Number(m[1])), true }),

	rule(`\b`+enMonth+`\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4}))?`, func(c calendar, m []string) (span, bool) {
		return c.dateSpan(dates.Number(m[3]), dates.Month(m[1]), dates.Number(m[2]))
	}),
	rule(`\b(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+`+enMonth+`\b(?:,?\s+(\d{4}))?`,
		func(c calendar, m []string) (span, bool) {
			return c.dateSpan(dates.Number(m[3]), dates.Month(m[2]), dates.Number(m[1]))
		}),
	rule(`\b`+enMonth+`,?\s+(?:of\s+)?(\d{4})\b`, func(c calendar, m []string) (span, bool) {
		return c.dateSpan(dates.Number(m[2]), dates.Month(m[1]), 0)
	}),
	rule(`\b(?:in|of|since|during|last|this|around|by|early|mid|late|end of|until)[\s-]+`+enMonth+`\b`,
		func(c calendar, m []string) (span, bool) {
			return c.dateSpan(0, dates.Month(m[1]), 0)
		}),
	rule(`\b(january|february|april|june|july|august|september|october|november|december)\b`,
		func(c calendar, m []string) (span, bool) {
			return c.dateSpan(0, dates.Month(m[1]), 0)
		}),
	rule(`\b`+enCount+`\s+(day|week|month|year)s?\s+(?:ago|back|earlier)\b`, func(c calendar, m []string) (span, bool) {
		n := dates.Number(m[1])
		switch m[2] {
		case "day":
			return c.around(n, n/7), n > 0
		case "week":
			return c.around(7*n, 3), n > 0
		case "month":
			return c.around(30*n, 12), n > 0
		}
		return c.around(365*n, 60), n > 0
	}),
	rule(`\b(?:the\s+)?day before yesterday\b`, always(func(c calendar) span { return c.days(-2, 1) })),
	rule(`\byesterday\b|\blast night\b`, always(func(c calendar) span { return c.days(-1, 1) })),
	rule(`\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b`, always(func(c calendar) span {
		return c.days(0, 1)
	})),
	rule(`\blast `+enDay+`\b`, func(c calendar, m []string) (span, bool) {
		s := c.latest(dates.Weekday(m[1]))
		if s.from.Equal(c.today) {
			s = c.days(-7, 1)
		}
		return s, true
	}),
	rule(`\b`+enDay+`\b`, func(c calendar, m []string) (span, bool) { return c.latest(dates.Weekday(m[1])), true }),
	rule(`\b(?:last|past|this|the) weekend\b`, always(func(c calendar) span {
		s := c.week(0)
		if s.from.AddDate(0, 0, 5).After(c.today) {
			s = c.week(1)
		}
		return span{s.from.AddDate(0, 0, 5), s.to}
	})),
	rule(`\bweek before last\b`, always(func(c calendar) span { return c.week(2) })),
	rule(`\blast week\b`, always(func(c calendar) span { return c.week(1) })),
	rule(`\bthis week\b`, always(func(c calendar) span { return c.week(0) })),
	rule(`\b(?:past|last) few days\b`, always(func(c calendar) span { return c.days(-6, 7) })),
	rule(`\blast month\b`, always(func(c calendar) span { return c.month(1) })),
	rule(`\bthis month\b`, always(func(c calendar) span { return c.month(0) })),
	rule(`\blast year\b`, always(func(c calendar) span { return c.year(c.today.Year() - 1) })),
	rule(`\bthis year\b`, always(func(c calendar) span { return c.year(c.today.Year()) })),
	rule(`\b(?:in|of|during|since) (20\d\d)\b`, func(c calendar, m []string) (span, bool) {
		return c.year(dates.Number(m[1])), true
	}),
}
