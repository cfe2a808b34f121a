package turncard

import (
	"encoding/json"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/growthtest"
	"magpie/internal/i18n"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	now := time.Now()
	card := func(events ...claude.Event) {
		v := New(1, i18n.English, now)
		for _, e := range events {
			v = v.Apply(e, now)
		}
		v.Card(now)
	}
	input := func(s string, keys ...string) json.RawMessage {
		in := map[string]string{}
		for _, key := range keys {
			in[key] = s
		}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	growthtest.Linear(t, map[string]func(string){
		"Text":    func(s string) { card(claude.Text{Text: s}) },
		"ToolUse": func(s string) { card(claude.ToolUse{ID: "1", Name: s, Input: input(s, "command", "description")}) },
		"edit": func(s string) {
			card(claude.ToolUse{ID: "1", Name: "Edit", Input: input(s, "file_path", "old_string")})
		},
		"not JSON":  func(s string) { card(claude.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(s)}) },
		"result":    func(s string) { card(claude.ToolUse{ID: "1", Name: "Bash"}, claude.ToolResult{ID: "1", Text: s}) },
		"addition":  func(s string) { New(1, i18n.English, now).WithAddition(s, now).Card(now) },
		"question":  func(s string) { New(1, i18n.English, now).WithSuggestion(s).Card(now) },
		"InputLine": func(s string) { InputLine(input(s, "file_path")) },
		"ToolName":  func(s string) { ToolName("mcp__"+s, i18n.English) },
	})
}
