package turncard

import (
	"strings"
	"testing"
	"time"

	"magpie/bridge/i18n"
	"magpie/internal/claude"
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
