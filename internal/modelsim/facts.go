package modelsim

import (
	"regexp"
	"slices"
	"strings"
)

// Phrases that state a name. A name in Chinese text ends at punctuation or a space, unless the next word is
// capitalized, as in 我叫 Ada Lovelace.
var (
	nameZh = regexp.MustCompile(`我(?:的名字)?(?:叫做|叫作|名叫|叫|是叫)\s*` + nameWord + `|我的名字是\s*` + nameWord)
	nameEn = regexp.MustCompile(`(?i:\bmy name(?: is|['’]s)|\bI(?: am|['’]m) called)\s+` + nameWord)

	noName = []string{"什么", "甚么", "啥", "谁", "何", "哪", "了", "过", "你", "您", "他", "她", "它", "不", "what", "not"}
)

const nameWord = `["'“‘「『]?([^\s，。！？、；：,.!?;:"'“”‘’「」『』（）()<>…~]+(?:['’]\pL+)*(?: \p{Lu}[\pL\pN'’-]*)*)`

// Questions about it.
var (
	askNameZh = regexp.MustCompile(`我(?:的名字)?(?:叫|名叫)(?:做|作)?(?:什么|甚么|啥)|我是谁|我的?名字是?(?:什么|甚么|啥)|(?:记得|知道|告诉我)我的名字`)
	askNameEn = regexp.MustCompile(`(?i)\bwhat(?: is|['’]s| was)? my name|\bwho am I\b|\b(?:remember|know|recall|tell me) my name|\bwhat am I called`)
)

// statedName is the last name that a text states.
func statedName(text string) (string, bool) {
	name, at := "", -1
	for _, pattern := range []*regexp.Regexp{nameZh, nameEn} {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[2], m[3]
			if from < 0 {
				from, to = m[4], m[5]
			}
			if word := text[from:to]; isName(word) && from > at {
				name, at = word, from
			}
		}
	}
	return name, at >= 0
}

func isName(word string) bool {
	if strings.HasSuffix(word, "吗") {
		return false
	}
	return !slices.ContainsFunc(noName, func(s string) bool {
		if s[0] < 0x80 {
			return strings.EqualFold(word, s)
		}
		return strings.HasPrefix(word, s)
	})
}

// fact is a key and a value to remember.
type fact struct{ key, value string }

var (
	factZh = regexp.MustCompile(`(?m)记住[:：,，]?\s*(.+?)\s*(?:是|为|=)\s*(.+)$`)
	factEn = regexp.MustCompile(`(?mi)\bremember(?::| that)\s*(.+?)\s+(?:is|are|=)\s+(.+)$`)

	askFactZh = regexp.MustCompile(`([^，。！？；：,.!?;:\n]+?)(?:是|为)(?:什么|甚么|啥|谁|多少|几)`)
	askFactEn = regexp.MustCompile(`(?i)\bwhat(?: is| are| was|['’]s)\s+([^?？\n]+)`)
	question  = regexp.MustCompile(`^(?:什么|甚么|啥|谁|多少|几)|[?？]\s*$`) // instead of a value
	politeZh  = regexp.MustCompile(`^(?:请问|请|你|还|记得|知道|告诉我|我们的?|那么?|刚才|之前|说过?的?)+`)
)

// pronouns are not something to remember.
var pronouns = []string{"", "你", "您", "我", "他", "她", "它", "这", "那", "this", "that", "it", "up", "your name"}

// statedFacts are the facts that a text states.
func statedFacts(text string) []fact {
	var list []fact
	for _, pattern := range []*regexp.Regexp{factZh, factEn} {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			f := fact{strings.TrimSpace(m[1]), strings.TrimRight(strings.TrimSpace(m[2]), "。.!！")}
			if f.key != "" && f.value != "" && !question.MatchString(m[2]) {
				list = append(list, f)
			}
		}
	}
	return list
}

// askedFact is the key that a text asks about.
func askedFact(text string) (string, language, bool) {
	lang, m := chinese, askFactZh.FindStringSubmatch(text)
	if m == nil {
		lang, m = english, askFactEn.FindStringSubmatch(text)
	}
	if m == nil {
		return "", lang, false
	}
	key := strings.TrimRight(strings.TrimSpace(m[1]), " .!。！")
	if slices.Contains(pronouns, strings.ToLower(key)) {
		return "", lang, false
	}
	return key, lang, true
}

// lookup finds the newest value of a key. If the whole key is unknown, a known key inside it counts.
func (v *view) lookup(key string) (fact, bool) {
	forms := []string{strings.ToLower(key), strings.ToLower(strings.TrimSpace(politeZh.ReplaceAllString(key, "")))}
	exact := func(f fact) bool { return slices.Contains(forms, strings.ToLower(f.key)) }
	part := func(f fact) bool { return strings.Contains(forms[0], strings.ToLower(f.key)) }
	for _, fits := range []func(fact) bool{exact, part} {
		f, ok := newest(v, func(text string) (fact, bool) {
			for _, f := range slices.Backward(statedFacts(text)) {
				if fits(f) {
					return f, true
				}
			}
			return fact{}, false
		})
		if ok {
			return f, true
		}
	}
	return fact{}, false
}

// statedValue finds the value of a key in statements without a request to remember them, such as memories.
func (v *view) statedValue(key string) (string, bool) {
	if !v.demo {
		return "", false
	}
	says := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(key) + `\s*(?:是|为|\bis\b)\s*([^，。,.!?？\n]+)`)
	return newest(v, func(text string) (string, bool) {
		m := says.FindStringSubmatch(text)
		if m == nil || question.MatchString(m[1]) {
			return "", false
		}
		return m[1], true
	})
}
