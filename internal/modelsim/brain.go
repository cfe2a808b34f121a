package modelsim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	deltaRunes = 6    // runes of the brain's text per delta
	maxCount   = 5000 // upper limit of counting
)

// language is the language of an answer.
type language int

const (
	chinese language = iota
	english
)

// pick returns the text in the language.
func (l language) pick(zh, en string) string {
	if l == chinese {
		return zh
	}
	return en
}

// languageOf is Chinese if there is any Chinese character, not counting a speaker's name.
func languageOf(text string) language {
	if strings.ContainsFunc(plainText(text), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return chinese
	}
	return english
}

// brain answers requests without a script.
type brain struct {
	pace  time.Duration // between two pieces of text
	story time.Duration // between two pieces of a story
	demo  bool          // it plays the scenes, and lists what it can show
}

// think is the brain's answer.
func (b brain) think(r *Request) []Step {
	v := look(r)
	v.demo = b.demo
	say := func(text string) []Step { return []Step{Chunks(text, deltaRunes, b.pace)} }
	if schema := gjson.GetBytes(r.Body, "output_config.format.schema"); schema.Exists() {
		return say(fill(schema, topic(r.LastUser())))
	}
	switch {
	case v.task == compact: // the CLI removes the analysis
		return say("<analysis>\n" + "Everything that the user said is kept.\n" + "</analysis>\n<summary>\n" +
			v.digest() + "\n</summary>")
	case b.demo && v.task == byPerson:
		if steps, ok := b.perform(r, v); ok {
			return steps
		}
	}
	if len(v.results) > 0 {
		return say(v.report())
	}
	if cmd, ok := command(v.question); ok && !v.ran {
		lang := languageOf(runBackquoted.ReplaceAllString(v.question, "$1"))
		if !r.HasTool("Bash") {
			return say(lang.pick("我这里没有 Bash 工具。", "I have no Bash tool here."))
		}
		return []Step{Tool("Bash", object{"command": cmd, "description": lang.pick("运行命令", "Run the command")})}
	}
	text, known := v.answer()
	if !known && v.task == byPerson && v.demo {
		l := languageOf(v.question)
		return b.steps(r, l, offer(r, l))
	}
	if v.task == goOn {
		text = v.rest(text)
	}
	return say(text)
}

// rest is the missing part of an answer that was cut off.
func (v *view) rest(full string) string {
	switch rest, ok := strings.CutPrefix(full, v.draft); {
	case v.ran || ok && rest == "":
		return languageOf(v.question).pick("（完）", "(The end.)")
	case ok:
		return rest
	}
	return full
}

// report describes the results of the tools, and answers what was asked meanwhile.
func (v *view) report() string {
	text, failed := v.resultText()
	lang := languageOf(runBackquoted.ReplaceAllString(v.question, "$1"))
	head := lang.pick("结果：", "Result: ")
	switch {
	case failed:
		head = lang.pick("没有成功：", "That did not work: ")
	case text == "":
		text = lang.pick("没有输出。", "no output.")
	}
	if strings.Contains(text, "\n") {
		text = "\n```\n" + text + "\n```"
	}
	if !v.ran { // the question is newer than the call
		return head + text + "\n\n" + v.reply()
	}
	return head + text
}

var (
	runBackquoted = regexp.MustCompile("(?i)(运行|执行|\\brun\\b)\\s*(?:命令|the command)?\\s*[:：]?\\s*`([^`]+)`")
	countTo       = regexp.MustCompile(`(?i)(?:数到|\bcount (?:up )?to)\s*([0-9]+)`)
	longAnswer    = regexp.MustCompile(`(?i)(写一?篇长文|长回答|\blong answer)`)
	summarise     = regexp.MustCompile(`(?i)(总结|摘要|\bsummar(?:y|ize|ise))`)
)

func command(question string) (string, bool) {
	m := runBackquoted.FindStringSubmatch(question)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(m[2]), true
}

// reply answers in words.
func (v *view) reply() string {
	text, _ := v.answer()
	return text
}

// answer returns the reply to the question; known = it was understood. Statements and questions about facts come first,
// so that tests of memory do not depend on other rules.
func (v *view) answer() (text string, known bool) {
	if text, ok := v.aboutName(); ok {
		return text, true
	}
	if text, ok := v.aboutFacts(); ok {
		return text, true
	}
	q := v.question
	if m := countTo.FindStringSubmatch(q); m != nil {
		return count(m[1]), true
	}
	if m := longAnswer.FindString(q); m != "" {
		return longText(languageOf(m)), true
	}
	if summarise.MatchString(q) {
		return languageOf(q).pick("到目前为止：\n", "So far:\n") + v.digest(), true
	}
	if v.demo {
		return menu(languageOf(q)), false
	}
	return v.echo(), false
}

func (v *view) aboutName() (string, bool) {
	zh, en := askNameZh.MatchString(v.question), askNameEn.MatchString(v.question)
	if zh || en {
		lang := chinese
		if !zh {
			lang = english
		}
		name, ok := newest(v, statedName)
		if !ok {
			return lang.pick("我不知道你的名字。", "I don't know your name."), true
		}
		return fmt.Sprintf(lang.pick("你叫%s。", "Your name is %s."), name), true
	}
	name, ok := statedName(v.question)
	if !ok {
		return "", false
	}
	lang := chinese
	if !nameZh.MatchString(v.question) {
		lang = english
	}
	return fmt.Sprintf(lang.pick("好的，%s，我记住了。", "Nice to meet you, %s."), name), true
}

func (v *view) aboutFacts() (string, bool) {
	q := plainText(v.question)
	if stated := statedFacts(q); len(stated) > 0 {
		f := stated[len(stated)-1]
		return fmt.Sprintf(languageOf(q).pick("好的，我记住了：%s是%s。", "OK, I will remember: %s is %s."), f.key, f.value), true
	}
	key, lang, ok := askedFact(q)
	if !ok {
		return "", false
	}
	f, ok := v.lookup(key)
	if value, told := v.statedValue(key); !ok && told {
		f, ok = fact{key, value}, true
	}
	if !ok {
		return fmt.Sprintf(lang.pick("我不知道%s是什么。", "I don't know what %s is."), key), true
	}
	first, length := utf8.DecodeRuneInString(f.key)
	name := string(unicode.ToUpper(first)) + f.key[length:]
	return fmt.Sprintf(lang.pick("%s是%s。", "%s is %s."), name, f.value), true
}

// count has a maximum: a question with a huge number must not fill the memory.
func count(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxCount { // an error means too many digits
		n = maxCount
	}
	var b strings.Builder
	b.WriteString("1")
	for i := 2; i <= n; i++ {
		b.WriteString(" " + strconv.Itoa(i))
	}
	return b.String()
}

// echo quotes the question and lists what else is visible.
func (v *view) echo() string {
	lang, s, h := languageOf(v.question), len(v.session), len(v.history)
	text := fmt.Sprintf(lang.pick("你说：“%s”。", "You said: “%s”. "), shorten(v.question, 200))
	if s+h == 0 {
		return text + lang.pick("这是我看到的第一条消息。", "This is the first message I see.")
	}
	return text + fmt.Sprintf(lang.pick("此前的消息：会话里 %d 条，历史里 %d 条。",
		"Earlier messages: %d in the session, %d in the history."), s, h)
}

func shorten(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return text
}
