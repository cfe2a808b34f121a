package schedule

import (
	"cmp"
	"slices"
	"strings"

	"magpie/internal/dates"
	"magpie/internal/i18n"
)

// Times of day, and the numbers in them.
const (
	zhDigit = `[一二三四五六七八九]`
	count   = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|` + zhDigit + `?十` + zhDigit + `?|[两一二三四五六七八九])`
	// Minutes without 分: 九点四十, 九点零五.
	zhMinutes = `(?:[二三四五]?十` + zhDigit + `?|零` + zhDigit + `)`
	// A time of day: 9:30, 9:30pm, 9 am, noon, 上午9点半, 晚上8点15分, 九点一刻, 9点30. Bare numbers are none.
	clock = `(凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|早|晚)? *` +
		`(?:(\d{1,2}):(\d{2}) *([ap]m\b)?|(\d{1,2}) *([ap]m\b)|(noon)\b|(零|` + count + `) *[点時时](?:(半|一刻|三刻)|钟|零?` + count + `分|(\d{2}|` + zhMinutes + `))?)`
	clockGroups = 12
)

// errHalf means that a time may be in the night or in the afternoon.
var errHalf = i18n.Mistakef("是上午还是下午？请写成“下午3点”“凌晨3点”或 15:00", "Is that a.m. or p.m.? Write 3pm, 3am or 15:00")

// isUnsure reports whether a [clock] such as 3:30 may be one of twelve hours. What is done again and again at that time is
// rather done in the night, as backups are.
func isUnsure(m []string) bool {
	return m[0] == "" && m[3] == "" && len(m[1]) == 1 && "0" < m[1] && m[1] < "6"
}

// minuteOfDay reads the groups of a [clock].
func minuteOfDay(m []string) (int, error) {
	part, written := m[0], cmp.Or(m[1], m[4], m[7])
	hour, minute := dates.Number(written), dates.Number(m[2]) // of 零 it is 0, too
	half := cmp.Or(m[3], m[5])
	switch {
	case m[6] != "": // noon
		hour = 12
	case m[7] != "":
		minute = cmp.Or(dates.Number(m[10]), map[string]int{"半": 30, "一刻": 15, "三刻": 45}[m[9]], dates.Number(strings.TrimPrefix(m[11], "零")))
	}
	evening := slices.Contains([]string{"傍晚", "晚上", "晚"}, part)
	switch {
	case half != "" && (hour < 1 || hour > 12), part == "中午" && hour > 2 && hour < 11:
		return 0, ErrNoTime
	// 晚上12点 and 晚上1点 are of the next day.
	case evening && (hour < 5 || hour == 12):
		return 0, ErrNoTime
	case part == "" && m[7] != "" && 0 < hour && hour < 6:
		return 0, errHalf
	case half == "pm" && hour < 12, hour < 12 && (evening || part == "下午"), part == "中午" && hour < 3:
		hour += 12
	case half == "am" && hour == 12, part == "凌晨" && hour == 12:
		hour = 0
	}
	if hour > 23 || minute > 59 {
		return 0, ErrNoTime
	}
	return 60*hour + minute, nil
}
