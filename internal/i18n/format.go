package i18n

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"magpie/contextmgr/redact"
	"magpie/internal/text"
)

// Megabytes formats a size.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/(1<<20)) }

// Tokens formats a number of tokens, as in "12.3k tokens". The word is not Chinese, but has no plural there.
func Tokens(n int64, l Lang) string {
	if l == Chinese || n == 1 {
		return Count(n) + " token"
	}
	return Count(n) + " tokens"
}

// FirstLineLength is how much of an answer the chat list shows, in runes.
const FirstLineLength = 60

// markup finds the marks of Markdown around words, and before a heading.
var markup = regexp.MustCompile("\\*\\*([^*]+)\\*\\*|`([^`]+)`|^#+ ")

// FirstLine is the part of a Markdown text that the chat list shows, which draws no Markdown.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Truncate(markup.ReplaceAllString(line, "$1$2"), FirstLineLength)
}

// Duration formats a duration, to the second.
func Duration(d time.Duration, l Lang) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf(CardSeconds.In(l), int(d.Seconds()))
	}
	return fmt.Sprintf(CardMinutesSeconds.In(l), int(d.Minutes()), int(d.Seconds())%60)
}

// simulated is set where nothing is charged.
var simulated bool

// SimulateCosts makes USD say of each amount whether it is simulated. It is called before anything is formatted.
func SimulateCosts(on bool) { simulated = on }

// USD formats an amount of money.
func USD(usd float64, l Lang) string {
	format := "$%.2f"
	if usd > 0 && usd < 0.01 {
		format = "$%.4f"
	}
	if simulated {
		format = SimulatedCost.Sprintf(l, format)
	}
	return fmt.Sprintf(format, usd)
}

// Count formats a rounded number, as in "12.3k".
func Count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950: // larger numbers round to 1.0M
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Truncate shortens a text to that many runes, followed by an ellipsis.
func Truncate(s string, most int) string { return text.Shorten(s, most+1) }

// RoughDuration formats a duration in whole minutes, hours or days.
func RoughDuration(d time.Duration, l Lang) string {
	switch hours := int(d.Hours()); {
	case hours < 1:
		return fmt.Sprintf(Minutes.In(l), int(d.Minutes()))
	case hours < 48:
		return fmt.Sprintf(Hours.In(l), hours)
	default:
		return Days.Sprintf(l, hours/24)
	}
}

// ExactDuration formats a duration without units that are zero.
func ExactDuration(d time.Duration, l Lang) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0, d >= time.Minute && d < time.Hour && d%time.Minute == 0:
		return strings.TrimSpace(RoughDuration(d, l))
	default:
		return Duration(d, l)
	}
}

// Excerpt returns at most this many runes of a text, on one line. Nothing in it turns the direction of writing. Keys
// and passwords are taken out before: on one line, or cut off, they could not be told any more.
func Excerpt(s string, most int) string {
	if long := 8*most + 4<<10; len(s) > long { // in bytes: far more than is shown
		s, _ = redact.Growing{}.Next(text.Plain(strings.ToValidUTF8(s[:long], "")), redact.Keys)
	} else {
		s = redact.Text(text.Plain(s), redact.Keys)
	}
	words := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
	return Truncate(strings.Join(words, " "), most)
}

// SettingDuration writes a duration as in a configuration file, without units that are zero at its end: "24h", "1m30s".
func SettingDuration(d time.Duration) string {
	s := d.String()
	if d != 0 && d%time.Minute == 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d != 0 && d%time.Hour == 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
