package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// next lists the next times of a rule.
func next(t *testing.T, cron string, from time.Time, n int) (list []string) {
	t.Helper()
	r, err := ParseCron(cron)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		from = r.Next(from)
		list = append(list, from.Format("01-02 15:04 MST"))
	}
	return list
}

// On the day on which clocks are put forward, 02:30 does not exist in Berlin; on the day on which they are put back it
// comes twice.
func TestWhenClocksChange(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	spring, autumn := time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), time.Date(2026, 10, 25, 0, 0, 0, 0, berlin)
	for _, tc := range []struct {
		name, cron string
		from       time.Time
		want       string
	}{
		{"left out", "30 2 * * *", spring, "03-29 03:00 CEST, 03-30 02:30 CEST"},
		{"left out twice", "15,30 2 * * *", spring, "03-29 03:00 CEST, 03-30 02:15 CEST"},
		{"at the end of the gap too", "0 2,3 * * *", spring, "03-29 03:00 CEST, 03-30 02:00 CEST"},
		{"twice", "30 2 * * *", autumn, "10-25 02:30 CEST, 10-26 02:30 CET"},
		{"twice, asked in between", "30 2 * * *", autumn.Add(3 * time.Hour), "10-26 02:30 CET, 10-27 02:30 CET"},
		{"every half hour, hours left out", "*/30 * * * *", spring.Add(90 * time.Minute), "03-29 03:00 CEST, 03-29 03:30 CEST"},
		{"every half hour, hours twice", "*/30 * * * *", autumn.Add(90 * time.Minute),
			"10-25 02:00 CEST, 10-25 02:30 CEST, 10-25 02:00 CET, 10-25 02:30 CET, 10-25 03:00 CET"},
		{"every few hours", "0 */2 * * *", spring, "03-29 04:00 CEST, 03-29 06:00 CEST"},
		{"midnight left out", "0 0 * * *", time.Date(2026, 4, 23, 12, 0, 0, 0, zone(t, "Africa/Cairo")), "04-24 01:00 EEST, 04-25 00:00 EEST"},
		{"midnight twice", "30 23 * * *", time.Date(2026, 10, 29, 12, 0, 0, 0, zone(t, "Africa/Cairo")), "10-29 23:30 EEST, 10-30 23:30 EET"},
	} {
		if got := strings.Join(next(t, tc.cron, tc.from, strings.Count(tc.want, ",")+1), ", "); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, got, tc.want)
		}
	}
	// Nothing is missed by a rule for every five minutes.
	every, err := ParseCron("*/5 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []time.Time{spring, autumn} {
		for at := day; at.Before(day.AddDate(0, 0, 1)); {
			if n := every.Next(at); n.Sub(at) != 5*time.Minute {
				t.Fatalf("after %v comes %v", at, n)
			} else {
				at = n
			}
		}
	}
}

func TestParseCron(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2026, 11, 29, 14, 20, 30, 0, time.UTC)
	for cron, want := range map[string]string{
		"0 0 29 2 *":           "02-29 00:00 UTC",
		"0 0 13 * 5":           "12-04 00:00 UTC", // a 13th, or a Friday
		"0 0 */2 * fri":        "12-11 00:00 UTC", // an odd day that is a Friday
		"59 23 31 dec *":       "12-31 23:59 UTC",
		"0 12 * * 7":           "12-06 12:00 UTC",
		"0 12 * * 5-7":         "12-04 12:00 UTC",
		"10-20/5,40 9 * * MON": "11-30 09:10 UTC",
		"20/10 14 * * *":       "11-29 14:30 UTC",
	} {
		if got := next(t, cron, sunday, 1)[0]; got != want {
			t.Errorf("%s: %s, want %s", cron, got, want)
		}
	}
	for _, cron := range []string{"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *",
		"*/60 * * * *", "5-1 * * * *", "a * * * *", "* * mon * *", "1,,2 * * * *", "+1 * * * *", "*/+1 * * * *", "-1 * * * *", "1- * * * *", "0 0 31 2 *",
		"0 0 31 4,6 *", "@daily", "** * * * *", "* * * janu *", "1/ * * * *"} {
		if r, err := ParseCron(cron); err == nil {
			t.Errorf("%q is read as %v", cron, r)
		}
	}
}

// The next time is the first minute of the wall clock that the fields describe, as long as clocks do not change.
func TestTheNextTimeIsTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(of field, what string) string {
			a, b := rapid.IntRange(of.first, of.last).Draw(t, what), rapid.IntRange(of.first, of.last).Draw(t, what)
			return rapid.SampledFrom([]string{"*", fmt.Sprint(a), fmt.Sprintf("%d-%d", min(a, b), max(a, b)), fmt.Sprintf("*/%d", max(a, 1)), fmt.Sprintf("%d,%d", a, b)}).
				Draw(t, what)
		}
		var words []string
		for i, f := range theFields {
			words = append(words, number(f, fmt.Sprint("field ", i)))
		}
		r, err := ParseCron(strings.Join(words, " "))
		if err != nil {
			t.Skip(err)
		}
		from := time.Unix(rapid.Int64Range(1e9, 2e9).Draw(t, "from"), 0).UTC()
		got := r.Next(from)
		for at := from.Truncate(time.Minute).Add(time.Minute); at.Before(from.AddDate(0, 0, 40)); at = at.Add(time.Minute) {
			if !has(r.minutes, at.Minute()) || !has(r.hours, at.Hour()) || !has(r.months, int(at.Month())) {
				continue
			}
			day, weekday := has(r.days, at.Day()), has(r.weekdays, int(at.Weekday()))
			if words[2][0] == '*' || words[4][0] == '*' {
				day, weekday = day && weekday, day && weekday
			}
			if day || weekday {
				if !got.Equal(at) {
					t.Fatalf("%v after %v: %v, want %v", r, from, got, at)
				}
				return
			}
		}
		if got.Before(from.AddDate(0, 0, 40)) {
			t.Fatalf("%v after %v: %v, want none", r, from, got)
		}
	})
}

// Whatever clocks do, times go forward, and a rule for certain hours comes once on each of its days.
func TestEachDayOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Africa/Cairo", "Asia/Shanghai", "Australia/Lord_Howe", "America/Sao_Paulo"}).
			Draw(t, "zone"))
		r, err := ParseCron(fmt.Sprintf("%d %d * * *", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour")))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1e9, 2e9).Draw(t, "from"), 0).In(z)
		start := at
		for range 400 {
			at = r.Next(at)
		}
		if days := at.Sub(start).Hours() / 24; days < 398.9 || days > 400.1 {
			t.Fatalf("400 runs of %v in %v days", r, days)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, cron := range []string{"0 9 * * 1-5", "*/5 * * * *", "* * * * *", "0 0 29 2 *"} {
		r, err := ParseCron(cron)
		if err != nil {
			b.Fatal(err)
		}
		from := time.Date(2026, 11, 29, 14, 20, 30, 0, zone(b, "Europe/Berlin"))
		b.Run(cron, func(b *testing.B) {
			for b.Loop() {
				r.Next(from)
			}
		})
	}
}
