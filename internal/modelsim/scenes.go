package modelsim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The scenes of the playground: what the brain shows if Config.Demo is set. Each is played request by request, as a
// model works: a scene looks at the results of its tools so far, and takes the next step. The scenes work on the files
// of the playground's sample project (cmd/magpie/sample).

// scene is something that the model can show.
type scene struct {
	asked *regexp.Regexp
	next  func(v *view, l language) []modelStep
}

// modelStep is a part of an answer: text, or a tool call.
type modelStep struct {
	words string
	piece int  // runes per piece; 0 = default
	slow  bool // with the pauses of a story
	tool  string
	input object
}

func words(s string) []modelStep { return []modelStep{{words: s}} }

// then calls a tool after the text.
func then(before, tool string, input object) []modelStep {
	return []modelStep{{words: before}, {tool: tool, input: input}}
}

var scenes = []scene{
	{regexp.MustCompile(`(?i)(测试.*(不通过|没通过|失败|挂了|修)|修.*测试|\btests?\b.*\b(fail|fix|broken)|\bfix\b.*\btest)`), fixTest},
	{regexp.MustCompile(`(?i)(价格图|图表|画.*图|\bchart\b|\bplot\b)`), sendChart},
	{regexp.MustCompile(`(?i)(问我|表单|\bask me\b|\bform\b)`), askForm},
	{regexp.MustCompile(`(?i)(计划|\bplan\b)`), makePlan},
	{regexp.MustCompile(`(?i)(第一句|最早说|最开始说|\bsay first\b|\bfirst thing\b|\bfirst message\b)`), firstWords},
	{regexp.MustCompile(`(?i)(故事|\bstory\b)`), tellStory},
}

// perform plays the scene that the question requests; false = it requests none.
func (b brain) perform(r *Request, v *view) ([]Step, bool) {
	q := plainText(v.question)
	l := v.language()
	next := sceneOf(q)
	if v.isExact() { // this goes before the words that a scene is about
		return nil, false
	}
	switch {
	case len(v.pictures) > 0 || attached.MatchString(v.question):
		next = lookAtFiles
	case onward.MatchString(q):
		next = carryOn
	case next == nil:
		if next = chosenScene(v); next == nil {
			return nil, false
		}
	}
	return b.steps(r, l, next(v, l)), true
}

// isExact reports whether the question names the command to run, or a fact.
func (v *view) isExact() bool {
	q := plainText(v.question)
	_, runs := command(q)
	key, _, asks := askedFact(q)
	_, known := v.lookup(key)
	return runs || asks && known || len(statedFacts(q)) > 0
}

// language is that of the newest words of a person; files have none.
func (v *view) language() language {
	in := func(text string) (l language, ok bool) {
		text = plainText(attached.ReplaceAllString(text, ""))
		return languageOf(text), strings.ContainsFunc(text, unicode.IsLetter)
	}
	if l, ok := newest(v, in); ok {
		return l
	}
	return languageOf(v.question)
}

// steps converts the parts of an answer for the server.
func (b brain) steps(r *Request, l language, acts []modelStep) (steps []Step) {
	for _, a := range acts {
		pace := b.pace
		if a.slow {
			pace = b.story
		}
		switch {
		case a.tool != "" && !r.HasTool(a.tool):
			steps = append(steps, Text(fmt.Sprintf(l.pick("（这里没有 %s 这个工具。）", "(I have no tool %s here.)"), a.tool)))
		case a.tool != "":
			steps = append(steps, Tool(a.tool, a.input))
		default:
			steps = append(steps, Chunks(a.words, cmp.Or(a.piece, deltaRunes), pace))
		}
	}
	return steps
}

// askTool is the tool with which the model asks people.
const askTool = "AskUserQuestion"

// offers are the scenes that the menu offers: as many as one question can have options.
var offers = []struct {
	zh, en           string // the option
	aboutZh, aboutEn string
	next             func(v *view, l language) []modelStep
}{
	{"修好测试", "Fix the test", "读代码、改文件、跑命令，每一步都先问你", "Reads the code, edits it, runs a command; asks each time", fixTest},
	{"看价格图", "Show the price chart", "把图片发到聊天里", "Sends a picture to the chat", sendChart},
	{"讲个故事", "Tell a story", "慢慢讲，可以中途停止，或者强制结束鹊桥", "A long one: stop it, or kill the bridge", tellStory},
	{"做个计划", "Make a plan", "先写计划，批准了再动手", "Writes a plan, and waits for your approval", makePlan},
}

// offer answers anything that the model cannot do: it asks which scene to play. Without the tool for that it lists
// them.
func offer(r *Request, l language) []modelStep {
	if !r.HasTool(askTool) {
		return words(menu(l))
	}
	options := make([]object, 0, len(offers))
	for _, o := range offers {
		options = append(options, object{"label": l.pick(o.zh, o.en), "description": l.pick(o.aboutZh, o.aboutEn)})
	}
	return then(l.pick("我是演练场里的**模拟模型**，不会真的思考，但可以演示几件事。文件、命令、确认都是真的。\n\n",
		"I am the playground's **simulated model**: I cannot think, but I can show a few things. "+
			"The files, commands and approvals are real.\n\n"),
		askTool, object{"questions": []object{{
			"question": l.pick("想看哪一个？", "What would you like to see?"), "header": l.pick("演示", "Show"),
			"multiSelect": false, "options": options}}})
}

// chosenScene is the scene that was chosen from the menu in this turn; nil = none was offered.
func chosenScene(v *view) func(*view, language) []modelStep {
	asked, ok := v.used(askTool)
	if !ok {
		return nil
	}
	for _, answer := range quotedAnswer.FindAllStringSubmatch(asked.result, -1) {
		for _, o := range offers {
			if answer[2] == o.zh || answer[2] == o.en {
				return o.next
			}
		}
		if next := sceneOf(answer[2]); next != nil { // in the user's own words
			return next
		}
	}
	return func(_ *view, l language) []modelStep { return words(menu(l)) }
}

// menu describes everything that the model can do.
func menu(l language) string {
	return l.pick("我是演练场里的**模拟模型**，不会真的思考，只会演示下面这些。文件、命令、确认、记忆都是真的：\n\n"+
		"- `测试为什么不通过？` 读代码、改文件、跑命令，每一步都先问你\n"+
		"- `给我看看价格图` 把图片发到聊天里\n- `问我几个问题` 用表单提问\n- `做个计划` 先写计划，批准了再动手\n"+
		"- `讲个故事` 慢慢讲，可以中途停止，或者强制结束鹊桥\n- `我第一句话说了什么？` 只看这次请求里有的内容\n"+
		"- `我叫小明`，`记住：发布日是周五`，之后再问我\n\n发图片或文件给我也可以。接入真实的 Claude 后，什么都能问。",
		"I am the playground's **simulated model**: I cannot think, but I can show these. The files, commands, approvals and "+
			"memories are real:\n\n"+
			"- `Why does the test fail?` reads the code, edits it, runs a command; each step asks you first\n"+
			"- `Show me the price chart` sends a picture\n- `Ask me a few questions` asks with a form\n"+
			"- `Make a plan` writes a plan, and waits for your approval\n"+
			"- `Tell me a story` tells a long one: stop me, or kill the bridge\n"+
			"- `What did I say first?` is answered from this very request\n"+
			"- `My name is Ann`, `Remember: the release day is Friday`, then ask me\n\n"+
			"You can send me pictures and files, too. With the real Claude you can ask anything.")
}

// The wrong line in the sample's price.sh, and its correction.
const (
	wrongLine = `if [ "$1" -gt 10 ]; then`
	rightLine = `if [ "$1" -ge 10 ]; then`
)

// fixTest finds out why the sample's test fails, repairs the program, and runs the test.
func fixTest(v *view, l language) []modelStep {
	code, read := v.used("Read") // price.sh, the second
	edit, edited := v.used("Edit")
	run, ran := v.used("Bash")
	wrong := strings.Contains(code.result, wrongLine)
	switch {
	case !read:
		return append(then(l.pick("我先看看测试和被测的脚本。\n\n", "Let me read the test and the script first.\n\n"),
			"Read", object{"file_path": "test.sh"}), modelStep{tool: "Read", input: object{"file_path": "price.sh"}})
	case code.failed:
		return words(l.pick("我没读到 `price.sh`。这个场景要在演练场自带的示例项目里才能演示。",
			"I could not read `price.sh`. This scene needs the playground's sample project."))
	case wrong && !edited:
		return then(l.pick("找到了：满 10 张就该打八折，但 `-gt 10` 把**正好 10 张**漏掉了。我来改这一行。\n\n",
			"Found it: ten or more tickets cost a fifth less, but `-gt 10` leaves out **exactly ten**. "+
				"Let me change that line.\n\n"),
			"Edit", object{"file_path": "price.sh", "old_string": wrongLine, "new_string": rightLine})
	case edit.failed:
		return words(l.pick("好的，我没有动 `price.sh`。要改的话，把 `-gt` 换成 `-ge` 就行。",
			"All right, I left `price.sh` alone. The fix would be `-ge` instead of `-gt`."))
	case !ran:
		return then(l.pick("再跑一遍测试看看。\n\n", "Now the test again.\n\n"), "Bash",
			object{"command": "sh test.sh", "description": l.pick("运行测试", "Run the test")})
	case run.failed:
		return words(l.pick("测试没有跑成：\n\n", "The test did not pass or did not run:\n\n") + fenced(run.result))
	}
	return words(l.pick("修好了，测试全部通过：\n\n", "Fixed, all tests pass:\n\n") + fenced(run.result) + l.pick(
		"\n\n| 张数 | 改之前 | 改之后 |\n|--:|--:|--:|\n| 9 | 270 元 | 270 元 |\n| **10** | 300 元 | **240 元** |\n| 20 | 480 元 | 480 元 |",
		"\n\n| Tickets | Before | After |\n|--:|--:|--:|\n| 9 | ¥270 | ¥270 |\n| **10** | ¥300 | **¥240** |\n| 20 | ¥480 | ¥480 |"))
}

func fenced(text string) string { return "```\n" + shorten(text, 2000) + "\n```" }

// sendFile is the tool with which the bridge sends files to the chat.
const sendFile = "mcp__magpie__send_file"

func sendChart(v *view, l language) []modelStep {
	sent, asked := v.used(sendFile)
	switch {
	case !asked:
		return then(l.pick("图在项目里，我发给你。\n\n", "The chart is in the project. I'll send it to you.\n\n"), sendFile,
			object{"path": "prices.png", "caption": l.pick("买得越多，每张越便宜", "The more you buy, the less each ticket costs")})
	case sent.failed:
		return words(l.pick("没有发出去：", "It could not be sent: ") + sent.result)
	}
	return words(l.pick("图发好了：满 10 张开始打八折，所以第 10 张那里有一个台阶。",
		"Here it is: from ten tickets on, each costs a fifth less, hence the step at ten."))
}

// quotedAnswer matches the answers in the CLI's message about a form: "question"="answer".
var quotedAnswer = regexp.MustCompile(`"([^"]+)"="([^"]*)"`)

func askForm(v *view, l language) []modelStep {
	asked, ok := v.used(askTool)
	if !ok {
		return then(l.pick("改票价之前，我想先问两件事。\n\n", "Two questions before I change the prices.\n\n"),
			askTool, questions(l))
	}
	answers := quotedAnswer.FindAllStringSubmatch(asked.result, -1)
	if asked.failed || len(answers) == 0 {
		return words(l.pick("好的，那就先不定。", "All right, let's leave that open."))
	}
	var b strings.Builder
	b.WriteString(l.pick("记下了，你的回答是：\n\n", "Noted. Your answers:\n\n"))
	for _, a := range answers {
		fmt.Fprintf(&b, "- %s **%s**\n", a[1], a[2])
	}
	return words(b.String())
}

func questions(l language) object {
	option := func(label, about string) object { return object{"label": label, "description": about} }
	return object{"questions": []object{
		{"question": l.pick("满多少张打折？", "How many tickets does it take to get a discount?"),
			"header": l.pick("折扣", "Discount"), "multiSelect": false, "options": []object{
				option(l.pick("10 张", "10"), l.pick("和现在一样", "As it is now")),
				option(l.pick("20 张", "20"), l.pick("少打一点折", "Fewer discounts"))}},
		{"question": l.pick("还有谁可以打折？", "Who else should get one?"), "header": l.pick("对象", "People"),
			"multiSelect": true, "options": []object{
				option(l.pick("学生", "Students"), l.pick("凭学生证", "With a student card")),
				option(l.pick("老人", "Seniors"), l.pick("65 岁以上", "65 and over")),
				option(l.pick("孩子", "Children"), l.pick("12 岁以下", "Under 12"))}},
	}}
}

func makePlan(v *view, l language) []modelStep {
	plan, ok := v.used("ExitPlanMode")
	_, planning := v.used("EnterPlanMode")
	_, looked := v.used("ToolSearch")
	switch {
	case !looked: // the CLI describes these tools only on request, since 2.1.330
		return then(l.pick("这件事不小，我先写个计划。\n\n", "This is a bigger change, so I'll write a plan first.\n\n"), "ToolSearch",
			object{"query": "select:EnterPlanMode,ExitPlanMode", "max_results": 2})
	case !planning:
		return []modelStep{{tool: "EnterPlanMode", input: object{}}}
	case !ok:
		return then(l.pick("计划写好了。\n\n", "Here is the plan.\n\n"), "ExitPlanMode", object{"plan": l.pick(
			"## 给学生票打折\n\n1. `price.sh` 加一个参数：票的种类\n2. 学生票打五折，和满 10 张的折扣不叠加\n3. `test.sh` 加三个用例\n4. 跑一遍测试",
			"## A discount for students\n\n1. Give `price.sh` a parameter for the kind of ticket\n"+
				"2. Students pay half, not combined with the discount for ten\n3. Add three cases to `test.sh`\n4. Run the test")})
	case plan.failed:
		return words(l.pick("好的，先不动手。", "All right, I won't start yet."))
	}
	return words(l.pick("计划批准了。演示到此为止：真实的 Claude 现在会照着做，每一步该问的还会问。",
		"The plan is approved. The demo ends here; the real Claude would now carry it out, and still ask where it has to."))
}

// firstWords quotes the person's first message, and where in the request it is.
func firstWords(v *view, l language) []modelStep {
	i := slices.IndexFunc(v.known, func(s historyMessage) bool { return s.user && !s.aside })
	if i < 0 {
		return words(l.pick("这就是你的第一句话：这次请求里没有更早的内容。",
			"That was the first thing: this request holds nothing earlier."))
	}
	first, where := v.known[i], ""
	switch {
	case slices.Contains(v.session, first):
		where = fmt.Sprintf(l.pick("它还在 Claude 的会话里：这次请求带着会话的 %s。",
			"Claude's session still has it: this request came with %s from the session."), messages(len(v.session), l))
	case slices.Contains(v.history, first):
		where = fmt.Sprintf(l.pick("Claude 的会话里已经没有它了，但鹊桥把历史放进了这次请求：一共 %s，我是从那里读到的。",
			"Claude's session no longer has it, but Magpie put the history into this request, %s in all. "+
				"That is where I read it."),
			messages(len(v.history), l))
	default:
		where = l.pick("它在鹊桥早些时候补给这个会话的历史里。", "It is in the history that Magpie gave this session earlier.")
	}
	return words(fmt.Sprintf(l.pick("你最先说的是：**%s**\n\n", "The first thing you said: **%s**\n\n"),
		shorten(plainText(first.text), 200)) + where)
}

func messages(n int, l language) string {
	if n == 1 {
		return l.pick("1 条消息", "1 message")
	}
	return strconv.Itoa(n) + l.pick(" 条消息", " messages")
}

func tellStory(_ *view, l language) []modelStep {
	a := aloud(story(l), l)
	a.slow = true
	return []modelStep{a}
}

// aloud writes a text in small pieces, so that there is time to interrupt it, about fifteen seconds for a story.
func aloud(text string, l language) modelStep {
	if l == chinese {
		return modelStep{words: text, piece: 1}
	}
	return modelStep{words: text, piece: 4}
}

// carryOn continues what was asked before: the rest of a story, from the last part in the request, otherwise the
// interrupted scene.
func carryOn(v *view, l language) []modelStep {
	told, before := "", ""
	for _, s := range slices.Backward(v.known) {
		if s.user && sceneOf(s.text) != nil {
			before = s.text
			break
		} else if !s.user {
			told = s.text + told
		}
	}
	for _, l := range []language{chinese, english} {
		if n := overlap(story(l), told); n > 0 && n < len(story(l)) {
			return []modelStep{aloud(story(l)[n:], l)}
		}
	}
	if s := sceneOf(before); s != nil {
		return s(v, languageOf(before))
	}
	return words(l.pick("没有可以接着做的事。", "There is nothing to continue."))
}

// sceneOf is the scene that a question requests, except for continuing; nil = none.
func sceneOf(question string) func(*view, language) []modelStep {
	first, _, _ := strings.Cut(plainText(question), "\n")
	for _, s := range scenes {
		if s.asked.MatchString(first) {
			return s.next
		}
	}
	return nil
}

// onward matches a request to continue; the bridge explains it in further lines.
var onward = regexp.MustCompile(`(?i)^(继续|接着(说|讲|做)?|continue|go on)[。.!！]?(\n|$)`)

// overlap is how many bytes of full were already told: up to the last runes of told that occur in it. It searches for
// twenty runes, or fewer if little was told yet, after something else.
func overlap(full, told string) int {
	whole := []rune(strings.TrimSpace(strings.TrimRight(strings.TrimSpace(told), "…▌")))
	for n := min(20, len(whole)); n > 0 && n >= min(8, len(whole)); n-- {
		tail := string(whole[len(whole)-n:])
		if i := strings.LastIndex(full, tail); i >= 0 {
			return i + len(tail)
		}
	}
	return 0
}

// attached is the line under which the bridge lists the files of a question, with their paths.
var (
	attached = regexp.MustCompile(`(?m)^(?:附件：|Attachments:)\n((?:- .+\n?)+)`)
	filePath = regexp.MustCompile(`(?m)^- \[(?:文件 )?([^\]]*)\] (/.+)$`)
)

// lookAtFiles reports what came with the question, and reads the first file that is not a picture.
func lookAtFiles(v *view, l language) []modelStep {
	var b strings.Builder
	for i, p := range v.pictures {
		fmt.Fprintf(&b, l.pick("- 图片 %d：`%s`，我真的收到了\n", "- Picture %d: `%s`, which really reached me\n"), i+1, p)
	}
	paths := filePath.FindAllStringSubmatch(v.question, -1)
	read, ok := v.used("Read")
	switch {
	case len(v.pictures) == 0 && len(paths) > 0 && !ok:
		return then(l.pick("我看看这个文件。\n\n", "Let me read the file.\n\n"), "Read", object{"file_path": paths[0][2]})
	case ok && read.failed:
		b.WriteString(l.pick("这个文件我没能读出来：", "I could not read the file: ") + shorten(read.result, 300))
	case ok:
		name := l.pick("文件", "the file")
		if len(paths) > 0 {
			name = "`" + paths[0][1] + "`"
		}
		fmt.Fprintf(&b, l.pick("%s 的开头是：\n\n", "This is how %s begins:\n\n"), name)
		b.WriteString(fenced(shorten(read.result, 400)))
	}
	return words(strings.TrimSpace(b.String()))
}

// story is told slowly, so that there is time to interrupt it.
func story(l language) string { return l.pick(storyZh, storyEn) }

// Story is the whole story of the playground, in a page's language.
func Story(lang string) string {
	if strings.HasPrefix(lang, "zh") {
		return storyZh
	}
	return storyEn
}

const storyZh = "## 鹊桥\n\n" +
	"很久以前，织女在天河的东边织云，牛郎在天河的西边放牛。河水又宽又急，一年只有七月初七这一天，他们才能见上一面。\n\n" +
	"可是河上没有桥。喜鹊们商量了很久，最后决定：**我们自己来当桥**。每年这一天，成千上万只喜鹊飞到天河上，一只挨着一只，头顶着尾，尾连着头。\n\n" +
	"走到一半的时候，忽然起了大风。有的喜鹊被吹散了，桥断了一截。织女停下来，站在最后一只喜鹊的背上，回头看不见来路，往前看不见去路。\n\n" +
	"这时，一只小喜鹊说：*我记得每一个站过的位置。* 它飞回去，把散开的同伴一只一只叫回来，从断掉的地方接着搭。织女脚下的那一只，一动也没有动。\n\n" +
	"桥又接上了。织女走过去的时候，牛郎只觉得她比去年走得慢了一点，别的什么也没有发现。\n\n" +
	"后来人们说：好的桥不是不会断，而是**断了以后，过桥的人不知道**。\n\n（故事讲完了。）"

const storyEn = "## The bridge of magpies\n\n" +
	"Long ago a weaver lived on one bank of the Silver River and a herdsman on the other. The water was wide and wild, and only " +
	"on the seventh day of the seventh month could they meet.\n\n" +
	"But there was no bridge. The magpies talked it over and decided: **we will be the bridge ourselves.** Every year on that day " +
	"thousands of them flew up to the river and stood wing to wing.\n\n" +
	"Once, when the weaver was halfway across, a storm came up. Some magpies were blown away, and a piece of the bridge was gone. " +
	"She stopped on the back of the last bird, with no way on and no way back.\n\n" +
	"Then a small magpie said: *I remember every place where one of us stood.* It called the others back one by one, and they went " +
	"on from where the bridge had broken. The bird below her feet never moved.\n\n" +
	"The bridge was whole again. When she arrived, the herdsman noticed only that she had walked a little slower than last year.\n\n" +
	"A good bridge, people say since then, is not one that never breaks, but one where **you do not notice that it did.**\n\n" +
	"(The end.)"
