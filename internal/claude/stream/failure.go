package stream

import (
	"regexp"
	"slices"
	"strings"

	"magpie/internal/text"
)

// serverWords classifies what the server of the model says in its own words. Companies that resell the model answer
// with any status, in Chinese or English: only their words tell what is missing. Earlier entries take precedence.
var serverWords = []struct {
	failure Failure
	words   *regexp.Regexp
	status  []int64 // those with which the words mean this; none = all
}{
	{FailModel, regexp.MustCompile(`无权(访问|使用|调用).{0,8}模型|模型.{0,80}(不存在|未找到|未配置|不可用|已下线|无权)|` +
		`(無|无)可用(的)?(渠道|通道)|不(支持|提供)(该|此|这个)?模型|no (available|enabled) channels?|model_not_found|` +
		`(unknown|unsupported) model|model.{0,80}(not found|not exist|not available|unavailable|not allowed|not enabled)|` +
		`(access|permission).{0,12} model\b`), nil},
	// A request rate has a quota, too; what is used up for good is told by another word.
	{FailBilling, regexp.MustCompile(`[余餘][额額].{0,12}(不足|不够|为零|为 ?0|用[尽完]|耗尽)|[额額]度.{0,12}(不足|不够|用[尽盡完]|耗[尽盡]|超)|` +
		`(不足|用[尽完]|耗尽|超出|超过|没有).{0,12}([余餘][额額]|[额額]度)|欠费|欠費|充值|儲值|续费|` +
		`(配额|套餐|积分|点数|费用|账户|帐户).{0,12}(不足|用[尽完]|耗尽|已?过期|到期)|insufficient.{0,12}(quota|balance|funds|credit)|` +
		`(quota|balance|credits?).{0,20}(insufficient|not enough|too low|used up|exhausted|depleted|negative)|` +
		`(not enough|no|out of|run out of) (quota|balance|funds|credits?)|payment.?required|in arrears|top.?up|recharge|` +
		`plan and billing|billing_(error|hard|not)`), nil},
	{FailBilling, regexp.MustCompile(`[余餘][额額]|[额額]度|配额|quota|balance|billing|credits?\b`), []int64{401, 402, 403}},
	{FailAuth, regexp.MustCompile(`/login|oauth`), []int64{401, 403}},
	{FailKey, regexp.MustCompile(`令牌|密钥|秘钥|未登录|api.?key|token|unauthori[sz]ed|revoked`), []int64{401, 403}},
}

// serverFailure classifies an error with which the server of the model has answered, from the CLI's message about it
// and the HTTP status (0 = unknown). foreign means that the answer has not the form of the model's API.
func serverFailure(message string, status int64, foreign bool) Failure {
	words := strings.ToLower(ServerWords(message))
	for _, known := range serverWords {
		if known.words.MatchString(words) && (known.status == nil || slices.Contains(known.status, status)) {
			return known.failure
		}
	}
	switch {
	case strings.Contains(message, "empty or malformed response"):
		return FailAddress
	case status == 402:
		return FailBilling
	case status == 401:
		return FailKey
	case foreign && status >= 400 && status < 500 && status != 408 && status != 413 && status != 429:
		return FailAddress
	case status == 403:
		return FailDenied
	}
	return FailUnknown
}

// What the CLI adds to the words of the server (2.1.197, 2.1.332).
var (
	beforeWords = regexp.MustCompile(`^.*?API Error: (Request rejected \(\d+\) · )?`)
	afterWords  = regexp.MustCompile(`\. This is a server-side issue.*| — check for a proxy.*|\. Run --model.*`)
	htmlTag     = regexp.MustCompile(`<(script|style)[^>]*>.*?</(script|style)>|<[^<>]*>`)
)

// maxServerWords limits what is shown of a server's words, in runes.
const maxServerWords = 300

// ServerWords is what the server of the model said, on one line and without HTML, from the CLI's message about a failed
// turn; empty = the message is the CLI's own. It is not for everybody's eyes unredacted.
func ServerWords(message string) string {
	words := strings.Join(strings.Fields(message), " ")
	if !strings.Contains(words, "API Error: ") {
		return ""
	}
	words = afterWords.ReplaceAllString(beforeWords.ReplaceAllString(words, ""), "")
	words = strings.Join(strings.Fields(htmlTag.ReplaceAllString(words, " ")), " ")
	return text.Shorten(words, maxServerWords)
}
