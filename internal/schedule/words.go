package schedule

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/internal/dates"
	"magpie/internal/i18n"
)

// Order is what somebody wants to be done, and when.
type Order struct {
	Rule  Rule
	Words string // in which the time was written
	Task  string // the rest; empty = none was given
}

// Errors about times that people write.
var (
	// ErrNoTime means that a text does not begin with a time that is understood.
	ErrNoTime = i18n.Mistakef("没看懂时间", "the time is not understood")
	// ErrPast means that a time is over.
	ErrPast = i18n.Mistakef("这个时间已经过去了", "that time has already passed")
)

// The parts of the patterns below. Texts are in lower case, with half-width signs.
const (
	enDay   = `(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?`
	enMonth = `(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?`
	zhDay   = `[一二三四五六日天]`
	zhWeek  = `(?:周|星期|礼拜)`
)

// wording is one way of writing a time. The groups of its pattern are what it reads.
type wording struct {
	pattern *regexp.Regexp
	read    func(m []string, now time.Time) (Rule, error)
	open    *regexp.Regexp // matches what behind it belongs to it, as it has no day or no time of day
}

func reads(pattern string, read func(m []string, now time.Time) (Rule, error)) wording {
	return wording{pattern: regexp.MustCompile(`^(?:` + pattern + `)`), read: read}
}

// ReadEvery reads what is to be done again and again: "weekday 9:00 sum up the news", "每周一9点 写周报", "30 minutes ...",
// "0 9 * * 1-5 ...".
func ReadEvery(text string) (Order, error) {
	text = strings.TrimSpace(text)
	if words := strings.Fields(text); len(words) >= len(theFields) {
		cron := strings.Join(words[:len(theFields)], " ")
		rule, err := ParseCron(dates.HalfWidth(cron))
		if err == nil && len(words) > len(theFields) && sixthField.MatchString(words[len(theFields)]) {
			rule, err = ParseCron(cron + " " + words[len(theFields)]) // which says that five are wanted
		}
		if err == nil {
			rest := text
			for _, w := range words[:len(theFields)] {
				rest = strings.TrimSpace(strings.TrimPrefix(rest, w))
			}
			return Order{rule, cron, rest}, nil
		}
		if strings.HasPrefix(cron, "*") || unicode.IsDigit(rune(cron[0])) && strings.Count(cron, "*") > 1 {
			return Order{}, err // it was meant to be one
		}
	}
	return read(everyWordings, text, time.Time{})
}

// sixthField matches what is no task: other programs have a field for seconds, or for years.
var sixthField = regexp.MustCompile(`^[0-9*?/,LW#-]+$`)

// ReadAt reads what is to be done once: "tomorrow 15:00 remind me", "明天下午3点 提醒我", "in 20 minutes ...". The times are
// those of now's time zone.
func ReadAt(text string, now time.Time) (Order, error) {
	o, err := read(atWordings, strings.TrimSpace(text), now)
	if err == nil && !o.Rule.once.After(now) {
		err = ErrPast
	}
	return o, err
}

// read reads the time with which a text begins, by the pattern that takes most of it.
func read(list []wording, text string, now time.Time) (Order, error) {
	lower := dates.HalfWidth(strings.ToLower(text))
	var best wording
	var match []string
	for _, w := range list {
		if m := w.pattern.FindStringSubmatch(lower); m != nil && (match == nil || len(m[0]) > len(match[0])) {
			best, match = w, m
		}
	}
	if match == nil {
		return Order{}, ErrNoTime
	}
	rule, err := best.read(match, now)
	if err != nil {
		return Order{}, err
	}
	words := strings.TrimRight(match[0], " ,:")
	if rest := lower[len(words):]; wholeHour.MatchString(rest) {
		words = lower[:len(words)+strings.IndexAny(rest, "整分")+len("整")]
	}
	if best.saysMore(words, lower[len(words):]) {
		return Order{}, ErrNoTime
	}
	// The original is cut at the same character, of which lower has as many.
	n := utf8.RuneCountInString(words)
	runes := []rune(text)
	rest := strings.TrimLeftFunc(string(runes[n:]), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",，:：、", r) })
	return Order{rule, strings.TrimSpace(string(runes[:n])), rest}, nil
}

// fieldsAt is the rule of cron for a time of day, on the days that format says.
func fieldsAt(clock []string, days string) (Rule, error) {
	at, err := minuteOfDay(clock)
	if err != nil {
		return Rule{}, err
	}
	return ParseCron(fmt.Sprintf("%d %d %s", at%60, at/60, days))
}

const everyPrefix = `(?:every *|每一?个?|each *)?`

// atClock is a time of day behind a day.
const atClock = ` *(?:at *|的)?` + clock

var everyWordings = slices.Concat(everyDay, intervals)

// everyDay are times on days that come again.
var everyDay = []wording{
	reads(everyPrefix+`(?:days?\b|daily\b|天|日)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[1:], "* * *")
	}),
	reads(`每([早晚])上? *`+clock, func(m []string, _ time.Time) (Rule, error) {
		m[2] = cmp.Or(m[2], m[1])
		return fieldsAt(m[2:], "* * *")
	}),
	reads(everyPrefix+`(?:weekdays?\b|workdays?\b|working days?\b|工作日)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[1:], "* * 1-5")
	}),
	reads(everyPrefix+`(?:weekends?\b|周末)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[1:], "* * 0,6")
	}),
	reads(everyPrefix+zhWeek+`(`+zhDay+`)[到至~-]`+zhWeek+`?(`+zhDay+`)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[3:], "* * "+dayRange(dates.Weekday(m[1]), dates.Weekday(m[2])))
	}),
	reads(everyPrefix+zhWeek+`(`+zhDay+`(?:[、,和]?`+zhWeek+`?`+zhDay+`)*)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		if strings.HasSuffix(m[1], "二") && m[1] != "二" && strings.HasPrefix(m[9], "十") {
			return Rule{}, ErrNoTime // 周五二十点 is 20:00 on one day, or 10:00 on two
		}
		var days []int
		for _, day := range m[1] {
			if strings.ContainsRune("一二三四五六日天", day) {
				days = append(days, dates.Weekday(string(day)))
			}
		}
		return fieldsAt(m[2:], "* * "+dayList(days))
	}),
	reads(everyPrefix+`(`+enDay+`) *(?:-|to|through) *(`+enDay+`)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[3:], "* * "+dayRange(dates.Weekday(m[1][:3]), dates.Weekday(m[2][:3])))
	}),
	reads(everyPrefix+`(`+enDay+`(?:(?: *, *(?:and +)?| +and +|/)`+enDay+`)*)`+atClock, func(m []string, _ time.Time) (Rule, error) {
		var days []int
		for _, word := range someDay.FindAllString(m[1], -1) {
			days = append(days, dates.Weekday(word[:3]))
		}
		return fieldsAt(m[2:], "* * "+dayList(days))
	}),
	reads(everyPrefix+`(?:months?|monthly) +(?:on +)?(?:the +)?(\d{1,2})(?:st|nd|rd|th)?\b`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[2:], m[1]+" * *")
	}),
	reads(everyPrefix+`月 *`+count+` *[号日]`+atClock, func(m []string, _ time.Time) (Rule, error) {
		return fieldsAt(m[2:], strconv.Itoa(dates.Number(m[1]))+" * *")
	}),
}

var intervals = open(anyOfThem,
	reads(everyPrefix+`(?:minutes?\b|分钟)`, func([]string, time.Time) (Rule, error) { return ParseCron("* * * * *") }),
	reads(everyPrefix+`(?:hours?\b|hourly\b|个?小时|个?钟头)`, func([]string, time.Time) (Rule, error) { return ParseCron("0 * * * *") }),
	reads(everyPrefix+`(?:half (?:an )?hour\b|半个?(?:小时|钟头))`, func([]string, time.Time) (Rule, error) { return everyFew(30, 60, "*/%d * * * *") }),
	reads(everyPrefix+`隔? *`+count+` *(?:minutes?\b|mins?\b|分钟)`, func(m []string, _ time.Time) (Rule, error) {
		return everyFew(dates.Number(m[1]), 60, "*/%d * * * *")
	}),
	reads(everyPrefix+`隔? *`+count+` *(?:hours?\b|个?小时|个?钟头)`, func(m []string, _ time.Time) (Rule, error) {
		return everyFew(dates.Number(m[1]), 24, "0 */%d * * *")
	}),
)

// open are wordings to which what the pattern matches belongs.
func open(behind *regexp.Regexp, list ...wording) []wording {
	for i := range list {
		list[i].open = behind
	}
	return list
}

var someDay = regexp.MustCompile(enDay)

// errUneven means that an interval does not divide the hour or the day, so that cron cannot say it.
var errUneven = i18n.Mistakef("间隔要能整除 60 分钟或 24 小时，例如 5、10、15、20、30 分钟，2、3、4、6、8、12 小时",
	"the interval must divide 60 minutes or 24 hours, as 5, 10, 15, 20 or 30 minutes, or 2, 3, 4, 6, 8 or 12 hours do")

func everyFew(n, of int, format string) (Rule, error) {
	if n < 1 || of%n != 0 {
		return Rule{}, errUneven
	}
	if n == of {
		return ParseCron(map[int]string{60: "0 * * * *", 24: "0 0 * * *"}[of])
	}
	return ParseCron(fmt.Sprintf(format, n))
}

// dayRange is a field of cron for days that are counted from Monday = 0.
func dayRange(from, to int) string {
	var days []int
	for day := from; ; day = (day + 1) % 7 {
		if days = append(days, day); day == to {
			return dayList(days)
		}
	}
}

func dayList(days []int) string {
	var fields []string
	for _, day := range days {
		fields = append(fields, strconv.Itoa((day+1)%7))
	}
	return strings.Join(fields, ",")
}

// onDay is a rule for a time on a day, which is [wall]'s first one.
func onDay(clock []string, year int, month time.Month, day int, zone *time.Location) (Rule, error) {
	at, err := minuteOfDay(clock)
	if err == nil && isUnsure(clock) {
		err = errHalf
	}
	if err == nil && time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Month() != month {
		err = ErrNoTime
	}
	if err != nil {
		return Rule{}, err
	}
	earlier, _ := wall(year, month, day, at/60, at%60, zone)
	return Once(earlier), nil
}

// inDays is a time on the day that many days after today.
func inDays(clock []string, days int, now time.Time) (Rule, error) {
	date := time.Date(now.Year(), now.Month(), now.Day()+days, 0, 0, 0, 0, time.UTC)
	return onDay(clock, date.Year(), date.Month(), date.Day(), now.Location())
}

// onDate is a time on a date; without a year it is the next such date.
func onDate(clock []string, year, month, day int, now time.Time) (Rule, error) {
	if month < 1 || month > 12 || day < 1 {
		return Rule{}, ErrNoTime
	}
	if year != 0 {
		return onDay(clock, year, time.Month(month), day, now.Location())
	}
	r, err := onDay(clock, now.Year(), time.Month(month), day, now.Location())
	if err == nil && !r.once.After(now) {
		r, err = onDay(clock, now.Year()+1, time.Month(month), day, now.Location())
	}
	return r, err
}

// nextWeekday is a time on such a weekday: of this week or the next one if that is said, else the next that is not over.
func nextWeekday(clock []string, day int, week string, now time.Time) (Rule, error) {
	today := (int(now.Weekday()) + 6) % 7
	ahead := (day - today + 7) % 7
	switch {
	case strings.HasPrefix(week, "下") || week == "next":
		return inDays(clock, 7-today+day, now)
	case week != "":
		return inDays(clock, day-today, now)
	}
	r, err := inDays(clock, ahead, now)
	if err == nil && !r.once.After(now) {
		r, err = inDays(clock, ahead+7, now)
	}
	return r, err
}

// namedDays are words for days, and how many days ahead they are.
var namedDays = map[string]int{
	"today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2, "the day after tomorrow": 2,
	"今天": 0, "今日": 0, "今": 0, "明天": 1, "明日": 1, "明": 1, "后天": 2, "大后天": 3,
}

var atWordings = slices.Concat(aDayAndTime, atClocks, delays)

// onADay is a time of day behind a day, or before one that ends there: 明天15:00 开会, 3pm friday call Ann.
func onADay(day string, read func(day, clock []string, now time.Time) (Rule, error)) []wording {
	before := open(aPartOnly, // which 8:30 tomorrow evening has
		reads(`(?:at +)?`+clock+`(?: *, *| +|\b)`+day+`(?:[ ,:]|$)`, func(m []string, now time.Time) (Rule, error) {
			return read(m[clockGroups:], m[1:1+clockGroups], now)
		}))
	return append(before, reads(day+atClock, func(m []string, now time.Time) (Rule, error) {
		n := len(m) - clockGroups
		return read(m[:n], m[n:], now)
	}))
}

var aDayAndTime = slices.Concat(
	onADay(`(today|tonight|tomorrow|(?:the )?day after tomorrow|今[天日]|明[天日]|大?后天|[今明](?:[早晚]))`, func(m, clock []string, now time.Time) (Rule, error) {
		day := m[1]
		if part := strings.TrimLeft(day, "今明"); part == "早" || part == "晚" {
			day = strings.TrimSuffix(day, part)
			clock[0] = cmp.Or(clock[0], part)
		} else if day == "tonight" {
			clock[0] = cmp.Or(clock[0], "晚")
		}
		return inDays(clock, namedDays[day], now)
	}),
	onADay(`(?:on +|(this|next) +)?(`+enDay+`)\b`, func(m, clock []string, now time.Time) (Rule, error) {
		if strings.HasSuffix(m[2], "days") {
			return Rule{}, ErrNoTime // it is not to be done once
		}
		return nextWeekday(clock, dates.Weekday(m[2][:3]), m[1], now)
	}),
	onADay(`(下个?|这个?|本)?`+zhWeek+`(`+zhDay+`)`, func(m, clock []string, now time.Time) (Rule, error) {
		return nextWeekday(clock, dates.Weekday(m[2]), m[1], now)
	}),
	onADay(`(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?:[日号t]|\b),?`, func(m, clock []string, now time.Time) (Rule, error) {
		return onDate(clock, dates.Number(m[1]), dates.Number(m[2]), dates.Number(m[3]), now)
	}),
	onADay(count+`月 *`+count+`[日号]`, func(m, clock []string, now time.Time) (Rule, error) {
		return onDate(clock, 0, dates.Number(m[1]), dates.Number(m[2]), now)
	}),
	onADay(`(?:on +)?`+enMonth+` +(\d{1,2})(?:st|nd|rd|th)?\b,?(?: +(\d{4})\b,?)?`, func(m, clock []string, now time.Time) (Rule, error) {
		return onDate(clock, dates.Number(m[3]), dates.Month(m[1]), dates.Number(m[2]), now)
	}),
	onADay(`(?:on +)?(\d{1,2})(?:st|nd|rd|th)? +`+enMonth+`,?(?: +(\d{4})\b,?)?`, func(m, clock []string, now time.Time) (Rule, error) {
		return onDate(clock, dates.Number(m[3]), dates.Month(m[2]), dates.Number(m[1]), now)
	}),
	onADay(`(?:in +`+count+` +days?\b|`+count+` *天[以之]?后)`, func(m, clock []string, now time.Time) (Rule, error) {
		return inDays(clock, dates.Number(cmp.Or(m[1], m[2])), now)
	}),
	// Not behind the time: 15:00 3-4 people may come.
	[]wording{reads(`(\d{1,2})-(\d{1,2}) +`+clock, func(m []string, now time.Time) (Rule, error) {
		return onDate(m[3:], 0, dates.Number(m[1]), dates.Number(m[2]), now)
	})},
)

var atClocks = open(dayOrPart, reads(`(?:at +)?`+clock, func(m []string, now time.Time) (Rule, error) {
	r, err := inDays(m[1:], 0, now)
	if err == nil && !r.once.After(now) {
		r, err = inDays(m[1:], 1, now)
	}
	return r, err
}))

var delays = open(partOrLength,
	reads(`in +`+count+` +(minute|min|hour|day)s?\b`, func(m []string, now time.Time) (Rule, error) {
		return after(dates.Number(m[1]), m[2], now)
	}),
	reads(`(半) *个?(小时)[以之]?后`, func(m []string, now time.Time) (Rule, error) { return after(30, "min", now) }),
	reads(count+` *(分钟|个?小时|个?钟头|天)[以之]?后`, func(m []string, now time.Time) (Rule, error) {
		return after(dates.Number(m[1]), m[2], now)
	}),
)

// units are how long what people count is. A day is 24 hours also when clocks change.
var units = map[string]time.Duration{
	"min": time.Minute, "minute": time.Minute, "分钟": time.Minute,
	"hour": time.Hour, "小时": time.Hour, "钟头": time.Hour, "day": 24 * time.Hour, "天": 24 * time.Hour,
}

func after(n int, unit string, now time.Time) (Rule, error) {
	d := units[strings.TrimPrefix(unit, "个")]
	if n < 1 || d == 0 {
		return Rule{}, ErrNoTime
	}
	return Once(now.Add(time.Duration(n) * d).Truncate(time.Second)), nil
}
