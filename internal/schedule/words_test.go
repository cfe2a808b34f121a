package schedule

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestReadEvery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // the rule and the task
		"weekday 9:00 sum up the news":                 {"0 9 * * 1-5", "sum up the news"},
		"every weekday at 9:30am Sum up":               {"30 9 * * 1-5", "Sum up"},
		"day 21:00: look at the Logs":                  {"0 21 * * *", "look at the Logs"},
		"daily 9 pm x":                                 {"0 21 * * *", "x"},
		"12am x":                                       {"", ""},
		"day 12am x":                                   {"0 0 * * *", "x"},
		"day 12:30pm x":                                {"30 12 * * *", "x"},
		"weekend 10:00 rest":                           {"0 10 * * 0,6", "rest"},
		"monday 9:00 plan":                             {"0 9 * * 1", "plan"},
		"Mondays, wednesday and fri at 18:30 sports":   {"30 18 * * 1,3,5", "sports"},
		"mon-fri 8:00 x":                               {"0 8 * * 1,2,3,4,5", "x"},
		"sat to mon 8:00 x":                            {"0 8 * * 6,0,1", "x"},
		"month 1 9:00 bill":                            {"0 9 1 * *", "bill"},
		"month on the 15th at 9:00 bill":               {"0 9 15 * *", "bill"},
		"hour look":                                    {"0 * * * *", "look"},
		"30 minutes look":                              {"*/30 * * * *", "look"},
		"two hours look":                               {"0 */2 * * *", "look"},
		"60 minutes look":                              {"0 * * * *", "look"},
		"0 9 * * 1-5 看看 一下":                            {"0 9 * * 1-5", "看看 一下"},
		"*/5 * * * * look":                             {"*/5 * * * *", "look"},
		"0 9 1 JAN mon,wed look":                       {"0 9 1 jan mon,wed", "look"},
		"天 9:00 汇总新闻":                                  {"0 9 * * *", "汇总新闻"},
		"每天9点汇总新闻":                                     {"0 9 * * *", "汇总新闻"},
		"每天上午九点半，汇总新闻":                                 {"30 9 * * *", "汇总新闻"},
		"每天晚上8点15分 看日志":                                {"15 20 * * *", "看日志"},
		"每天的晚上十一点 看日志":                                 {"0 23 * * *", "看日志"},
		"每天中午12点 吃饭":                                   {"0 12 * * *", "吃饭"},
		"每天凌晨2点半 备份":                                   {"30 2 * * *", "备份"},
		"每天0点 备份":                                      {"0 0 * * *", "备份"},
		"每天９：３０ 备份":                                    {"30 9 * * *", "备份"},
		"工作日 9:00 站会":                                  {"0 9 * * 1-5", "站会"},
		"每个工作日早上9点站会":                                  {"0 9 * * 1-5", "站会"},
		"周一 9:00 周会":                                   {"0 9 * * 1", "周会"},
		"每周一、三、五 18:30 运动":                             {"30 18 * * 1,3,5", "运动"},
		"每周一三五下午6点半运动":                                 {"30 18 * * 1,3,5", "运动"},
		"每周一到周五 8:00 x":                                {"0 8 * * 1,2,3,4,5", "x"},
		"星期日20点 周报":                                    {"0 20 * * 0", "周报"},
		"每周末 10:00 休息":                                 {"0 10 * * 0,6", "休息"},
		"每月1号9点 对账":                                    {"0 9 1 * *", "对账"},
		"每个月十五日 上午10:00 对账":                            {"0 10 15 * *", "对账"},
		"每小时 看看":                                       {"0 * * * *", "看看"},
		"每30分钟 看看":                                     {"*/30 * * * *", "看看"},
		"每两小时看看":                                       {"0 */2 * * *", "看看"},
		"每隔 2 个小时 看看":                                  {"0 */2 * * *", "看看"},
		"每天 9:00":                                      {"0 9 * * *", ""},
		"sometimes look":                               {"", ""},
		"":                                             {"", ""},
		"每天 25:00 x":                                   {"", ""},
		"day 13pm x":                                   {"", ""},
		"month 32 9:00 x":                              {"", ""},
		"7 minutes x":                                  {"", ""},
		"5 * * * look at this":                         {"", ""},
		"0 0 31 2 * x":                                 {"", ""},
		"每天9":                                          {"", ""},
		"İ 9:00":                                       {"", ""},
		"monday":                                       {"", ""},
		"0 9 * * 1-5":                                  {"0 9 * * 1-5", ""},
		"99999999999999999999 minutes x":               {"", ""},
		"weekdays 09:00 Summarize yesterday's CI runs": {"0 9 * * 1-5", "Summarize yesterday's CI runs"},
	} {
		got, err := ReadEvery(text)
		if want[0] == "" {
			if err == nil {
				t.Errorf("%q: %v", text, got)
			}
			continue
		}
		if err != nil || got.Rule.String() != want[0] || got.Task != want[1] {
			t.Errorf("%q: %q %q, %v; want %q", text, got.Rule, got.Task, err, want)
		}
	}
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	// A Sunday.
	now := time.Date(2026, 11, 29, 14, 20, 30, 0, zone(t, "Asia/Shanghai"))
	for text, want := range map[string][2]string{
		"tomorrow 15:00 call Ann":       {"11-30 15:00", "call Ann"},
		"tomorrow at 3pm call Ann":      {"11-30 15:00", "call Ann"},
		"the day after tomorrow 9:00 x": {"12-01 09:00", "x"},
		"15:00 x":                       {"11-29 15:00", "x"},
		"at 14:20 x":                    {"11-30 14:20", "x"},
		"9am x":                         {"11-30 09:00", "x"},
		"monday 9:00 x":                 {"11-30 09:00", "x"},
		"sunday 9:00 x":                 {"12-06 09:00", "x"},
		"sunday 15:00 x":                {"11-29 15:00", "x"},
		"next monday at 9:00 x":         {"11-30 09:00", "x"},
		"next sunday 9:00 x":            {"12-06 09:00", "x"},
		"2026-12-01 09:00 x":            {"12-01 09:00", "x"},
		"2026-12-01T09:00 x":            {"12-01 09:00", "x"},
		"2026/12/1 9:00pm x":            {"12-01 21:00", "x"},
		"12-01 09:00 x":                 {"12-01 09:00", "x"},
		"dec 1 at 9:00 x":               {"12-01 09:00", "x"},
		"December 1st, 2026 9:00 x":     {"12-01 09:00", "x"},
		"1 december 9:00 x":             {"12-01 09:00", "x"},
		"in 20 minutes x":               {"11-29 14:40", "x"},
		"in an hour x":                  {"11-29 15:20", "x"},
		"in 3 days x":                   {"12-02 14:20", "x"},
		"明天15:00 给小安打电话":                {"11-30 15:00", "给小安打电话"},
		"明天下午3点给小安打电话":                  {"11-30 15:00", "给小安打电话"},
		"明早九点 x":                        {"11-30 09:00", "x"},
		"今晚8点半 x":                       {"11-29 20:30", "x"},
		"后天上午10点 x":                     {"12-01 10:00", "x"},
		"大后天 10:00 x":                   {"12-02 10:00", "x"},
		"下午3点 x":                        {"11-29 15:00", "x"},
		"周三 9:00 x":                     {"12-02 09:00", "x"},
		"下周一9点 x":                       {"11-30 09:00", "x"},
		"下周日9点 x":                       {"12-06 09:00", "x"},
		"12月1日9点 x":                     {"12-01 09:00", "x"},
		"十二月一号上午九点半 x":                  {"12-01 09:30", "x"},
		"2026年12月1日 9:00 x":             {"12-01 09:00", "x"},
		"20分钟后 x":                       {"11-29 14:40", "x"},
		"半小时后 x":                        {"11-29 14:50", "x"},
		"两个小时后提醒我开会":                    {"11-29 16:20", "提醒我开会"},
		"3天后上午9点 x":                     {"12-02 09:00", "x"},
		"三天后 x":                         {"12-02 14:20", "x"},
		"2026-13-01 9:00 x":             {"", ""},
		"2026-02-30 9:00 x":             {"", ""},
		"2025-12-01 9:00 x":             {"", ""},
		"今天9点 x":                        {"", ""},
		"soon x":                        {"", ""},
		"tomorrow x":                    {"", ""},
		"":                              {"", ""},
		"in 0 minutes x":                {"", ""},
		"ſunday 9:00":                   {"", ""},
	} {
		got, err := ReadAt(text, now)
		if want[0] == "" {
			if err == nil {
				t.Errorf("%q: %v", text, got)
			}
			continue
		}
		if at := got.Rule.once.In(now.Location()).Format("01-02 15:04"); err != nil || at != want[0] || got.Task != want[1] {
			t.Errorf("%q: %s %q, %v; want %q", text, at, got.Task, err, want)
		}
	}
	if _, err := ReadAt("今天 9:00 x", now); !errors.Is(err, ErrPast) {
		t.Errorf("a time that is over: %v", err)
	}
}

// Nothing that people write makes it fail, and the words with the task are the whole text.
func TestReadingNeverFails(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 14, 20, 30, 0, zone(t, "Asia/Shanghai"))
	parts := []string{"每", "每天", "明天", "下午", "3", "点", "半", "周", "一", "到", "9:00", "９：００", " ", "at", "every", "monday", "in", "20", "minutes", "-", "/",
		"*", "*/5", "月", "号", "İ", "ſ", "K", "\u2028", "\xff", "am", "后", "个", "小时", "天", "十", "2026", "12"}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, p := range rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(parts), rapid.String()), 0, 9).Draw(t, "parts") {
			text += p
		}
		for _, read := range []func() (Order, error){
			func() (Order, error) { return ReadEvery(text) }, func() (Order, error) { return ReadAt(text, now) },
		} {
			o, err := read()
			if err != nil {
				continue
			}
			if o.Rule.Next(now).IsZero() {
				t.Fatalf("%q never comes: %v", text, o.Rule)
			}
			again, err := Parse(o.Rule.String())
			if err != nil || again.String() != o.Rule.String() {
				t.Fatalf("%q is stored as %q, read as %q, %v", text, o.Rule, again, err)
			}
		}
	})
}
