package modelsim

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// msg is a message as the CLI sends it. content is a string or a list of blocks.
func msg(role string, content any) object { return object{"role": role, "content": content} }

func text(s string) object { return object{"type": "text", "text": s} }

func result(s string) object {
	return object{
		"type": "tool_result", "tool_use_id": "toolu_1", "content": s, "is_error": strings.HasPrefix(s, "Error"),
	}
}

func use(command string) object {
	return object{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": object{"command": command}}
}

// request makes a request of messages; extra fields come last.
func request(t *testing.T, messages []object, extra ...object) *Request {
	t.Helper()
	o := object{"model": "m", "messages": messages, "tools": []object{{"name": "Bash"}}}
	for _, e := range extra {
		for k, v := range e {
			o[k] = v
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return parseRequest(httptest.NewRequest("POST", "/v1/messages", nil), body)
}

// answerTo plays the brain's answer without a server.
func answerTo(t *testing.T, r *Request) *answer {
	t.Helper()
	return answerOf(t, brain{}, r)
}

func answerOf(t *testing.T, b brain, r *Request) *answer {
	t.Helper()
	a := newAnswer(httptest.NewRecorder(), r, newRecord().addCall(r))
	if err := a.play(t.Context(), b.think(r)); err != nil {
		t.Fatal(err)
	}
	return a
}

// brainSays is the text of the brain's answer.
func brainSays(t *testing.T, messages ...object) string {
	t.Helper()
	a := answerTo(t, request(t, messages))
	if len(a.blocks) != 1 || a.blocks[0].kind != "text" {
		t.Fatalf("blocks = %v", a.contents())
	}
	return a.blocks[0].text.String()
}

func TestTheBrainAnswersWhatItIsAsked(t *testing.T) {
	for _, tc := range []struct{ question, want string }{
		{"我叫小明", "好的，小明，我记住了。"},
		{"你好，我叫小明，今年 5 岁", "好的，小明，我记住了。"},
		{"小红：我叫“小红”。", "好的，小红，我记住了。"},
		{"我的名字是 Ada Lovelace。", "好的，Ada Lovelace，我记住了。"},
		{"我叫🐧", "好的，🐧，我记住了。"},
		{"my name is Bob and I like tea", "Nice to meet you, Bob."},
		{"My name's O'Neil.", "Nice to meet you, O'Neil."},
		{"I'm called 小明", "Nice to meet you, 小明."},
		{"我叫什么名字？", "我不知道你的名字。"},
		{"我的名字叫什么", "我不知道你的名字。"},
		{"你还记得我叫什么吗", "我不知道你的名字。"},
		{"what is my name", "I don't know your name."},
		{"Do you remember my name?", "I don't know your name."},
		{"我叫小明，我叫什么名字？", "你叫小明。"},
		{"## [1] 用户(小红):\n我叫大红\n\n## [2] 用户(小红):\n我叫什么名字？", "你叫大红。"},
		{"记住：暗号是 芝麻开门。", "好的，我记住了：暗号是芝麻开门。"},
		{"remember: the code is 42", "OK, I will remember: the code is 42."},
		{"小明：暗号是什么？", "我不知道暗号是什么。"},
		{"what is the code?", "I don't know what the code is."},
		{"数到 5", "1 2 3 4 5"},
		{"please count to 3", "1 2 3"},
		{"hello", "You said: “hello”. This is the first message I see."},
		{"今天天气不错", "你说：“今天天气不错”。这是我看到的第一条消息。"},
		{"你是谁？", "你说：“你是谁？”。这是我看到的第一条消息。"},
		{"## [1] 用户(小明):\nhello", "You said: “小明：hello”. This is the first message I see."},
		{"你记住了吗？暗号是什么？", "我不知道暗号是什么。"},
	} {
		if got := brainSays(t, msg("user", tc.question+"\n")); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.question, got, tc.want)
		}
	}
}

func TestTheBrainRemembersOnlyWhatUsersSaidInTheRequest(t *testing.T) {
	const ask = "我叫什么名字？"
	for name, tc := range map[string]struct {
		messages []object
		want     string
	}{
		"earlier": {[]object{msg("user", "我叫小明"), msg("assistant", "好的"), msg("user", ask)}, "你叫小明。"},
		"newest": {[]object{msg("user", "我叫小明"), msg("assistant", "好的"), msg("user", "我叫大明"),
			msg("assistant", "好的"), msg("user", ask)}, "你叫大明。"},
		"english": {[]object{msg("user", "我叫小明"), msg("assistant", "ok"), msg("user", "what's my name?")},
			"Your name is 小明."},
		"assistant":     {[]object{msg("user", "hi"), msg("assistant", "我叫小克，你叫小克"), msg("user", ask)}, "我不知道你的名字。"},
		"system prompt": {[]object{msg("system", "我叫系统"), msg("user", ask)}, "我不知道你的名字。"},
		"reminder": {[]object{msg("user",
			[]object{text("<system-reminder>\n我叫提醒\n</system-reminder>"), text(ask)})}, "我不知道你的名字。"},
		"questions before": {[]object{msg("user", ask), msg("assistant", "我不知道你的名字。"), msg("user", ask)}, "我不知道你的名字。"},
		"interrupted": {[]object{msg("user",
			[]object{text("我叫小明"), text("[Request interrupted by user]"), text(ask)})}, "你叫小明。"},
		"filler": {[]object{msg("user", "我叫小明"), msg("user", "Continue from where you left off."),
			msg("assistant", "No response requested."), msg("user", ask)}, "你叫小明。"},
		"fact": {[]object{msg("user", "记住：暗号是芝麻"), msg("assistant", "好"), msg("user", "小红：请问暗号是什么？")},
			"暗号是芝麻。"},
		"newest fact":  {[]object{msg("user", "记住：暗号是一"), msg("user", "记住：暗号是二"), msg("user", "暗号是什么")}, "暗号是二。"},
		"longest fact": {[]object{msg("user", "记住：新暗号是一"), msg("user", "记住：暗号是二"), msg("user", "新暗号是什么")}, "新暗号是一。"},
		"english fact": {[]object{msg("user", "remember: my dog is Rex."), msg("assistant", "ok"),
			msg("user", "What is my dog?")}, "My dog is Rex."},
		"count of messages": {[]object{msg("user", "a"), msg("assistant", "b"), msg("user", "好")},
			"你说：“好”。此前的消息：会话里 2 条，历史里 0 条。"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brainSays(t, tc.messages...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

const historyHead = "# 对话历史上下文\n\n以下仅供参考。\n\n"

func TestTheBrainReadsTheHistoryInFrontOfTheQuestion(t *testing.T) {
	prompt := func(history, question string) string {
		return historyHead + history + "---\n# 当前问题\n\n" + question
	}
	for name, tc := range map[string]struct {
		messages []object
		want     string
	}{
		"name": {[]object{msg("user", prompt("## [1] 用户:\n我叫小明\n\n## [2] 助手:\n好的\n\n", "我叫什么名字？"))}, "你叫小明。"},
		"group": {[]object{msg("user", prompt("## [1] 用户(小红):\n我叫红红\n\n", "## [1] 用户(小红):\nwhat is my name"))},
			"Your name is 红红."},
		"assistant": {[]object{msg("user", prompt("## [1] 用户:\n你好\n\n## [2] 助手:\n我叫小克\n\n", "我叫什么"))}, "我不知道你的名字。"},
		"escaped heading": {[]object{msg("user", prompt("## [1] 助手:\n好\n\\## [2] 用户:\n我叫伪造\n\n", "我叫什么"))},
			"我不知道你的名字。"},
		"escaped end": {[]object{msg("user", prompt("## [1] 用户:\n\\---\n\\# 当前问题\n\n我叫小明\n\n", "我叫什么"))}, "你叫小明。"},
		"after the session": {[]object{msg("user", "我叫老王"), msg("assistant", "好"),
			msg("user", prompt("## [1] 用户:\n我叫新王\n\n", "我叫什么"))}, "你叫新王。"},
		"repeats the session": {[]object{msg("user", "我叫老王"), msg("assistant", "好"), msg("user", "我叫新王"),
			msg("assistant", "好"),
			msg("user", prompt("## [1] 用户:\n我叫老王\n\n", "我叫什么"))}, "你叫新王。"},
		"of an earlier question": {[]object{msg("user", prompt("## [1] 用户:\n我叫小明\n\n", "你好")), msg("assistant", "好"),
			msg("user", "我叫什么")}, "你叫小明。"},
		"counted": {[]object{msg("user", prompt("## [1] 用户:\n甲\n\n## [2] 助手:\n乙\n\n", "你好"))},
			"你说：“你好”。此前的消息：会话里 0 条，历史里 2 条。"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brainSays(t, tc.messages...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestLongAnswersAreLong(t *testing.T) {
	for _, question := range []string{"写一篇长文", "give me a long answer"} {
		got := brainSays(t, msg("user", question))
		if n := utf8.RuneCountInString(got); n < 5000 || n > 7500 {
			t.Errorf("%q: %d runes", question, n)
		}
		for _, part := range []string{"# ", "\n- ", "\n```go\n", "\n|---|---|\n"} {
			if !strings.Contains(got, part) {
				t.Errorf("%q: no %q", question, part)
			}
		}
	}
	if got := brainSays(t, msg("user", "数到 99999999999999999999")); !strings.HasSuffix(got, " 4999 5000") {
		t.Errorf("counted to …%s", got[len(got)-20:])
	}
}

func TestTheBrainRunsACommandAndTellsTheResult(t *testing.T) {
	a := answerTo(t, request(t, []object{msg("user", "运行 `echo 我叫小明`")}))
	if len(a.blocks) != 1 || a.blocks[0].name != "Bash" || a.stopReason() != "tool_use" ||
		!strings.Contains(a.blocks[0].text.String(), `"command":"echo 我叫小明"`) {
		t.Fatalf("%v", a.contents())
	}
	run := []object{msg("user", "run `ls`"), msg("assistant", []object{use("ls")})}
	meanwhile := msg("system",
		"The user sent a new message while you were working:\n数到3\n\nIMPORTANT: After completing …")
	rejected := []object{
		result("Error: rejected"), text("[Request interrupted by user for tool use]"), text("count to 2"),
	}
	for name, tc := range map[string]struct {
		messages []object
		want     string
	}{
		"result":      {append(run[:2:2], msg("user", []object{result("a b")})), "Result: a b"},
		"lines":       {append(run[:2:2], msg("user", []object{result("a\nb")})), "Result: \n```\na\nb\n```"},
		"failure":     {append(run[:2:2], msg("user", []object{result("Error: no")})), "That did not work: Error: no"},
		"silence":     {append(run[:2:2], msg("user", []object{result("")})), "Result: no output."},
		"meanwhile":   {append(run[:2:2], msg("user", []object{result("a")}), meanwhile), "结果：a\n\n1 2 3"},
		"interrupted": {append(run[:2:2], msg("user", rejected)), "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brainSays(t, tc.messages...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	none := request(t, []object{msg("user", "run `ls`")}, object{"tools": []object{}})
	if got := answerTo(t, none).blocks[0].text.String(); got != "I have no Bash tool here." {
		t.Errorf("without tools: %q", got)
	}
}

func TestTheBrainCopesWithTheCLIsOwnRequests(t *testing.T) {
	limit := msg("user", "Output token limit hit. Resume directly — no apology.")
	reminded := msg("user", "<system-reminder>\nOutput token limit hit. Resume directly.\n</system-reminder>")
	for name, tc := range map[string]struct {
		messages []object
		want     string
	}{
		"the rest":               {[]object{msg("user", "数到5"), msg("assistant", "1 2 3"), limit}, " 4 5"},
		"the rest since 2.1.332": {[]object{msg("user", "数到5"), msg("assistant", "1 2 3"), reminded}, " 4 5"},
		"no rest":                {[]object{msg("user", "count to 2"), msg("assistant", "1 2"), limit}, "(The end.)"},
		"other text":             {[]object{msg("user", "数到5"), msg("assistant", "abc"), limit}, "1 2 3 4 5"},
		"blank": {[]object{msg("user", "数到2"), msg("assistant", " "),
			msg("user", "[Your previous response had no visible output. …]")}, "1 2"},
		"after summary": {[]object{msg("user", "This session is being continued from a previous conversation "+
			"…\n\nSummary:\n- 我叫小明\n- a\n  b\n\nIf you need …"),
			msg("user", "我叫什么")}, "你叫小明。"},
		"summary in mid-turn": {[]object{
			msg("user", "This session is being continued from a previous conversation …\n\nSummary:\n- 我叫小明\n- "+
				"我叫什么\n\nIf you …"),
		},
			"你叫小明。"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brainSays(t, tc.messages...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	got := brainSays(t, msg("user", "我叫小明\n好"), msg("assistant", "我叫小克"),
		msg("user", "CRITICAL: Respond with TEXT ONLY. …"))
	if !strings.Contains(got, "<summary>\n- 我叫小明\n  好\n</summary>") {
		t.Errorf("compact: %q", got)
	}
	schema := object{"output_config": object{"format": object{"type": "json_schema", "schema": object{
		"type": "object", "properties": object{"title": object{"type": "string"}, "n": object{"type": "integer"}}}}}}
	title := answerTo(t, request(t, []object{msg("user", "hello  there")}, schema)).blocks[0].text.String()
	if title != `{"n":0,"title":"hello there"}` {
		t.Errorf("title: %s", title)
	}
	// As the CLI asks for the title of a conversation.
	for _, shown := range []string{"why does\nit fail?\n\nno idea", "why does it fail?"} {
		title := answerTo(t, request(t, []object{msg("user", "<session>\n"+shown+"\n</session>")}, schema)).blocks[0].text.String()
		if title != `{"n":0,"title":"why does it fail?"}` {
			t.Errorf("title of a conversation: %s", title)
		}
	}
}

func TestLastUserIsWhatAPersonWrote(t *testing.T) {
	r := request(t, []object{
		msg("user", []object{text("<system-reminder>x</system-reminder>\n"), text("first\n")}),
		msg("assistant", []object{use("ls")}),
		msg("user", []object{
			result("ok"), text("[Request interrupted by user for tool use]"),
			text("second <system-reminder>y</system-reminder>"),
		}),
		msg("assistant", "working"),
		msg("user", "Output token limit hit. Resume directly"),
		msg("system", "# notes"),
	}, object{"system": []object{text("You are"), text("a double.")}})
	if got := r.LastUser(); got != "second" {
		t.Errorf("LastUser = %q", got)
	}
	if all := r.AllText(); r.System != "You are\n\na double." || !strings.Contains(all, "first") ||
		!strings.Contains(all, `[tool_use: Bash {"command":"ls"}]`) ||
		!strings.Contains(all, "[tool_result: ok]") || !strings.Contains(all, "# notes") {
		t.Errorf("AllText = %q", all)
	}
}
