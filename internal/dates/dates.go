// Package dates reads the words in which people write numbers, weekdays and months, in Chinese and English.
//
// It does not know what they mean by them: "Monday" may be the last one or the next one.
package dates

import (
	"strconv"
	"strings"
)

// HalfWidth replaces full-width digits and signs by those of ASCII.
func HalfWidth(s string) string { return halfWidth.Replace(s) }

var halfWidth = func() *strings.Replacer {
	pairs := []string{"：", ":", "，", ",", "～", "~", "（", "(", "　", " "}
	for i := range 10 {
		pairs = append(pairs, string(rune('０'+i)), strconv.Itoa(i))
	}
	return strings.NewReplacer(pairs...)
}()

// Number reads a count in either language; 0 = not a number.
func Number(s string) int {
	s = strings.TrimSpace(s)
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if n, ok := numerals[s]; ok {
		return n
	}
	return chineseNumber(s)
}

// numerals are counts in words; vague ones such as "a few" get a typical value.
var numerals = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "couple": 2, "three": 3, "a few": 3,
	"few": 3, "several": 4,
	"four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "几": 3,
}

// chineseNumber reads numbers below 100, as in 二十三.
func chineseNumber(s string) int {
	digits := map[rune]int{'一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}
	n, last := 0, 0
	for _, r := range s {
		switch d, ok := digits[r]; {
		case ok:
			last = d
		case r == '十':
			n += max(last, 1) * 10
			last = 0
		default:
			return 0
		}
	}
	return n + last
}

// Weekday is the day that a word names, counted from Monday = 0: by the first three letters in English, in lower case, or
// what follows 周 in Chinese.
func Weekday(word string) int { return weekdays[word] }

var weekdays = map[string]int{
	"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6,
	"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "1": 0, "2": 1, "3": 2, "4": 3, "5": 4,
	"6": 5, "7": 6,
}

// Month is the number of a month by its English name in lower case, of which the first three letters are enough; 0 =
// none.
func Month(s string) int {
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	if len(s) < 3 {
		return 0
	}
	at := strings.Index(names, s[:3])
	if at < 0 || at%3 != 0 {
		return 0
	}
	return at/3 + 1
}
