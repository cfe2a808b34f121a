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
		// What looks like a part of the time is the task's first word.
		"每天18点整理日报":                               {"0 18 * * *", "整理日报"},
		"每天9点整 开会":                                {"0 9 * * *", "开会"},
		"每天9点整开会":                                 {"0 9 * * *", "开会"},
		"每天9:00整 开会":                              {"0 9 * * *", "开会"},
		"每天9点 分析昨天的日志":                            {"0 9 * * *", "分析昨天的日志"},
		"每天9:00分析日志":                              {"0 9 * * *", "分析日志"},
		"每天9点零食采购":                                {"0 9 * * *", "零食采购"},
		"每天9点前端巡检":                                {"0 9 * * *", "前端巡检"},
		"每天9点 后台巡检":                               {"0 9 * * *", "后台巡检"},
		"每天8点 今天天气怎么样":                            {"0 8 * * *", "今天天气怎么样"},
		"每天7点 今日新闻":                               {"0 7 * * *", "今日新闻"},
		"周五 17:00 本周总结":                           {"0 17 * * 5", "本周总结"},
		"每天9点 每日一句":                               {"0 9 * * *", "每日一句"},
		"周一9点 周会":                                 {"0 9 * * 1", "周会"},
		"每天9点 早上好":                                {"0 9 * * *", "早上好"},
		"每天9点工作日报":                                {"0 9 * * *", "工作日报"},
		"every day 8:00 today's weather":          {"0 8 * * *", "today's weather"},
		"weekday 9:00 daily standup":              {"0 9 * * 1-5", "daily standup"},
		"friday 17:00 next week's plan":           {"0 17 * * 5", "next week's plan"},
		"every day 9:00 30 minutes of stretching": {"0 9 * * *", "30 minutes of stretching"},
		"每天9点check日志":                             {"0 9 * * *", "check日志"},
		"每天9点 10 条新闻":                             {"0 9 * * *", "10 条新闻"},
		"每天7点半天气预报":                               {"30 7 * * *", "天气预报"},
		// Minutes without 分.
		"每天七点四十 起床":  {"40 7 * * *", "起床"},
		"每天九点零五起床":   {"5 9 * * *", "起床"},
		"每天9点30提醒我":  {"30 9 * * *", "提醒我"},
		"每天9点10条新闻":  {"", ""},
		"每天9点10 条新闻": {"", ""},
		"每天九点十条新闻":   {"", ""},
		"每天8点30个俯卧撑": {"", ""},
		"每天7点30分钟跑步": {"", ""},
		"每天9点10分享会":  {"", ""},
		"每天9点半小时拉伸":  {"", ""},
		"每天九点十一起吃饭":  {"", ""},
		"每天9点18点 x":  {"", ""},
		"每天9点钟点工打扫":  {"", ""},
		"每天9:30分 x":  {"30 9 * * *", "x"},
		"每天9点：3条新闻":  {"0 9 * * *", "3条新闻"},
		"每天9点一刻钟后提醒": {"", ""},
		// There is no day.
		"every month 10:00 pay rent": {"", ""},
		"monthly 12:30 x":            {"", ""},
		"monthly 11am x":             {"", ""},
		// Only a part of when it is wanted.
		"every 30 minutes weekdays check CI":    {"", ""},
		"every 30 minutes on weekdays check CI": {"", ""},
		"每30分钟从9点到18点 x":                        {"", ""},
		"每30分钟 9-18点 x":                         {"", ""},
		"每30分钟白天 x":                             {"", ""},
		"every 2 hours starting at 9am x":       {"", ""},
		"every 2 hours 30 minutes x":            {"", ""},
		"every hour for 3 days x":               {"", ""},
		"every hour at :30 x":                   {"", ""},
		"每小时第30分钟 x":                            {"", ""},
		"每小时，直到18点 x":                           {"", ""},
		"every day 9am but not sunday x":        {"", ""},
		"every day 9am for 2 weeks x":           {"", ""},
		"every day 9am mon-fri x":               {"", ""},
		"every day 9am on weekdays x":           {"", ""},
		"every day 9am on mondays x":            {"", ""},
		"每天9点（工作日）":                             {"", ""},
		"每天9点 工作日 x":                            {"", ""},
		"每2小时半 x":                               {"", ""},
		"每小时 30分 x":                             {"", ""},
		"every day at 8:00 in the evening x":    {"", ""},
		"每天9点（北京时间）x":                           {"", ""},
		"每天9点 北京时间 x":                           {"", ""},
		"daily 9:00 Beijing time x":             {"", ""},
		// Several times, or which one is not clear.
		"每周五二十点 x":                   {"", ""},
		"每周五 二十点 x":                  {"0 20 * * 5", "x"},
		"每周二十点 x":                    {"0 10 * * 2", "x"},
		"每天9:00/18:00 x":             {"", ""},
		"every day 9:00 & 18:00 x":   {"", ""},
		"every day 9:00 and 18:00 x": {"", ""},
		"monday 9:00 and friday x":   {"", ""},
		"每天9点或18点 x":                 {"", ""},
		"每天9点以及18点 x":                {"", ""},
		"每天9点～10点 x":                 {"", ""},
		"每天9点和下午6点 x":                {"", ""},
		"每天下午三四点 x":                  {"", ""},
		"每天七八点 x":                    {"", ""},
		"每天中午3点 x":                   {"", ""},
		"每天中午1点 x":                   {"0 13 * * *", "x"},
		"每天5点半 跑步":                   {"", ""},
		"every day 3:30 x":           {"30 3 * * *", "x"},
		"每天8点30打卡":                   {"30 8 * * *", "打卡"},
		"每天9点30站会":                   {"30 9 * * *", "站会"},
		"每天9点30组会":                   {"30 9 * * *", "组会"},
		"每天7点40出门":                   {"40 7 * * *", "出门"},
		"每天22点30睡觉":                  {"30 22 * * *", "睡觉"},
		"每天9点30汇总新闻":                 {"30 9 * * *", "汇总新闻"},
		"每天9点30检查服务器":                {"30 9 * * *", "检查服务器"},
		"每天9点30部署":                   {"30 9 * * *", "部署"},
		"每天9点30项目周会":                 {"30 9 * * *", "项目周会"},
		"every day 03:30 x":          {"30 3 * * *", "x"},
		"every day 3:30pm x":         {"30 15 * * *", "x"},
		// Common forms.
		"每晚10点 x":                      {"0 22 * * *", "x"},
		"每早8点 x":                       {"0 8 * * *", "x"},
		"每天零点备份":                       {"0 0 * * *", "备份"},
		"每半小时 x":                       {"*/30 * * * *", "x"},
		"every half hour x":            {"*/30 * * * *", "x"},
		"每个周一　9点 x":                    {"0 9 * * 1", "x"},
		"every day at noon eat":        {"0 12 * * *", "eat"},
		"mon, wed, and fri 9:00 x":     {"0 9 * * 1,3,5", "x"},
		"monday through friday 9:00 x": {"0 9 * * 1,2,3,4,5", "x"},
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
		"明天15点分享会":                      {"11-30 15:00", "分享会"},
		"明天15:00 和客户开会":                 {"11-30 15:00", "和客户开会"},
		"明早8点到机场":                       {"11-30 08:00", "到机场"},
		"3pm to call Ann":               {"11-29 15:00", "to call Ann"},
		"15:00 10分钟站会":                  {"11-29 15:00", "10分钟站会"},
		"30分钟后 周会":                      {"11-29 14:50", "周会"},
		"下午三点二十 开会":                     {"11-29 15:20", "开会"},
		"九点十五提醒我":                       {"11-30 09:15", "提醒我"},
		"晚上九点零五 x":                      {"11-29 21:05", "x"},
		"9点10分享会":                       {"", ""},
		"dec 10:00 x":                   {"", ""},
		"2026年12月10点 x":                 {"", ""},
		// The time before the day.
		"3pm friday send the report":     {"12-04 15:00", "send the report"},
		"9am dec 1 x":                    {"12-01 09:00", "x"},
		"3pm this sunday: x":             {"11-29 15:00", "x"},
		"3pm on Friday, x":               {"12-04 15:00", "x"},
		"3pm the day after tomorrow x":   {"12-01 15:00", "x"},
		"at 15:00 tomorrow x":            {"11-30 15:00", "x"},
		"15:00 12月1日 x":                  {"12-01 15:00", "x"},
		"15:00 明天 x":                     {"11-30 15:00", "x"},
		"8:30 tomorrow evening x":        {"", ""},
		"3pm tomorrow in the office":     {"11-30 15:00", "in the office"},
		"7pm fridays x":                  {"", ""},
		"fridays 7pm x":                  {"", ""},
		"9am the 1st of december x":      {"", ""},
		"18:00 下班打卡":                     {"11-29 18:00", "下班打卡"},
		"15:00 in 20 minutes x":          {"", ""},
		"15:00 3 days later x":           {"", ""},
		"15:00 明天的会 x":                   {"", ""},
		"3pm next week x":                {"", ""},
		"3pm 12/25 x":                    {"", ""},
		"15:00 周五例会":                     {"", ""},
		"8:30 in the evening x":          {"", ""},
		"tomorrow 8:30 in the evening x": {"", ""},
		"in 3 days in the morning x":     {"", ""},
		"in 3 days at 9am x":             {"12-02 09:00", "x"},
		"3天后早上 x":                        {"", ""},
		"3天后早上9点 x":                      {"12-02 09:00", "x"},
		"in 2 hours 30 minutes x":        {"", ""},
		"两三天后 x":                         {"", ""},
		"明天下午3点前提醒我":                     {"", ""},
		"明天下午3点 之前 提醒我":                  {"", ""},
		"明天下午3点以后提醒我":                    {"", ""},
		"明天下午3点后提醒我":                     {"", ""},
		"明天下午3点后端评审":                     {"11-30 15:00", "后端评审"},
		"3pm ET x":                       {"", ""},
		"3pm PT x":                       {"", ""},
		"15:00 EET x":                    {"", ""},
		"15:00 SGT x":                    {"", ""},
		"15:00 (UTC) x":                  {"", ""},
		"3pm Pacific x":                  {"", ""},
		"15:00 Europe/Berlin x":          {"", ""},
		"3点 开会":                          {"", ""},
		"明天3点半 x":                        {"", ""},
		"周五5点 x":                         {"", ""},
		"3:30 call Ann":                  {"", ""},
		"凌晨3点 x":                         {"11-30 03:00", "x"},
		"tonight at 8pm x":               {"11-29 20:00", "x"},
		"tonight 8:30 x":                 {"11-29 20:30", "x"},
		"tomorrow at noon x":             {"11-30 12:00", "x"},
		"明天　9点　x":                        {"11-30 09:00", "x"},
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
	if _, err := ReadAt("下周五3点 x", now); !errors.Is(err, errHalf) {
		t.Errorf("a time of which there are two: %v", err)
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
