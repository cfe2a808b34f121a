package contextmgr

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/internal/dates"
	"magpie/internal/tokenize"
)

// What an answer needs is often in messages of another day, which the question does not name but its first hits do:
// other hits were sent on it, or they name it ("上周三", "on May 4"). A question may also name a day by what happened
// on it, or the day before or after ("the day after the release", "发布的第二天"). The second step searches for the
// messages of these days, too.
const (
	chainedWeight = 0.3 // of the weight of a day
	sentOn        = 0.5 // share of the day on which a hit was sent; a day that a hit names has 1
	namedByEvent  = 2   // share of a day that the question names by an event
)

// Limits of the days. They keep their cost small.
const (
	maxChained   = 4   // days that are searched for
	longestChain = 4   // days of a period; a longer one leads to too many messages
	maxEvents    = 2   // best hits that may tell of the event that a question names
	maxNamed     = 3   // days that one hit names
	aroundDay    = 20  // bytes before and after a word that names a day
	chainedRunes = 300 // of a hit that are read, at its beginning and at its end
)

// chainedDay is a day, or a few, to which the best hits of a query lead.
type chainedDay struct {
	span
	strength float64
	terms    []string // of the index
}

// chain finds the days to which the best hits of a query lead, the most important first.
func (f *queryIndex) chain(hits []hit) (list []chainedDay) {
	zone := f.now.Location()
	sums := map[span]float64{}
	asked := eventDays(headAndTail(f.text, chainedRunes))
	for i, h := range hits {
		share := h.score / hits[0].score
		days := daysNamed(headAndTail(h.Text, chainedRunes), h.Time.In(zone))
		for _, d := range days {
			sums[d] += share
		}
		sent := sentOnDay(h, zone)
		sums[sent] += sentOn * share
		if i < maxEvents {
			for _, e := range asked {
				for _, d := range append(days, sent) {
					sums[e.from(d)] += namedByEvent * share
				}
			}
		}
		for _, e := range eventDays(headAndTail(h.Text, chainedRunes)) {
			if k := slices.IndexFunc(hits, func(o hit) bool { return o.Seq != h.Seq && e.mayBe(o) }); k >= 0 {
				sums[e.from(sentOnDay(hits[k], zone))] += share
			}
		}
	}
	for s, n := range sums {
		list = append(list, chainedDay{span: s, strength: n})
	}
	slices.SortFunc(list, func(a, b chainedDay) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), b.from.Compare(a.from), b.to.Compare(a.to))
	})
	list = list[:min(len(list), maxChained)]
	for i, d := range list {
		list[i].terms = query{spans: []span{d.span}}.days()
	}
	return list
}

// chainedTerms are the index terms of the days to which the best hits lead.
func (q query) chainedTerms() (terms []string) {
	for _, d := range q.chained {
		terms = append(terms, d.terms...)
	}
	return terms
}

// chainedOf is the day to which one of the chained terms belongs; false = the number is too large.
func (q query) chainedOf(term int) (day int, ok bool) {
	for day, d := range q.chained {
		if term < len(d.terms) {
			return day, true
		}
		term -= len(d.terms)
	}
	return 0, false
}

// sentOnDay is the day on which a hit was sent.
func sentOnDay(h hit, zone *time.Location) span { return calendar{today(h.Time.In(zone))}.days(0, 1) }

// eventDay is a day that a text names by an event.
type eventDay struct {
	after int      // days after the event
	event []string // terms of what happened
}

// from is the day, given that of the event.
func (e eventDay) from(s span) span {
	return span{s.from.AddDate(0, 0, e.after), s.to.AddDate(0, 0, e.after)}
}

// mayBe reports whether a message may tell of the event.
func (e eventDay) mayBe(h hit) bool {
	terms := tokenize.Terms(headAndTail(h.Text, chainedRunes))
	return slices.ContainsFunc(e.event, func(t string) bool {
		return len(t) > 3 && !frameWords[t] && slices.Contains(terms, t) // not a single Chinese character
	})
}

// englishEvent precedes the event.
var englishEvent = regexp.MustCompile(`(?i)\b(?:(day|morning|week) (after|following|before)|` +
	`(?:same|the|that) day (?:as|of|that|when|we|they|he|she|i)) (.{3,40})`)

// chineseEvents follow the event.
var chineseEvents = []struct {
	word  string
	after int
}{
	{"第二天", 1}, {"次日", 1}, {"隔天", 1}, {"后一天", 1}, {"前一天", -1}, {"头一天", -1}, {"当天", 0}, {"那天", 0}, {"同一天", 0},
}

// eventDays finds the days that a text names by an event.
func eventDays(text string) (list []eventDay) {
	if strings.Contains(text, "day") || strings.Contains(text, "morning") || strings.Contains(text, "week") {
		for _, m := range englishEvent.FindAllStringSubmatch(text, maxNamed) {
			after := map[string]int{"": 0, "day": 1, "morning": 1, "week": 7}[strings.ToLower(m[1])]
			if strings.EqualFold(m[2], "before") {
				after = -after
			}
			list = append(list, eventDay{after, tokenize.Terms(m[3])})
		}
	}
	for _, e := range chineseEvents {
		if i := strings.Index(text, e.word); i > 0 {
			list = append(list, eventDay{e.after, tokenize.Terms(validUTF8(text[max(i-2*aroundDay, 0):i]))})
		}
	}
	return list
}

// dayWords are words for days. Only what stands around them is parsed, since that takes long.
var dayWords = strings.Fields(`monday tuesday wednesday thursday friday saturday sunday yesterday tomorrow january
february march april june july august september october november december 周 星期 礼拜 月 昨 明天 后天 前天`)

// daysNamed finds the days that a message names, relative to the time at which it was sent.
func daysNamed(text string, sent time.Time) (list []span) {
	text = strings.ToLower(text)
	for _, word := range dayWords {
		i := strings.Index(text, word)
		if i < 0 {
			continue
		}
		near := validUTF8(text[max(i-aroundDay, 0):min(i+len(word)+aroundDay, len(text))])
		for _, s := range messageSpans(near, sent) {
			if s.to.Sub(s.from) <= longestChain*24*time.Hour && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		if len(list) >= maxNamed {
			break
		}
	}
	return list
}

// messageSpans is [spansIn] for a message, which may also name days after it.
func messageSpans(text string, sent time.Time) (spans []span) {
	c := calendar{today(sent)}
	for _, rule := range futureRules {
		text = replaceMatches(rule.re, text, func(m []string) bool {
			s, ok := rule.span(c, m)
			spans = append(spans, s)
			return ok
		})
	}
	for _, m := range onWeekday.FindAllStringSubmatch(text, maxNamed) {
		spans = append(spans, c.next(dates.Weekday(m[1])))
	}
	return append(spans, spansIn(text, sent)...)
}

// next is the first such weekday after today.
func (c calendar) next(day int) span { return c.days((day-weekday(c.today)+6)%7+1, 1) }

// onWeekday may be a day before or after the message.
var onWeekday = regexp.MustCompile(`\b(?:on|by|until|for) ` + enDay + `\b`)

// futureRules recognize days after a message.
var futureRules = []dateRule{
	rule(`大后天`, always(func(c calendar) span { return c.days(3, 1) })),
	rule(`\bday after tomorrow\b|后天`, always(func(c calendar) span { return c.days(2, 1) })),
	rule(`\btomorrow\b|明[天日早晚]`, always(func(c calendar) span { return c.days(1, 1) })),
	rule(`下个?`+zhWeek+`([一二三四五六日天1-6])`, func(c calendar, m []string) (span, bool) {
		from := c.week(-1).from.AddDate(0, 0, dates.Weekday(m[1]))
		return span{from, from.AddDate(0, 0, 1)}, true
	}),
	rule(`\bnext `+enDay+`\b`, func(c calendar, m []string) (span, bool) { return c.next(dates.Weekday(m[1])), true }),
}
