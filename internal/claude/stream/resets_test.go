package stream

import (
	"testing"
	"time"
)

// What says when a limit ends: the CLI, and companies that resell the model.
func TestWhenALimitEnds(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 27, 22, 5, 30, 0, shanghai)
	day := func(d, hour, minute int) time.Time { return time.Date(2026, 11, d, hour, minute, 0, 0, shanghai) }
	for words, want := range map[string]time.Time{
		"You've hit your session limit · resets 10:26pm (Asia/Shanghai)":       day(27, 22, 26),
		"You've hit your limit · resets 12:15am (UTC)":                         time.Date(2026, 11, 28, 0, 15, 0, 0, time.UTC),
		"You've hit your limit · resets 12am (Asia/Shanghai)":                  day(28, 0, 0),
		"You've hit your limit · resets 9pm (Asia/Shanghai)":                   day(28, 21, 0),
		"You've hit your weekly limit · resets Dec 2, 1:18pm (UTC)":            time.Date(2026, 12, 2, 13, 18, 0, 0, time.UTC),
		"You've hit your weekly limit · resets Dec 2 at 1pm (UTC)":             time.Date(2026, 12, 2, 13, 0, 0, 0, time.UTC),
		"Claude AI usage limit reached|1795825339":                             time.Unix(1795825339, 0),
		"Request rejected (429) · Please try again in 20s":                     now.Add(20 * time.Second),
		"rate limited, try again in 1h30m":                                     now.Add(90 * time.Minute),
		"Please wait 5 minutes and 10 seconds":                                 now.Add(310 * time.Second),
		"retry after 60 seconds":                                               now.Add(time.Minute),
		"retry after 5 minutes":                                                now.Add(5 * time.Minute),
		"retry-after: 7800":                                                    now.Add(7800 * time.Second),
		"额度已用完，请 2 小时后再试":                                                      now.Add(2 * time.Hour),
		"请求过于频繁，请在30秒后重试":                                                      now.Add(30 * time.Second),
		"请 1 小时 30 分钟后再试":                                                      now.Add(90 * time.Minute),
		"每日额度已用完，将于 2026-11-28 00:00:00 重置":                                    day(28, 0, 0),
		"额度将在 2026年11月29日 08:30 恢复":                                            day(29, 8, 30),
		"quota resets at 2026-11-28T01:00:00Z":                                 time.Date(2026, 11, 28, 1, 0, 0, 0, time.UTC),
		"available again 2026-11-28 01:00:00 +0900":                            time.Date(2026, 11, 27, 16, 0, 0, 0, time.UTC),
		"今日额度已用完，08:00 恢复":                                                     day(28, 8, 0),
		"您已达到请求数限制：1分钟内最多请求60次":                                                {},
		"This request would exceed your account's rate limit. Try again later": {},
		"quota exceeded 2026-11-20 (request id 20261127220530)":                {},
		"resets 2020-01-01 00:00":                                              {},
		"try again in 400 days":                                                {},
		"":                                                                     {},
	} {
		if got := resetTime(words, now); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", words, got, want)
		}
	}
}
