// Package configtype holds the types of values in configuration files, such as durations.
//
// Sections, their defaults and their meaning are elsewhere.
package configtype

import (
	"regexp"
	"time"

	"magpie/internal/i18n"
)

// Duration is a time.Duration that a configuration file writes as "5m".
type Duration struct{ time.Duration }

// UnmarshalText parses "90s", "5m", "2h" or "0".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return i18n.Mistakef(`应为数字加单位（s、m 或 h），例如 "90s"、"48h"`,
			`must be a number and a unit (s, m or h), such as "90s" or "48h"`)
	}
	d.Duration = v
	return nil
}

// String writes a duration as in a configuration file, without units that are zero at its end: "24h", "1m30s".
func (d Duration) String() string {
	return i18n.SettingDuration(d.Duration)
}

// MarshalText is the inverse of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// placeholder matches what is written in examples. The platform's own values are letters and digits.
var placeholder = regexp.MustCompile(`(?i)(\.\.\.|…|xxx)$|^<.*>$|\byour[_-]|_your[_-]|placeholder|^change[_-]?me$|^todo$`)

// IsPlaceholder reports whether a value was copied from an example and not filled in, such as "cli_...", "<secret>" or
// "your_app_secret".
func IsPlaceholder(value string) bool { return placeholder.MatchString(value) }
