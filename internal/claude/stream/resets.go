package stream

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// RateLimit is a report about the limits on the use of the model. The CLI makes one when something has changed; with an
// API key it makes none.
type RateLimit struct {
	Allowed bool // the model answers
	Windows []LimitWindow
}

// LimitWindow is a stretch of time within which the use of the model is limited.
type LimitWindow struct {
	Kind   string  // the CLI's name of it, such as five_hour
	Used   float64 // the share that is used, up to 1; negative = not reported
	Resets time.Time
}

func (RateLimit) event() {}

// limitReport parses a rate_limit_event. The CLI names all windows since about 2.1.330, before only the one that matters.
func limitReport(v gjson.Result) RateLimit {
	info := v.Get("rate_limit_info")
	e := RateLimit{Allowed: strings.HasPrefix(info.Get("status").String(), "allowed")}
	add := func(kind string, w gjson.Result) {
		if at := w.Get("resetsAt").Int(); at > 0 && kind != "" {
			l := LimitWindow{Kind: kind, Used: -1, Resets: time.Unix(at, 0)}
			if used := w.Get("utilization"); used.Exists() {
				l.Used = min(max(used.Float(), 0), 1)
			}
			e.Windows = append(e.Windows, l)
		}
	}
	all := info.Get("unifiedWindows")
	all.ForEach(func(kind, w gjson.Result) bool {
		add(kind.String(), w)
		return true
	})
	if kind := info.Get("rateLimitType").String(); !all.Get(gjson.Escape(kind)).Exists() {
		add(kind, info)
	}
	return e
}

// longestLimit is the longest time for which a limit is believed to last.
const longestLimit = 32 * 24 * time.Hour

// The ways in which the CLI and servers say when a limit ends.
var (
	resetsAtClock = regexp.MustCompile(
		`resets (?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at)? )?(\d{1,2})(?::(\d{2}))?([ap]m)(?: \(([\w+/-]+)\))?`)
	resetsAtUnix = regexp.MustCompile(`limit reached\|(\d{10})\b`)
	aboutReset   = regexp.MustCompile(`(?i)reset|again|retry|until|available|wait|恢复|重置|重試|重试|再试|刷新|解除|之后|后再`)
	resetsIn     = regexp.MustCompile(`(?i)(?:again|retry|resets?|available|wait|back)[^.。\d]{0,20}((?:` + lengthOfTime + `)+)`)
	resetsInZH   = regexp.MustCompile(`((?:` + lengthOfTime + `)+)(?:之后|以后|后|後)`)
	retryAfter   = regexp.MustCompile(`(?i)retry.?after["':= ]+(\d{1,7})\b`)
	resetsOn     = regexp.MustCompile(
		`(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?(?:[T ]*(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)? ?(Z|UTC|[+-]\d{2}:?\d{2})?)?`)
	resetsToday = regexp.MustCompile(`(?:^|[^\d:])(\d{1,2}):(\d{2})(?:[^\d:]|$)`)
	timePiece   = regexp.MustCompile(`(?i)` + timePieces)
)

const (
	timePieces = `(\d{1,7}(?:\.\d+)?) ?(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|毫秒|秒|分钟|分|个?小时|天)`
	// the same without groups, with what may stand between two pieces
	lengthOfTime = `\d{1,7}(?:\.\d+)? ?(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|` +
		`毫秒|秒|分钟|分|个?小时|天)(?:,? ?(?:and )?)`
)

// resetTime finds in the words about a failed turn when its cause ends; zero = they do not say. A time without a zone is
// the machine's.
func resetTime(words string, now time.Time) time.Time {
	at := resetTimeIn(words, now)
	if !at.After(now) || at.Sub(now) > longestLimit {
		return time.Time{}
	}
	return at
}

func resetTimeIn(words string, now time.Time) time.Time {
	if m := resetsAtUnix.FindStringSubmatch(words); m != nil {
		return time.Unix(number(m[1]), 0)
	}
	if m := resetsAtClock.FindStringSubmatch(words); m != nil {
		return clockTime(m, now)
	}
	for _, form := range []*regexp.Regexp{resetsIn, resetsInZH} {
		if m := form.FindStringSubmatch(words); m != nil {
			return now.Add(lengthIn(m[1]))
		}
	}
	if m := retryAfter.FindStringSubmatch(words); m != nil {
		return now.Add(time.Duration(number(m[1])) * time.Second)
	}
	if !aboutReset.MatchString(words) {
		return time.Time{}
	}
	if m := resetsOn.FindStringSubmatch(words); m != nil {
		zone := now.Location()
		if z := strings.Replace(m[7], ":", "", 1); z == "Z" || z == "UTC" {
			zone = time.UTC
		} else if t, err := time.Parse("-0700", z); err == nil {
			zone = t.Location()
		}
		return time.Date(int(number(m[1])), time.Month(number(m[2])), int(number(m[3])),
			int(number(m[4])), int(number(m[5])), int(number(m[6])), 0, zone)
	}
	if m := resetsToday.FindStringSubmatch(words); m != nil {
		return nextClock(int(number(m[1])), int(number(m[2])), now)
	}
	return time.Time{}
}

// clockTime is the time of "resets Dec 2, 1:18pm (UTC)".
func clockTime(m []string, now time.Time) time.Time {
	if zone, err := time.LoadLocation(m[6]); err == nil && m[6] != "" {
		now = now.In(zone)
	}
	hour := int(number(m[3])) % 12
	if m[5] == "pm" {
		hour += 12
	}
	if m[1] == "" {
		return nextClock(hour, int(number(m[4])), now)
	}
	month, err := time.Parse("Jan", m[1])
	if err != nil {
		return time.Time{}
	}
	at := time.Date(now.Year(), month.Month(), int(number(m[2])), hour, int(number(m[4])), 0, 0, now.Location())
	if at.Before(now) {
		at = at.AddDate(1, 0, 0)
	}
	return at
}

// nextClock is the next time at which a clock shows that, by the zone of now.
func nextClock(hour, minute int, now time.Time) time.Time {
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// lengthIn is the sum of lengths such as "1h 30 min".
func lengthIn(words string) (sum time.Duration) {
	units := map[string]time.Duration{
		"ms": time.Millisecond, "mi": time.Minute, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		"毫": time.Millisecond, "秒": time.Second, "分": time.Minute, "个": time.Hour, "小": time.Hour, "天": 24 * time.Hour,
	}
	for _, m := range timePiece.FindAllStringSubmatch(words, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			continue
		}
		unit := strings.ToLower(m[2])
		if strings.HasPrefix(unit, "milli") {
			unit = "ms"
		}
		first, letters := []rune(unit)[0], []rune(unit)
		each := units[string(first)]
		if len(letters) > 1 {
			each = cmp.Or(units[string(letters[:2])], each)
		}
		sum += time.Duration(n * float64(each))
	}
	return sum
}

// number is a number of few digits; 0 = none.
func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}
