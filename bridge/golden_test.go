package bridge

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/bridge/approval"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// turnRig is a turn so far: what has happened, and how long each took.
type turnRig struct {
	turncard.State
	now time.Time
}

// storyBegan is when the turn of every story began.
var storyBegan = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func newTurnRig(l i18n.Lang) *turnRig {
	return &turnRig{State: turncard.New(7, l, storyBegan), now: storyBegan}
}

// after lets time pass and then something happen.
func (s *turnRig) after(d time.Duration, events ...claude.Event) *turnRig {
	s.now = s.now.Add(d)
	for _, ev := range events {
		s.State = s.Apply(ev, s.now)
	}
	return s
}

func (s *turnRig) uses(id, tool string, input any) *turnRig {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return s.after(0, claude.ToolUse{ID: id, Name: tool, Input: data})
}

func (s *turnRig) with(change func(turncard.State) turncard.State) *turnRig {
	s.State = change(s.State)
	return s
}

func (s *turnRig) ended(state convo.Phase, notice i18n.Phrase, failure ...string) *turnRig {
	return s.with(func(v turncard.State) turncard.State {
		return v.Finish(turncard.Outcome{State: state, Failure: strings.Join(failure, ""), Notice: notice})
	})
}

func says(text string) claude.Event { return claude.Text{Text: text, Whole: true} }

func gave(id, text string) claude.Event { return claude.ToolResult{ID: id, Text: text} }

func failedWith(id, text string) claude.Event {
	return claude.ToolResult{ID: id, Text: text, Failed: true}
}

// result is how the agent reports an ordinary end.
func result(failure claude.Failure) claude.Event {
	return claude.Result{
		Model: "claude-opus-4-8[1m]", CostUSD: 0.0895, Held: 37_500, Window: 1_000_000, Failure: failure,
		Usage: claude.Usage{Input: 3832, Output: 1112, CacheRead: 30_640, CacheNew: 3063},
	}
}

func told12(t db.ContextReport) func(turncard.State) turncard.State {
	return func(v turncard.State) turncard.State { return v.WithContext(describe(t, v.Lang)) }
}

// input is what a tool is given.
type input map[string]any

const englishAnswer = "The tests pass now. It was a small change:\n\n1. The check in `split.go` missed one case\n2. A test for it is there\n\n" +
	"```go\nfunc end(text string) int {\n\treturn len(text)\n}\n```\n"

const answer = "测试都通过了。改动很小：\n\n1. `split.go` 里的边界判断少了一种情况\n2. 补了一个测试\n\n```go\nfunc end(text string) int {\n\treturn len(text)\n}\n```\n"

// worked is a turn that has read, edited and tested.
func worked(l i18n.Lang) *turnRig {
	return newTurnRig(l).
		after(2*time.Second, claude.Thinking{Text: "The border case is the empty line. I should look at split.go first, then run the tests."}).
		uses("1", "Read", input{"file_path": "/srv/work/magpie/feishu/split.go"}).after(time.Second,
		gave("1", "1\tpackage feishu\n2\t\n3\timport (\n4\t\t\"strings\"\n5\t)")).
		uses("2", "Edit", input{"file_path": "/srv/work/magpie/feishu/split.go",
			"old_string": "func end(text string) int {\n\treturn len(text) - 1\n}",
			"new_string": "func end(text string) int {\n\treturn len(text)\n}"}).
		after(time.Second, gave("2", "The file has been updated.")).
		uses("3", "Bash", input{"command": "go test ./feishu/...", "description": "run the tests"})
}

func toolFailed(l i18n.Lang, answer string) *turnRig {
	return newTurnRig(l).uses("1", "Bash", input{"command": "make"}).after(time.Second,
		failedWith("1", "make: *** No rule to make target 'all'.  Stop.")).after(time.Second, says(answer))
}

func editedTwice(l i18n.Lang) *turnRig {
	return newTurnRig(l).uses("1", "MultiEdit",
		input{"file_path": "a.go", "edits": []input{{"old_string": "a\nb\nc", "new_string": "a\nB\nc"},
			{"old_string": "x", "new_string": ""}}}).after(time.Second, gave("1", "ok"))
}

func stories() map[string]*turnRig {
	many := newTurnRig(i18n.Chinese)
	for i := range 40 {
		id := string(rune('A' + i))
		many.uses(id, []string{"Read", "Grep", "Bash", "Edit", "WebFetch"}[i%5],
			input{"command": "make step", "file_path": "/a/b/c/d.go", "pattern": "x"}).after(time.Second, gave(id, "ok"))
	}
	done := func(s *turnRig, answer string) *turnRig {
		return s.after(12*time.Second, gave("3", "ok  \tmagpie/feishu\t0.512s"), says(answer),
			result("")).with(told12(db.ContextReport{Session: sessionResumed, Messages: 12})).ended(convo.Done, i18n.Phrase{})
	}
	return map[string]*turnRig{
		"01-begun":               newTurnRig(i18n.Chinese),
		"02-begun-en":            newTurnRig(i18n.English),
		"03-waiting-for-a-place": newTurnRig(i18n.Chinese).with(func(v turncard.State) turncard.State { return v.Waiting(2, storyBegan) }).after(30 * time.Second),
		"04-tidying":             newTurnRig(i18n.Chinese).with(func(v turncard.State) turncard.State { return v.Doing(i18n.Compacting, storyBegan) }),
		"05-thinking-12s":        newTurnRig(i18n.Chinese).after(0, claude.Started{}).after(12 * time.Second),
		"06-thinking-aloud": newTurnRig(i18n.Chinese).after(3*time.Second, claude.Thinking{Text: "用户想知道天气。\n"},
			claude.Thinking{Text: "先看看有没有工具。"}).after(5 * time.Second),
		"07-writing": newTurnRig(i18n.Chinese).after(2*time.Second, claude.Text{Text: "好的，"},
			claude.Text{Text: "我来看看"}),
		"08-writing-en": newTurnRig(i18n.English).after(2*time.Second, claude.Text{Text: "Let me have a look"}),
		"09-retrying":   newTurnRig(i18n.Chinese).after(2*time.Second, claude.Retrying{}).after(16 * time.Second),
		"10-compacting": newTurnRig(i18n.Chinese).after(2*time.Second,
			claude.Compacting{}).after(20 * time.Second),
		"11-bash-just-begun": newTurnRig(i18n.Chinese).uses("1", "Bash",
			input{"command": "npm test"}).after(2 * time.Second),
		"47-preparing-a-long-file": newTurnRig(i18n.Chinese).after(time.Second, says("我来写。"),
			claude.ToolCall{ID: "1", Name: "Write"}).after(31 * time.Second),
		"12-bash-12s":     worked(i18n.Chinese).after(12 * time.Second),
		"13-bash-12s-en":  worked(i18n.English).after(12 * time.Second),
		"14-bash-2m":      worked(i18n.Chinese).after(130 * time.Second),
		"15-bash-an-hour": worked(i18n.Chinese).after(time.Hour + 40*time.Second),
		"16-two-tools-at-once": newTurnRig(i18n.Chinese).uses("1", "Read",
			input{"file_path": "/a/b/c/d/e.go"}).uses("2", "Grep", input{"pattern": "TODO"}).after(6*time.Second,
			gave("2", "a.go:1:TODO\nb.go:2:TODO")),
		"17-tool-failed":    toolFailed(i18n.Chinese, "没有这个目标，我换一个。"),
		"79-tool-failed-en": toolFailed(i18n.English, "There is no such target, I'll try another one."),
		"18-tool-denied": newTurnRig(i18n.Chinese).uses("1", "Bash",
			input{"command": "rm -rf build"}).after(time.Second, claude.ToolDenied{ID: "1", Name: "Bash"},
			failedWith("1", approval.RefusalText("Bash", "not now"))),
		"19-edit-as-diff":    editedTwice(i18n.Chinese),
		"80-edit-as-diff-en": editedTwice(i18n.English),
		"20-new-file": newTurnRig(i18n.Chinese).uses("1", "Write",
			input{"file_path": "/srv/x/y/z/notes.md", "content": strings.Repeat("# note\n", 30)}).after(time.Second,
			gave("1", "ok")),
		"21-secrets-are-scrubbed": newTurnRig(i18n.Chinese).after(0,
			claude.Thinking{Text: "The key is sk-ant-api03-AAAAbbbbCCCCddddEEEEffffGGGGhhhhIIIIjjjjKKKKllllMMMM_nnnn-AA"}).
			uses("1", "Bash", input{"command": "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' https://api.example.com"}).
			after(time.Second, gave("1", "password=hunter2hunter2\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")),
		"22-hostile-input": newTurnRig(i18n.Chinese).uses("1", "Bash",
			input{"command": "echo `id` \u202e<at id=all></at>\n**x**"}).after(time.Second,
			gave("1", "```\n<at id=all></at>\n````\n![x](https://x/y.png)")),
		"23-forty-steps": many.after(time.Second, says("完成。")),
		"24-own-tools": newTurnRig(i18n.Chinese).uses("1", "mcp__magpie__remember",
			input{"title": "发布日", "text": "每周二发布"}).after(time.Second, gave("1", "Remembered as number 1.")).
			uses("2", "mcp__magpie__search_history", input{"query": "发布"}).after(6 * time.Second),
		"52-sending-a-file": newTurnRig(i18n.English).uses("1", "mcp__magpie__search_memory",
			input{"query": "the report"}).after(time.Second, gave("1", "Nothing like that was remembered.")).
			uses("2", "mcp__magpie__send_file", input{"path": "out/report.pdf"}).after(6 * time.Second),
		"25-other-mcp-tool": newTurnRig(i18n.English).uses("1", "mcp__github__get_issue",
			input{"owner": "x", "number": 7}).after(6 * time.Second),
		"53-planning": newTurnRig(i18n.Chinese).uses("1", "TodoWrite",
			input{"todos": []input{{"content": "读代码", "status": "completed"}, {"content": "改代码", "status": "in_progress"},
				{"content": "跑测试", "status": "pending"}}}).
			after(time.Second, gave("1", "ok")).uses("2", claude.QuestionTool,
			input{"questions": []input{{"question": "用哪种数据库？"}}}).
			uses("3", claude.PlanTool, input{"plan": "1. 先读\n2. 再改"}).uses("4", "KillShell", input{}).after(6 * time.Second),
		"26-subagent": newTurnRig(i18n.English).uses("1", "Task",
			input{"description": "Survey the code", "prompt": "Read everything.\nThen report."}).after(70 * time.Second),
		"27-waiting-for-you": worked(i18n.Chinese).after(0, claude.ToolAsk{ID: "a"}).after(8 * time.Second),
		"50-waiting-for-you-en": worked(i18n.English).after(0, claude.ToolAsk{ID: "a"}, claude.ToolAsk{ID: "b"},
			claude.ToolAskEnd{ID: "a"}).after(8 * time.Second),
		"30-answered": newTurnRig(i18n.Chinese).uses("1", "Bash",
			input{"command": "rm -rf build"}).after(time.Second, claude.ToolAsk{ID: "a"},
			claude.ToolAllowed{}).after(6 * time.Second),
		"31-done":    done(worked(i18n.Chinese), answer),
		"32-done-en": done(worked(i18n.English), englishAnswer),
		"33-done-restored": newTurnRig(i18n.Chinese).after(4*time.Second, says("你叫小明。"),
			result("")).with(told12(db.ContextReport{Session: sessionBegun, Lost: string(claude.LostMissing),
			Messages: 12})).ended(convo.Done, i18n.Phrase{}),
		"34-done-restored-en": newTurnRig(i18n.English).after(4*time.Second, says("You are Tom."),
			result("")).with(told12(db.ContextReport{Session: sessionBegun, Lost: string(claude.LostMissing),
			Messages: 12})).ended(convo.Done, i18n.Phrase{}),
		"35-done-without-words": newTurnRig(i18n.Chinese).after(4*time.Second, result("")).ended(convo.Done, i18n.Phrase{}),
		"36-stopped":            worked(i18n.Chinese).after(20*time.Second).ended(convo.Cancelled, i18n.Stopped),
		"37-stopped-mid-answer": newTurnRig(i18n.Chinese).after(4*time.Second, says("第一，")).ended(convo.Cancelled,
			i18n.Stopped),
		"38-interrupted": newTurnRig(i18n.Chinese).after(4*time.Second, says("第一，")).ended(convo.Interrupted,
			i18n.Interrupted),
		"81-interrupted-en": newTurnRig(i18n.English).after(4*time.Second, says("One,")).ended(convo.Interrupted,
			i18n.Interrupted),
		"39-interrupted-mute-en": newTurnRig(i18n.English).ended(convo.Interrupted, i18n.Interrupted),
		"40-failed-auth": newTurnRig(i18n.Chinese).after(time.Second, result(claude.FailAuth)).ended(convo.Failed,
			i18n.FailAuth, string(claude.FailAuth)),
		"41-failed-limit": worked(i18n.Chinese).after(40*time.Second, says("先说到这里。"),
			result(claude.FailLimit)).ended(convo.Failed, i18n.FailLimit, string(claude.FailLimit)),
		"42-died": worked(i18n.English).after(40*time.Second).ended(convo.Failed, i18n.FailDied,
			turncard.FailDied),
		"45-failed-too-long": newTurnRig(i18n.English).ended(convo.Failed, i18n.FailTooLong, string(claude.FailTooLong)),
		"46-stopped-at-once": newTurnRig(i18n.Chinese).ended(convo.Cancelled, i18n.Stopped),
		"71-taken-back": newTurnRig(i18n.Chinese).after(4*time.Second, says("第一，")).ended(convo.Cancelled,
			i18n.Recalled, turncard.FailRecalled),
		"72-taken-back-mute-en": newTurnRig(i18n.English).ended(convo.Cancelled, i18n.Recalled, turncard.FailRecalled),
		"43-begun-again":        worked(i18n.Chinese).with(func(v turncard.State) turncard.State { return v.Restarted(time.Now()) }).after(time.Second),
		"44-restarting":         newTurnRig(i18n.Chinese).ended(convo.Queued, i18n.Restarting),
		"73-suggested": newTurnRig(i18n.Chinese).after(4*time.Second, says("测试都通过了。"), result("")).
			with(func(v turncard.State) turncard.State { return v.WithSuggestion("提交这些改动") }).
			ended(convo.Done, i18n.Phrase{}),
		"74-in-the-background-en": newTurnRig(i18n.English).after(4*time.Second, says("The tests are running."), result("")).
			with(turncard.State.WithFollowUp).ended(convo.Done, i18n.Phrase{}),
		"75-background-cut": newTurnRig(i18n.Chinese).ended(convo.Interrupted, i18n.BackgroundCut),
	}
}

// askings are the cards by which people are asked what the agent may do.
func askings() map[string]any {
	of := func(tool, input string, always *db.Permit, become db.Settlement) db.Approval {
		at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
		return db.Approval{
			ID: "a1", Turn: 7, Tool: tool, Input: json.RawMessage(input), Project: "/srv/work/magpie", Always: always,
			Created: at, Expires: at.Add(30 * time.Minute), Settlement: become,
		}
	}
	asked := func(l i18n.Lang, tool, input string, always *db.Permit, become db.Settlement) chat.Card {
		return approval.Card(of(tool, input, always, become), l)
	}
	waits, by := db.Settlement{State: convo.Waiting}, chat.Actor{ID: "ou_1", Name: "小明"}
	const (
		remove   = `{"command":"rm -rf build","description":"Remove what was built"}`
		edit     = `{"file_path":"/srv/work/magpie/feishu/split.go","old_string":"\treturn len(text) - 1","new_string":"\treturn len(text)"}`
		question = `{"questions":[{"question":"删除哪些文件？","header":"范围","multiSelect":true,"options":[{"label":"build/","description":"构建产物"},{"label":"dist/","description":"发布包"}]}]}`
		english  = `{"questions":[{"question":"Which files shall I delete?","header":"Files","multiSelect":true,"options":[{"label":"build/","description":"what was built"},{"label":"dist/","description":"packages"}]}]}`
		single   = `{"questions":[{"question":"用哪种格式？","header":"格式","options":[{"label":"TOML","description":"和现在一样"},{"label":"JSON","description":"更严格"},{"label":"YAML"}]}]}`
		plan     = `{"plan":"1. 读 split.go\n2. 改边界判断\n3. 跑测试"}`
	)
	always := &db.Permit{Tool: "Bash", Kind: "exact", Content: "rm -rf build"}
	answered := db.Settlement{State: convo.Allowed, By: by, Words: "JSON"}
	edited := of("Edit", edit, nil, waits)
	steps := ""
	for n := range 7 { // of tables one card takes three
		steps += fmt.Sprintf("## 第 %d 步\n\n| 文件 | 改动 |\n|---|---|\n| `step%d.go` | 拆开 |\n\n", n+1, n+1)
	}
	long, err := json.Marshal(input{"plan": steps})
	if err != nil {
		panic(err)
	}
	return map[string]any{
		"69-asked-plan-of-several-pages": asked(i18n.Chinese, claude.PlanTool, string(long), nil, waits),
		"28-waiting-with-form":           asked(i18n.Chinese, claude.QuestionTool, question, nil, waits),
		"82-waiting-with-form-en":        asked(i18n.English, claude.QuestionTool, english, nil, waits),
		"83-waiting-with-choice-en":      asked(i18n.English, "Bash", remove, always, waits),
		"29-waiting-with-choice":         asked(i18n.Chinese, "Bash", remove, always, waits),
		"76-waiting-with-options":        asked(i18n.Chinese, claude.QuestionTool, single, nil, waits),
		"77-answered-by-option":          asked(i18n.Chinese, claude.QuestionTool, single, nil, answered),
		"78-asked-for-a-reason-en":       approval.ExplainCard(edited, i18n.English),
		"54-asked-edit-en":               asked(i18n.English, "Edit", edit, nil, waits),
		"55-asked-plan":                  asked(i18n.Chinese, claude.PlanTool, plan, nil, waits),
		"56-allowed": asked(i18n.Chinese, "Bash", remove, always,
			db.Settlement{State: convo.Allowed, By: by}),
		"48-refused-with-why": asked(i18n.Chinese, "Bash", remove, nil,
			db.Settlement{State: convo.Denied, By: by, Words: "先备份"}),
		"49-nobody-decided-en": asked(i18n.English, "Bash", remove, nil, db.Settlement{State: convo.Expired}),
	}
}

// Each card is what the file of its name says: the value that every platform draws.
func TestCards(t *testing.T) {
	t.Parallel()
	cards := replyCards(t)
	maps.Copy(cards, askings())
	cards["51-late"] = heldCard(i18n.Chinese, 3*time.Hour+time.Minute).OfTurn(7)
	cards["67-edited"], cards["68-edited-en"] = editedCard(i18n.Chinese).OfTurn(7), editedCard(i18n.English).OfTurn(7)
	for name, s := range stories() {
		cards[name] = s.Card(s.now)
	}
	checkGoldenNames(t, slices.Sorted(maps.Keys(cards)))
	for name, c := range cards {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "cards", name+".json")
			got := readable(t, c)
			// The chat list and the notification show it as it is.
			if s := summary(c); strings.ContainsAny(s, "*`\n") {
				t.Errorf("the summary %q has more than one line of plain words", s)
			}
			if *update {
				must(t, os.WriteFile(file, got, 0o600))
			}
			want, err := os.ReadFile(file)
			must(t, err)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// summary is that of a card, or of the card of a reply.
func summary(card any) string {
	switch c := card.(type) {
	case chat.Card:
		return c.Summary
	case posted:
		if c.Card != nil {
			return c.Card.Summary
		}
	}
	return ""
}

// checkGoldenNames finds files without a card, and numbers that are given twice.
func checkGoldenNames(t *testing.T, names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "cards", "*"))
	must(t, err)
	for _, file := range files {
		if name, ok := strings.CutSuffix(filepath.Base(file), ".json"); !ok || !slices.Contains(names, name) {
			t.Errorf("no card is like %s", file)
		}
	}
	numbers := map[string]string{}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "-")
		if other, ok := numbers[number]; ok {
			t.Errorf("%s and %s have one number", other, name)
		}
		numbers[number] = name
	}
}

// readable is a card as indented JSON; text of several lines is a list of lines.
func readable(t *testing.T, c any) []byte {
	t.Helper()
	data, err := json.Marshal(c)
	must(t, err)
	var tree any
	must(t, json.Unmarshal(data, &tree))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	must(t, e.Encode(inLines(tree)))
	return out.Bytes()
}

// inLines cuts texts into lines, and leaves out what is empty.
func inLines(node any) any {
	switch n := node.(type) {
	case string:
		if strings.Contains(n, "\n") {
			return strings.Split(n, "\n")
		}
	case []any:
		for i := range n {
			n[i] = inLines(n[i])
		}
	case map[string]any:
		for k, x := range n {
			if x == nil || x == "" || x == false {
				delete(n, k)
				continue
			}
			n[k] = inLines(x)
		}
	}
	return node
}

func BenchmarkCard(b *testing.B) {
	s := worked(i18n.Chinese)
	s.after(0, claude.Thinking{Text: strings.Repeat("I should look at the file first, whose key is token=abcdef0123456789, and then run the tests.\n", 80)})
	s.State = s.WithAnswer(strings.Repeat("Some words in a row.\n\n", 1000))
	for b.Loop() {
		s.Card(s.now)
	}
}
