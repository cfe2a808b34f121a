package modelsim

import (
	"encoding/base64"
	"strings"
	"testing"
)

// demo plays one request of a conversation with a model that shows the scenes. tools are offered in addition to Bash.
func demo(t *testing.T, messages []object, tools ...string) *answer {
	t.Helper()
	offered := []object{{"name": "Bash"}}
	for _, name := range tools {
		offered = append(offered, object{"name": name})
	}
	return answerOf(t, brain{demo: true}, request(t, messages, object{"tools": offered}))
}

// called is the tool that an answer calls, with its input; saying is its text.
func called(a *answer) (name, input string) {
	for i := range a.blocks {
		if a.blocks[i].kind == "tool_use" {
			name, input = a.blocks[i].name, a.blocks[i].text.String()
		}
	}
	return name, input
}

func saying(a *answer) (text string) {
	for i := range a.blocks {
		if a.blocks[i].kind == "text" {
			text += a.blocks[i].text.String()
		}
	}
	return text
}

// usedTool is what the CLI sends about a call and its result.
func usedTool(id, name, result string, failed bool) []object {
	return []object{
		msg("assistant", []object{{"type": "tool_use", "id": id, "name": name, "input": object{}}}),
		msg("user", []object{{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}}),
	}
}

// withHistory is a prompt with a history in front of the question.
func withHistory(history, question string) string {
	return historyHead + history + "---\n# 当前问题\n\n" + question
}

func talk(question string, parts ...[]object) []object {
	list := []object{msg("user", question)}
	for _, p := range parts {
		list = append(list, p...)
	}
	return list
}

func TestTheTestIsFixedStepByStep(t *testing.T) {
	tools := []string{"Read", "Edit"}
	wrong := usedTool("b", "Read", "4\t"+wrongLine, false)
	edited, passed := usedTool("c", "Edit", "updated", false), usedTool("d", "Bash", "ok 10 tickets: 240", false)
	for name, tc := range map[string]struct {
		talk        []object
		tool, input string
		says        string
	}{
		"it reads first":         {talk("测试为什么不通过？"), "Read", "price.sh", "先看看"},
		"in English":             {talk("Why does the test fail?"), "Read", "price.sh", "Let me read"},
		"it edits what is wrong": {talk("测试为什么不通过？", wrong), "Edit", `-ge 10`, "正好 10 张"},
		"what is right it leaves": {
			talk("fix the test", usedTool("b", "Read", rightLine, false)), "Bash", "sh test.sh", "test again"},
		"a refused edit":    {talk("测试为什么不通过？", wrong, usedTool("c", "Edit", "denied", true)), "", "", "没有动"},
		"it runs the test":  {talk("测试为什么不通过？", wrong, edited), "Bash", "sh test.sh", "再跑一遍"},
		"it tells the end":  {talk("测试为什么不通过？", wrong, edited, passed), "", "", "ok 10 tickets: 240"},
		"a foreign project": {talk("fix the test", usedTool("b", "Read", "no such file", true)), "", "", "sample project"},
	} {
		t.Run(name, func(t *testing.T) {
			a := demo(t, tc.talk, tools...)
			if tool, input := called(a); tool != tc.tool || !strings.Contains(input, tc.input) {
				t.Errorf("calls %s %s", tool, input)
			}
			if got := saying(a); !strings.Contains(got, tc.says) {
				t.Errorf("says %q", got)
			}
		})
	}
}

// The result of a tool belongs to the call with its id, in whatever order results arrive.
func TestResultsBelongToTheirCalls(t *testing.T) {
	call := func(id string) object {
		return object{"type": "tool_use", "id": id, "name": "Read", "input": object{}}
	}
	result := func(id, text string) object {
		return object{"type": "tool_result", "tool_use_id": id, "content": text}
	}
	a := demo(t, talk("fix the test", []object{
		msg("assistant", []object{call("1"), call("2")}),
		msg("user", []object{result("2", wrongLine), result("1", "the test")}),
	}), "Read", "Edit")
	if tool, _ := called(a); tool != "Edit" {
		t.Errorf("calls %q", tool)
	}
}

func TestFormsPlansAndPicturesAreShown(t *testing.T) {
	tools := []string{"AskUserQuestion", "ToolSearch", "EnterPlanMode", "ExitPlanMode", sendFile}
	looked, planning := usedTool("a", "ToolSearch", "", false), usedTool("b", "EnterPlanMode", "ok", false)
	for name, tc := range map[string]struct {
		talk        []object
		tool, input string
		says        string
	}{
		"chart":      {talk("给我看看价格图"), sendFile, "prices.png", ""},
		"chart sent": {talk("show me the chart", usedTool("a", sendFile, "Sent", false)), "", "", "Here it is"},
		"chart lost": {talk("show me the chart", usedTool("a", sendFile, "no file", true)), "", "", "not be sent: no file"},
		"form":       {talk("问我几个问题"), "AskUserQuestion", "multiSelect", ""},
		"form filled in": {talk("ask me", usedTool("a", "AskUserQuestion", `"How many?"="20", "Who?"="A, B"`, false)),
			"", "", "- How many? **20**\n- Who? **A, B**"},
		"form skipped":      {talk("ask me", usedTool("a", "AskUserQuestion", "refused", true)), "", "", "leave that open"},
		"plan":              {talk("make a plan"), "ToolSearch", "ExitPlanMode", ""},
		"plan begins":       {talk("make a plan", looked), "EnterPlanMode", "", ""},
		"plan is shown":     {talk("make a plan", looked, planning), "ExitPlanMode", "price.sh", ""},
		"plan approved":     {talk("make a plan", looked, planning, usedTool("c", "ExitPlanMode", "ok", false)), "", "", "approved"},
		"plan refused":      {talk("make a plan", looked, planning, usedTool("c", "ExitPlanMode", "no", true)), "", "", "won't start yet"},
		"anything else":     {talk("怎么做红烧肉？"), askTool, "看价格图", "模拟模型"},
		"in English":        {talk("How do I cook rice?"), askTool, "Show the price chart", "simulated model"},
		"a scene is chosen": {talk("怎么做红烧肉？", usedTool("a", askTool, `"想看哪一个？"="看价格图"`, false)), sendFile, "prices.png", ""},
		"its end": {talk("How?", usedTool("a", askTool, `"What would you like to see?"="Show the price chart"`, false),
			usedTool("b", sendFile, "Sent", false)), "", "", "Here it is"},
		"in one's own words": {talk("How?", usedTool("a", askTool, `"What would you like to see?"="make a plan"`, false)), "ToolSearch", "", ""},
		"none is chosen":     {talk("How?", usedTool("a", askTool, "refused", true)), "", "", "What did I say first?"},
	} {
		t.Run(name, func(t *testing.T) {
			a := demo(t, tc.talk, tools...)
			if tool, input := called(a); tool != tc.tool || !strings.Contains(input, tc.input) {
				t.Errorf("calls %s %s", tool, input)
			}
			if got := saying(a); !strings.Contains(got, tc.says) {
				t.Errorf("says %q", got)
			}
		})
	}
	if tool, _ := called(demo(t, talk("How do I cook rice?"))); tool != "" {
		t.Errorf("without the tool it calls %s", tool)
	}
	if got := saying(demo(t, talk("How do I cook rice?"))); !strings.Contains(got, "`Make a plan`") {
		t.Errorf("without the tool: %q", got)
	}
	for _, o := range offers { // the name of an option, as a message, has the same effect
		if sceneOf(o.zh) == nil || sceneOf(o.en) == nil {
			t.Errorf("%s, %s: not a scene", o.zh, o.en)
		}
	}
	if got := saying(demo(t, talk("show me the chart"))); !strings.Contains(got, "no tool "+sendFile) {
		t.Errorf("without the tool: %q", got)
	}
}

// The first message can be answered from the request alone, with its place there.
func TestTheFirstWordsAreInTheRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []object
		want     []string
	}{
		"nothing earlier": {talk("我第一句话说了什么？"), []string{"这就是你的第一句话"}},
		"in the session": {[]object{msg("user", "hello there"), msg("assistant", "hi"), msg("user", "What did I say first?")},
			[]string{"**hello there**", "session still has it", "came with 2 messages from the session"}},
		"one in the history": {[]object{msg("user", withHistory("## [1] 用户:\nhello there\n\n", "What did I say first?"))},
			[]string{"**hello there**", "into this request, 1 message in all"}},
		"two in the history": {[]object{msg("user", withHistory(
			"## [1] 用户:\nhello there\n\n## [2] 助手:\nhi\n\n", "What did I say first?"))},
			[]string{"**hello there**", "into this request, 2 messages in all"}},
		"in the history": {[]object{msg("user", withHistory(
			"## [1] 记忆:\n喜欢茶\n\n## [2] 用户:\n测试为什么不通过\n\n## [3] 助手:\n好\n\n", "我第一句话说了什么？"))},
			[]string{"**测试为什么不通过**", "一共 3 条消息"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := saying(demo(t, tc.messages))
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
		})
	}
}

func TestAStoryGoesOnWhereItBroke(t *testing.T) {
	whole := saying(demo(t, talk("讲个故事")))
	if whole != story(chinese) {
		t.Fatalf("told %q", whole)
	}
	half := string([]rune(whole)[:100])
	note := "继续\n\n（说明：上一次回答因服务中断而没有完成。）"
	got := saying(demo(t, []object{msg("user", withHistory("## [1] 用户:\n讲个故事\n\n## [2] 助手:\n"+half+"\n\n", note))}))
	if half+got != whole {
		t.Errorf("continues with %q", got)
	}
	short := string([]rune(whole)[:19])
	if n := overlap(whole, "something else"+short); whole[:n] != short {
		t.Errorf("after something else, %d bytes count as told", n)
	}
	again := demo(t, []object{msg("user", withHistory("## [1] 用户:\n测试为什么不通过？\n\n", note))}, "Read")
	if tool, _ := called(again); tool != "Read" {
		t.Errorf("an interrupted scene continues with %q, %q", tool, saying(again))
	}
	if got := saying(demo(t, talk("continue"))); !strings.Contains(got, "nothing to continue") {
		t.Errorf("%q", got)
	}
}

func TestAMemoryIsAnAnswer(t *testing.T) {
	for _, tc := range []struct{ memory, question, want string }{
		{"发布日是周五", "发布日是什么时候？", "发布日是周五。"},
		{"The release day is Friday", "What is the release day?", "The release day is Friday."},
		{"喜欢茶", "发布日是什么时候？", "我不知道发布日是什么。"},
	} {
		got := saying(demo(t, []object{msg("user", withHistory("## [1] 记忆:\n"+tc.memory+"\n\n", tc.question))}))
		if got != tc.want {
			t.Errorf("%s: %q", tc.memory, got)
		}
	}
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// The language is that of a person's words, not of the labels around them.
func TestFilesAreAnsweredInThePersonsLanguage(t *testing.T) {
	file := "附件：\n- [文件 a.txt] /files/a.txt"
	for question, want := range map[string]string{
		"What does this say?\n\n" + file: "Let me read the file", "看看\n\n" + file: "我看看这个文件",
	} {
		if got := saying(demo(t, talk(question), "Read")); !strings.Contains(got, want) {
			t.Errorf("%q: %q", question, got)
		}
	}
	before := []object{msg("user", "Hello there"), msg("assistant", "Hi"), msg("user", file)}
	if got := saying(demo(t, before, "Read")); !strings.Contains(got, "Let me read the file") {
		t.Errorf("a file alone: %q", got)
	}
}

// A command or a fact that is named exactly goes before a scene whose words stand in it, too.
func TestWhatIsNamedExactlyComesFirst(t *testing.T) {
	if tool, input := called(demo(t, talk("Run `cat plan.txt` and fix the test"))); tool != "Bash" ||
		!strings.Contains(input, "cat plan.txt") {
		t.Errorf("calls %s %s", tool, input)
	}
	if got := saying(demo(t, talk("Remember: the plan is tea"))); !strings.Contains(got, "I will remember: the plan is tea") {
		t.Errorf("%q", got)
	}
	asked := []object{msg("user", "记住：计划是喝茶"), msg("assistant", "好"), msg("user", "计划是什么？")}
	if got := saying(demo(t, asked, "ToolSearch")); got != "计划是喝茶。" {
		t.Errorf("%q", got)
	}
}

func TestPicturesAndFilesAreLookedAt(t *testing.T) {
	if _, err := base64.StdEncoding.DecodeString(pixel); err != nil {
		t.Fatal(err)
	}
	picture := object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": pixel}}
	got := saying(demo(t, []object{msg("user", []object{picture, text("附件：\n- [图片 1] /files/a.png")})}))
	if !strings.Contains(got, "`image/png 1×1`") {
		t.Errorf("picture: %q", got)
	}
	file := "看看\n\n附件：\n- [文件 a.txt] /files/a.txt"
	if tool, input := called(demo(t, talk(file), "Read")); tool != "Read" || !strings.Contains(input, "/files/a.txt") {
		t.Errorf("file: %s %s", tool, input)
	}
	if got := saying(demo(t, talk(file, usedTool("a", "Read", "第一行", false)), "Read")); !strings.Contains(got, "第一行") ||
		!strings.Contains(got, "`a.txt`") {
		t.Errorf("file: %q", got)
	}
}
