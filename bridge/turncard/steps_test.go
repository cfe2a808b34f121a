package turncard

import (
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func TestWhatIsShownWhileAToolRuns(t *testing.T) {
	for tool, want := range map[string]string{
		"mcp__magpie__remember": "正在记下…", "mcp__magpie__search_history": "正在查找记录…", "Bash": "正在运行命令…",
		"mcp__other__remember":   "正在使用 other: remember…",
		"mcp__magpie__send_file": "正在发送文件…", claude.QuestionTool: "正在提问…", claude.PlanTool: "正在提交计划…",
	} {
		now := time.Now()
		if got := New(1, i18n.Chinese, time.Now()).Apply(claude.ToolUse{ID: "1", Name: tool},
			now).Card(now).Status; got != want {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

// The steps are named in the reader's language, and tools that only prepare the CLI are none.
func TestStepsAreThoseOfTheReader(t *testing.T) {
	now := time.Now()
	for l, want := range map[i18n.Lang]string{
		i18n.Chinese: "3 步 · 命令、搜索文件、github: get issue", i18n.English: "3 steps · Command, Search files, github: get issue",
	} {
		s := New(1, l, now)
		for _, tool := range []string{"ToolSearch", "EnterPlanMode", "Bash", "Grep", "mcp__github__get_issue"} {
			s = s.Apply(claude.ToolCall{Name: tool}, now)
			if tool == "EnterPlanMode" && s.phase.tool != "" {
				t.Errorf("an internal tool is announced: %+v", s.phase)
			}
			s = s.Apply(claude.ToolUse{ID: tool, Name: tool}, now).Apply(claude.ToolResult{ID: tool}, now)
		}
		panels := s.Card(now).Panels
		if len(panels) != 1 || panels[0].Title != want || strings.Contains(panels[0].Body, "ToolSearch") ||
			strings.Contains(panels[0].Body, "Bash") {
			t.Errorf("%v", panels)
		}
	}
}

// What a tool is told and prints is shown as a terminal shows it in the end, without keys, also where it was cut.
func TestStepsHoldNoKeysAndNoEscapes(t *testing.T) {
	now, key := time.Now(), "xai-"+strings.Repeat("a1G2k3X4", 6)
	blank := strings.Repeat("\n", maxRead-20) // so that the end of what is read of a result is in its first lines
	for output, want := range map[string]string{
		"\x1b[31mred\x1b[0m " + key + "\n 10%\r 99%\rdone": "red [REDACTED_API_KEY]\ndone",
		"Password:\nhunter2":               "Password:\n[REDACTED_SECRET]",
		blank + "the key is " + key:        "the key is",
		"\u009b32mgreen\u009b0m \x1b[38;5": "green",
	} {
		s := New(1, i18n.Chinese, now)
		s = s.Apply(claude.ToolUse{
			ID: "1", Name: "Bash", Input: []byte(`{"command":"\u001b[1mcurl\u001b[0m -u me:hunter2 x"}`),
		}, now)
		s = s.Apply(claude.ToolResult{ID: "1", Text: output}, now)
		if got := s.steps[0]; got.result != want || got.input != "curl -u me:[REDACTED_SECRET] x" {
			t.Errorf("%q is shown as %q, of %q", output[max(0, len(output)-60):], got.result, got.input)
		}
	}
}

// An answer that was stopped may end within a key.
func TestAStoppedAnswerEndsWithNoHalfKey(t *testing.T) {
	now := time.Now()
	v := New(1, i18n.Chinese, now).Apply(claude.Text{Text: "the key is AKIAIOSFODNN7EX"}, now)
	if got := v.Finish(Outcome{State: convo.Cancelled, Notice: i18n.Stopped}).Card(now).Body; got != "the key is " {
		t.Errorf("%q is left", got)
	}
}

// What is left of long thoughts does not begin within a key, which nobody would know by its end.
func TestThoughtsDoNotBeginWithinAKey(t *testing.T) {
	now, key := time.Now(), "xai-"+strings.Repeat("a1G2k3X4", 6)
	v := New(1, i18n.Chinese, now).Apply(claude.Thinking{Text: key + strings.Repeat(" word", maxThoughts/5-4)}, now)
	if strings.Contains(v.thoughts, "X4a1") {
		t.Errorf("thoughts begin with %q", v.thoughts[:60])
	}
}
