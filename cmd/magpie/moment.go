package main

import (
	"time"

	"magpie/internal/i18n"
)

// moment is a point in time on the command line.
type moment struct{ time.Time }

// UnmarshalText parses a day, a time of day in this machine's time zone, or a time with its zone.
func (m *moment) UnmarshalText(text []byte) (err error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if m.Time, err = time.ParseInLocation(layout, string(text), time.Local); err == nil {
			return nil
		}
	}
	return i18n.Mistakef(`%q 不是时间：应写成 2026-05-04、"2026-05-04 12:00" 或 2026-05-04T12:00:00+08:00 的形式`,
		`%q is not a time: must be like 2026-05-04, "2026-05-04 12:00" or 2026-05-04T12:00:00+08:00`, text)
}
