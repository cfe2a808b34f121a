package turncard

import (
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
