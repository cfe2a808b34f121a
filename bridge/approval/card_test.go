package approval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func askingFor(tool, input string) db.Approval {
	now := time.UnixMilli(1000)
	return db.Approval{
		ID: "3f0b5a52-7f3c-4d52-9a52-4b1c1a1a1a1a", Turn: 7, Tool: tool, Input: json.RawMessage(input), Project: "/p",
		Created: now, Expires: now.Add(30 * time.Minute), Settlement: db.Settlement{State: convo.Waiting},
	}
}

func actionNames(buttons []chat.Button) (list []string) {
	for _, b := range buttons {
		list = append(list, b.Action.Do)
	}
	return list
}

func TestACardShowsExactlyWhatIsAsked(t *testing.T) {
	a := askingFor("Bash", `{"command":"echo '`+"```"+`' \u202e\u200b\u001b[8m# x","description":"两\n行"}`)
	a.Always = &db.Permit{Tool: "Bash", Kind: prefixRule, Content: "git `push`"}
	c := Card(a, i18n.Chinese)
	want := "````bash\necho '```' ⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[8m# x\n````\n"
	if c.Title != "助手想运行命令" || c.State != chat.CardNeedsYou || c.Status != "" || c.Body != want {
		t.Errorf("title %q, body %q", c.Title, c.Body)
	}
	said := []chat.Panel{{Title: "助手的说明", Body: "两 行", Last: true}}
	if !reflect.DeepEqual(c.Panels, said) || c.Form != nil {
		t.Errorf("panels %+v, form %+v", c.Panels, c.Form)
	}
	if c.Footer != "30 分钟内有效。“总是允许”仅限本聊天、本项目里的单条命令（以 `git 'push'` 开头，只带常用选项）。" {
		t.Errorf("footer %q", c.Footer)
	}
	if got := actionNames(c.Buttons); !reflect.DeepEqual(got, []string{DoAllow, DoAlways, DoRefuse, DoExplain}) {
		t.Errorf("buttons %v", got)
	}
	explains := ExplainCard(a, i18n.Chinese)
	if got := actionNames(explains.Buttons); !reflect.DeepEqual(got, []string{DoAllow, DoAlways, DoRefuse}) ||
		!reflect.DeepEqual(actionNames(explains.Form.Buttons), []string{DoRefuse}) || explains.Form.Fields[0].Name != whyField {
		t.Errorf("with a field for the reason: buttons %v, form %+v", got, explains.Form)
	}
	if explains.Buttons, explains.Form = c.Buttons, nil; !reflect.DeepEqual(explains, c) {
		t.Errorf("with a field for the reason it says %+v", explains)
	}
	for _, b := range append(c.Buttons, ExplainCard(a, i18n.Chinese).Form.Buttons...) {
		if b.Primary != (b.Action.Do == DoAllow) || b.Quiet != (b.Action.Do == DoExplain) {
			t.Errorf("button %+v", b)
		}
		if b.Action.Turn != 7 || b.Action.ID != a.ID+"."+a.Hash()[:16] {
			t.Errorf("button %+v", b)
		}
	}
	if c.Live || c.Summary != "助手想运行命令 echo '```' ⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[8m# x" {
		t.Errorf("summary %q", c.Summary)
	}
	a.Always = nil
	if got := actionNames(Card(a, i18n.English).Buttons); !reflect.DeepEqual(got, []string{DoAllow, DoRefuse, DoExplain}) {
		t.Errorf("without always: %v", got)
	}
}

func TestTheNameOfWhoDecidedIsNoMarkup(t *testing.T) {
	const name = "[点此](https://evil.example)"
	a := askingFor("Bash", `{"command": "make"}`)
	a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_x", Name: name}}
	if got := Card(a, i18n.Chinese).Status; got != "✅ `"+name+"` 已允许" {
		t.Errorf("an approval says %q", got)
	}
}

func TestWhatIsShownOfEachTool(t *testing.T) {
	for _, tc := range []struct{ tool, input, want string }{
		{"Write", `{"file_path":"/p/a/b.txt","content":"x\ny\n"}`,
			"The agent wants to write a file (replacing its contents)\n\n```\na/b.txt\n```\n\n```diff\n+ x\n+ y\n```\n"},
		{"Write", `{"file_path":"/p2/b.txt","content":""}`,
			"The agent wants to write a file (replacing its contents)\n\n```\n/p2/b.txt\n```\n\n```diff\n\n```\n"},
		{"Edit", `{"file_path":"/p/b.txt","old_string":"a\nb","new_string":"c\n","replace_all":true}`,
			"The agent wants to edit a file (replacing every match)\n\n```\nb.txt\n```\n\n```diff\n- a\n- b\n+ c\n+ \n```\n"},
		{"Read", `{"file_path":"/etc/hostname"}`, "The agent wants to read a file\n\n```\n/etc/hostname\n```\n\n"},
		{"WebFetch", `{"url":"https://example.com/?a=b","prompt":"sum it up"}`,
			"The agent wants to open a web page\n\n```\nhttps://example.com/?a=b\n```\n\nThe agent wants to know: sum it up"},
		{"WebSearch", `{"query":"magpies"}`, "The agent wants to search the web\n\n```\nmagpies\n```\n"},
		{"Bash", `{"command":"sleep 9","run_in_background":true}`,
			"The agent wants to run a command in the background\n\n```bash\nsleep 9\n```\n"},
		{"Bash", `{"command":"ls","timeout":5,"dangerouslyDisableSandbox":true}`,
			"The agent wants to run a command\n\n```bash\nls\n```\n\n\n```json\n{\n  \"dangerouslyDisableSandbox\": true\n}\n```\n"},
		{"Read", `{"file_path":"/etc/hostname","Limit":5}`,
			"The agent wants to read a file\n\n```\n/etc/hostname\n```\n\n\n\n```json\n{\n  \"Limit\": 5\n}\n```\n"},
		{claude.PlanTool, `{"plan":"1. x","planFilePath":"/x","allowedPrompts":["a"]}`,
			"The agent has a plan and will start once you approve it\n\n> 1. x\n\n```json\n{\n  \"allowedPrompts\": [\n    \"a\"\n  ]\n}\n```\n"},
		{"mcp__a__b", `{"x":{"y":1}}`, "The agent wants to use the tool b from the MCP server a\n\n```json\n{\n  \"x\": {\n    \"y\": 1\n  }\n}\n```\n"},
		{claude.PlanTool, `{"plan":"1. x"}`, "The agent has a plan and will start once you approve it\n\n> 1. x"},
	} {
		c := Card(askingFor(tc.tool, tc.input), i18n.English)
		if got := c.Title + "\n\n" + c.Body; got != tc.want {
			t.Errorf("%s: %q", tc.tool, got)
		}
	}
}

// A change is shown completely, with its context, so that both texts can be read from it.
func TestAChangeIsShownWhole(t *testing.T) {
	for _, tc := range []struct{ before, after, want string }{
		{"a", "b", "- a\n+ b"}, {"", "a\nb", "+ a\n+ b"}, {"a\nb", "", "- a\n- b"}, {"a", "a", "  a"},
		{"a\nb\nc\n", "a\nB\nc\n", "  a\n- b\n+ B\n  c"}, {"a\na", "a\na\na", "  a\n  a\n+ a"},
		{"a", "a\n", "  a\n+ "}, {"- a\n+ b", "+ b", "- - a\n  + b"},
	} {
		if got := diff(tc.before, tc.after); got != tc.want {
			t.Errorf("%q to %q: %q, want %q", tc.before, tc.after, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "- a", "+ b", "  c", ""}), 1, 6),
			func(l []string) string { return strings.Join(l, "\n") })
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		var was, is []string
		for line := range strings.SplitSeq(diff(before, after), "\n") {
			if mark, text := line[:min(2, len(line))], line[min(2, len(line)):]; mark != "+ " {
				was = append(was, text)
				if mark != "- " {
					is = append(is, text)
				}
			} else {
				is = append(is, text)
			}
		}
		shown := diff(before, after)
		if strings.HasSuffix(before, "\n") && strings.HasSuffix(after, "\n") { // unchanged in this
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		if strings.Join(was, "\n") != before || strings.Join(is, "\n") != after {
			t.Fatalf("%q to %q: %q", before, after, shown)
		}
	})
}

func TestWhatIsTooLongToShow(t *testing.T) {
	long := func(field string, n int) json.RawMessage {
		return json.RawMessage(`{"` + field + `":"` + strings.Repeat("x", n) + `"}`)
	}
	for _, tc := range []struct {
		tool  string
		input json.RawMessage
		shown bool
	}{
		{"Bash", long("command", 59_000), true}, {"Bash", long("command", 61_000), false},
		{"mcp__a__b", long("x", 61_000), false},
		{"Bash", json.RawMessage(`{"command":"x","description":"` + strings.Repeat("x", 61_000) + `"}`), false},
		{"Write", long("content", 59_000), true}, {"Write", long("content", 61_000), false},
		{"Edit", long("old_string", 61_000), false},
		{"Edit", long("new_string", 59_000), true}, {"NotebookEdit", long("new_source", 61_000), false},
		{"WebFetch", long("prompt", 61_000), false},
		{claude.PlanTool, long("plan", 50_000), true}, {claude.PlanTool, long("plan", 61_000), false},
		{"Bash", json.RawMessage(`[]`), false},
		{"Write", json.RawMessage(`{"content":"` + strings.Repeat(`\u202e`, 6_000) + `"}`), false}, // longer if escaped
		{"Bash", json.RawMessage(`{"command":"rm x","Command":"ls"}`), false},
		{"Edit", json.RawMessage(`{"file_path":"a","FILE_PATH":"b"}`), false},
		{"mcp__a__b", json.RawMessage(`{"query":{"a":1},"Query":2}`), true}, // all of it is shown
		{claude.QuestionTool, json.RawMessage(`{"questions":[],"Questions":[{"question":"a"}]}`), false},
		{claude.QuestionTool, json.RawMessage(`{"questions":[]}`), false},
		{claude.QuestionTool, json.RawMessage(`{"questions":[{"question":"a"},{"question":"a"}]}`), false},
		{claude.QuestionTool, json.RawMessage(`{"questions":[{"question":"a"}]}`), true},
	} {
		if got := DisplayProblem(tc.tool, tc.input); (got == "") != tc.shown {
			t.Errorf("%s with %d bytes: %q", tc.tool, len(tc.input), got)
		}
	}
	whole := strings.Repeat("字", 5_000) + "\n" + strings.Repeat("x\n", 9_000)
	for tool, input := range map[string]map[string]string{
		"Write": {"content": whole}, "Edit": {"old_string": "y", "new_string": whole},
		"mcp__a__b": {"x": strings.ReplaceAll(whole, "\n", "")},
	} {
		data, err := json.Marshal(input)
		must(t, err)
		_, body := requestText(askingFor(tool, string(data)), i18n.Chinese)
		if strings.Count(body, "字") != 5_000 || strings.Count(body, "x") < 9_000 {
			t.Errorf("%s: %d bytes are shown", tool, len(body))
		}
	}
}

func TestOutcomesOfAnApproval(t *testing.T) {
	by := chat.Actor{ID: "ou_1", Name: "小明"}
	for _, tc := range []struct {
		tool string
		s    db.Settlement
		want string
	}{
		{"Bash", db.Settlement{State: convo.Allowed, By: by}, "✅ 小明 已允许"},
		{"Bash", db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}}, "✅ 有人 已允许"},
		{"Bash", db.Settlement{State: convo.Denied, By: by, Words: "先\n测试"}, "🚫 小明 已拒绝，没有执行 · 说明：先\n测试"},
		{"Bash", db.Settlement{State: convo.Expired}, "⌛ 超时无人处理，没有执行"},
		{"Bash", db.Settlement{State: convo.Withdrawn}, "⏹ 回答已结束，没有执行"},
		{claude.PlanTool, db.Settlement{State: convo.Allowed, By: by}, "✅ 小明 已批准计划"},
		{claude.PlanTool, db.Settlement{State: convo.Denied, By: by}, "✏️ 小明 要求继续规划"},
		{claude.QuestionTool, db.Settlement{State: convo.Allowed, By: by, Words: "蓝"}, "✅ 小明 已回答 · 蓝"},
		{claude.QuestionTool, db.Settlement{State: convo.Denied, By: by}, "🚫 小明 跳过了问题"},
	} {
		a := askingFor(tc.tool, `{"command":"x","plan":"x","questions":[{"question":"a"}]}`)
		a.Settlement = tc.s
		c := Card(a, i18n.Chinese)
		if c.Status != tc.want || c.Form != nil || len(c.Buttons) != 0 || c.Footer != "" || c.Body == "" {
			t.Errorf("%s %s: %+v", tc.tool, tc.s.State, c)
		}
	}
}

func TestAnswersToQuestions(t *testing.T) {
	input := json.RawMessage(`{"questions":[
		{"question":"One?","header":"A","options":[{"label":"x, y"},{"label":"z"}],"multiSelect":false},
		{"question":"Many?","header":"B","options":[{"label":"S"},{"label":"L"}],"multiSelect":true}],"metadata":{"n":1e3}}`)
	for name, tc := range map[string]struct {
		values  map[string][]string
		want    map[string]string
		missing string
		wrong   bool
	}{
		"chosen": {values: map[string][]string{"choice_0": {"0"}, "choice_1": {"1", "0", "1"}},
			want: map[string]string{"One?": "x, y", "Many?": "L, S"}},
		"own words": {values: map[string][]string{"words_0": {" 别的 "}, "choice_1": {"1"}, "words_1": {"XL"}},
			want: map[string]string{"One?": "别的", "Many?": "L, XL"}},
		"missing":        {values: map[string][]string{"choice_0": {"0"}, "words_1": {"  "}}, missing: "Many?"},
		"nothing":        {missing: "One?"},
		"no such option": {values: map[string][]string{"choice_0": {"2"}}, wrong: true},
		"negative":       {values: map[string][]string{"choice_0": {"-1"}}, wrong: true},
		"a label":        {values: map[string][]string{"choice_0": {"z"}}, wrong: true},
		"two of one":     {values: map[string][]string{"choice_0": {"0", "1"}}, wrong: true},
	} {
		a, objection, err := answersOf(askingFor(claude.QuestionTool, string(input)), tc.values, i18n.English)
		if !strings.HasSuffix(objection, tc.missing) || (objection == "") != (tc.missing == "") || (err != nil) != tc.wrong {
			t.Errorf("%s: objection %q, %v", name, objection, err)
		}
		if tc.want == nil {
			continue
		}
		var got struct {
			Questions json.RawMessage
			Metadata  json.RawMessage
			Answers   map[string]string
		}
		if err := json.Unmarshal(a.input, &got); err != nil || !reflect.DeepEqual(got.Answers, tc.want) ||
			string(got.Metadata) != `{"n":1e3}` || len(got.Questions) == 0 {
			t.Errorf("%s: %s, %v", name, a.input, err)
		}
	}
}

// optionsOf are the buttons of a question's card that choose an option.
func optionsOf(input string) (labels []string, c chat.Card) {
	c = Card(askingFor(claude.QuestionTool, input), i18n.English)
	for _, b := range c.Buttons {
		if b.Action.Do == DoChoose {
			labels = append(labels, b.Label)
		}
	}
	return labels, c
}

// One question with a few short options is answered by a button, or in other words below it; others have a form.
func TestAnOptionIsAButton(t *testing.T) {
	for name, tc := range map[string]struct {
		questions string
		want      []string
	}{
		"one of two": {`{"question":"Which?","options":[{"label":"Red","description":"warm"},{"label":"Blue"}]}`,
			[]string{"Red", "Blue"}},
		"in Chinese":  {`{"question":"哪个？","options":[{"label":"先修好测试，再发布新的版本号"}]}`, []string{"先修好测试，再发布新的版本号"}},
		"several":     {`{"question":"Which?","multiSelect":true,"options":[{"label":"Red"},{"label":"Blue"}]}`, nil},
		"no options":  {`{"question":"Which?","options":[]}`, nil},
		"a long one":  {`{"question":"Which?","options":[{"label":"Red"},{"label":"The one that we have always taken so far"}]}`, nil},
		"without any": {`{"question":"Which?","options":[{"label":"Red"},{"label":" "}]}`, nil},
		"markup":      {`{"question":"Which?","options":[{"label":"**Red**"}]}`, nil},
		"hidden":      {`{"question":"Which?","options":[{"label":"Red\u200b"}]}`, nil},
		"two questions": {`{"question":"Which?","options":[{"label":"Red"}]},{"question":"And?","options":[{"label":"Blue"}]}`,
			nil},
	} {
		got, c := optionsOf(`{"questions":[` + tc.questions + `]}`)
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: buttons %q", name, got)
		}
		if actionNames(c.Buttons)[len(got)] != DoRefuse || c.Form == nil || c.Form.Last != (tc.want != nil) {
			t.Errorf("%s: buttons %v, form %+v", name, actionNames(c.Buttons), c.Form)
		}
		if fields := c.Form.Fields; tc.want != nil && (len(fields) != 1 || fields[0].Name != freeTextField(0)) {
			t.Errorf("%s: fields %+v", name, fields)
		}
	}
	_, c := optionsOf(`{"questions":[{"question":"Which?","options":[{"label":"Red","description":"warm"},{"label":"Blue"}]}]}`)
	if c.Body != "Which?\n- Red — warm" {
		t.Errorf("it says %q", c.Body)
	}
}

// As with a command, the field for what to change in a plan comes on request.
func TestAPlanHasNoFieldUntilItIsAskedFor(t *testing.T) {
	a := askingFor(claude.PlanTool, `{"plan":"1. x"}`)
	c := Card(a, i18n.English)
	if got := actionNames(c.Buttons); c.Form != nil || !reflect.DeepEqual(got, []string{DoAllow, DoRefuse, DoExplain}) {
		t.Fatalf("buttons %v, form %+v", got, c.Form)
	}
	explains := ExplainCard(a, i18n.English)
	if got := actionNames(explains.Buttons); !reflect.DeepEqual(got, []string{DoAllow, DoRefuse}) || explains.Form == nil ||
		explains.Form.Fields[0].Label != "What to change" || !reflect.DeepEqual(actionNames(explains.Form.Buttons), []string{DoRefuse}) {
		t.Errorf("buttons %v, form %+v", got, explains.Form)
	}
}

// A press of an option's button decides as the form would, and only about a question.
func TestAnOptionAnswersAsTheFormDoes(t *testing.T) {
	a := askingFor(claude.QuestionTool, `{"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]}]}`)
	chosen := Card(a, i18n.English).Buttons[1].Action
	byButton := withOption(chat.Press{Actor: asker, Action: chosen})
	if byButton.Action.ID != ActionID(a) {
		t.Errorf("it is about %q", byButton.Action.ID)
	}
	submitted := chat.Press{Actor: asker, Action: chat.Action{Do: DoAllow}, Values: map[string][]string{"choice_0": {"1"}}}
	want := Decide(a, submitted, i18n.English)
	if got := Decide(a, byButton, i18n.English); !reflect.DeepEqual(got, want) || got.Settlement.Words != "Blue" {
		t.Errorf("decided %+v, want %+v", got, want)
	}
	for _, forged := range []string{".2", ".-1", ".x", ".", ""} {
		p := withOption(chat.Press{Actor: asker, Action: chat.Action{Do: DoChoose, ID: ActionID(a) + forged}})
		if got := Decide(a, p, i18n.English); got.Objection != i18n.ApprovalOver.EN {
			t.Errorf("%q decides %+v", forged, got)
		}
	}
	command := askingFor("Bash", `{"command":"make"}`)
	for _, do := range []string{DoChoose, DoExplain} {
		p := withOption(chat.Press{Actor: asker, Action: chat.Action{Do: do, ID: ActionID(command) + ".0"}})
		if got := Decide(command, p, i18n.English); got.Objection != i18n.ApprovalOver.EN {
			t.Errorf("%s decides about a command: %+v", do, got)
		}
	}
}

// What nobody has decided is said of questions and plans in their own words: they are not run, and need no permission.
func TestWhatNobodyHasDecided(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tool  string
		state convo.Verdict
		says  i18n.Phrase
		agent string // empty = not told
	}{
		{"Bash", convo.Expired, i18n.ApprovalWasExpired, "needs a permission"},
		{claude.PlanTool, convo.Expired, i18n.PlanWasExpired, "Nobody has approved the plan"},
		{claude.QuestionTool, convo.Expired, i18n.QuestionWasExpired, "Nobody has answered"},
		{"Bash", convo.Withdrawn, i18n.ApprovalWasWithdrawn, ""},
		{claude.QuestionTool, convo.Withdrawn, i18n.QuestionWasWithdrawn, ""},
	} {
		a := db.Approval{Tool: tc.tool, Settlement: db.Settlement{State: tc.state}}
		if got := OutcomeLine(a, i18n.English); got != tc.says.EN {
			t.Errorf("%s %s: the card says %q", tc.tool, tc.state, got)
		}
		if got := undecidedText(tc.tool); !strings.Contains(got, tc.agent) {
			t.Errorf("%s: the agent reads %q", tc.tool, got)
		}
	}
}
