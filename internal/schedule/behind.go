package schedule

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Words that say more about a time that has none of their kind. Behind one that has, they are the task: 周五17:00 本周总结.
const (
	aDay = `(?:(?:on|this|next|every|each) |the day after|(?:today|tomorrow|tonight|daily|` + enDay + `|` + enMonth + ` +\d+|(?:the )?\d+(?:st|nd|rd|th)? +(?:of )?` + enMonth + `)\b|` +
		`[今明后每][天日早晚]|每(?:周|月|个?工作日|小时|隔)|[上下本这]个?(?:周|月|星期)|` + zhWeek + zhDay + `|周末|\d+(?: *[-/.~月到至] *\d|[日号])|` + workdays + `)`
	aPart = `(?:(?:morning|afternoon|evening|night)\b|凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|夜[里间]|半夜|白天)`
	// The other part of an interval: every 2 hours 30 minutes, 每2小时半, 每小时 30分.
	aLength  = `(?:半|half|` + count + ` *(?:minutes?\b|mins?\b|hours?\b|个?小时|个?钟头|分)|第 *` + count + ` *分)`
	workdays = `(?:week(?:day|end)s\b|workdays\b|working days\b|工作日(?:[^报志]|$))`
)

func behind(pattern string) *regexp.Regexp { return regexp.MustCompile(`^[ ,、]*(?:` + pattern + `)`) }

var (
	dayOrPart    = behind(aDay + `|` + aPart)
	aPartOnly    = behind(aPart)
	partOrLength = behind(aPart + `|` + aLength)
	anyOfThem    = behind(aDay + `|` + aPart + `|` + aLength + `|工作时间|[上下]班时间|节?假日`)
)

var (
	// attached matches what makes another time of the one directly before it. What 后 and 过 are part of is less common.
	attached = regexp.MustCompile(`^(?:[0-9+~]|零[一二三四五六七八九]|过|[前后](?:[^端台续任期勤]|$))`)
	// goesOn matches what narrows a time, moves it, or makes several of it. A joining word alone does not: 明天15:00 和客户开会.
	goesOn = behind(`\+\d|\(|的|[之以][前后]|[前后](?: |$)|之间|以外|除(?:了|去|开|` + zhWeek + `)|[ap]\.m|` +
		`(?:except|excluding|between|during|starting|beginning|midnight)\b|in the (?:[a-z]+ )?(?:morning|afternoon|evening|night)|at (?:night|noon|midnight)|but not |` +
		workdays + `|` + enDay + ` *(?:-|/|,|and |to |through )+ *` + enDay + `|` + zhWeek + zhDay + `[、,~到至和-]+` + zhWeek + `?` + zhDay + `|` +
		`(?:in|for) +` + count + ` +(?:min|hour|day|week|month)|for the next|` + count + ` +(?:minute|hour|day|week)s? (?:later|from now)|` +
		// Two times.
		`(?:[-–—~/&、到至和及与或从自]|以及|或者|还有|直到|截至|(?:and|or|to|at|on|from|until|till|for|only on|then) ) *(?::?\d|a half|` + clock + `|` + aDay + `)|` +
		// Time zones.
		`(?:utc|gmt|z|[pmce][sd]?t|[cew]es?t|bst|ist|jst|kst|hkt|sgt|ict|msk|ae[sd]t|nz[sd]t|a[cwk][sd]t|hst|pacific|eastern|mountain)\b|` +
		`(?:asia|europe|america|africa|australia|etc)/|(?:central|local|beijing|china|shanghai|hong kong|taipei|singapore|tokyo|japan|seoul|india|dubai|moscow|` +
		`berlin|paris|london|uk|new york|sydney) +time\b|(?:北京|当地|本地|[中美英]国|美[东西]|东京|日本|纽约|伦敦|欧洲|新加坡|香港|格林[尼威]治|世界|太平洋)(?:标准)?时间`)

	// Minutes without 分, and what they count if it follows them: in 9点10条新闻 the news.
	bareMinutes = regexp.MustCompile(`[点時时](?:\d{2}|` + zhMinutes + `)$`)
	counted     = regexp.MustCompile(`^ *(?:[条篇件遍杯斤元句只]|个(?:[^人]|$)|份(?:[^额]|$)|位(?:[^置]|$)|次(?:[^日要]|$)|组(?:[^会织长内]|$)|项(?:[^目]|$)|页(?:[^面]|$)|` +
		`名(?:[^单字]|$)|人(?:[^工事力]|$)|道(?:[^歉]|$)|起(?:[^床飞身]|$)|张[图照票表纸]|[点時时]|本书|首歌|多|公[斤里])`)
	startsAnother = regexp.MustCompile(`^(?:分\n[享钟析配类]|半\n(?:小时|个|钟头|天[^气]|[年月场])|钟\n[点表]|刻\n钟)`) // 9点10分享会, 9点半小时拉伸
	inOneWord     = regexp.MustCompile(`^(?:[a-z]|:\d)`)                                          // 9:00ish, 9:00:30

	// What belongs to the hour, unless it begins a word: 18点整理日报.
	wholeHour = regexp.MustCompile(`^ *(?:整(?:[^理合改顿编体套治修形容个天年夜点备装]|$)|分(?:[ ,、:]|$))`)
)

// saysMore reports whether what follows a time belongs to it, so that the time was not understood. What is refused can be
// written in another way; what is misread is not noticed.
func (w wording) saysMore(words, rest string) bool {
	_, size := utf8.DecodeLastRuneInString(words)
	switch {
	case attached.MatchString(rest), goesOn.MatchString(rest), w.open != nil && w.open.MatchString(rest),
		size == 1 && inOneWord.MatchString(rest),
		bareMinutes.MatchString(words) && counted.MatchString(rest),
		startsAnother.MatchString(words[len(words)-size:] + "\n" + rest):
		return true
	}
	rest = strings.TrimLeft(rest, " ,、")
	return slices.ContainsFunc(timesOfDay, func(w wording) bool { return w.pattern.MatchString(rest) })
}

// timesOfDay are all wordings with a time of day.
var timesOfDay = slices.Concat(everyDay, aDayAndTime, atClocks)
