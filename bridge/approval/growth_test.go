package approval

import (
	"encoding/json"
	"hash/crc32"
	"maps"
	"slices"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/growthtest"
	"magpie/internal/i18n"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	object := func(pairs ...string) json.RawMessage {
		in := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			in[pairs[i]] = pairs[i+1]
		}
		data, err := json.Marshal(in)
		must(t, err)
		return data
	}
	show := func(tool string, input func(s string) json.RawMessage) func(string) {
		return func(s string) {
			a := db.Approval{Tool: tool, Input: input(s), Project: "/p"}
			a.By, a.Words = chat.Actor{Name: s}, s
			DisplayProblem(tool, a.Input)
			Card(a, i18n.English)
			q := claude.ToolAsk{Name: tool, Input: a.Input}
			if p := PermitFor(q, "/p"); p != nil {
				Covers(*p, tool, a.Input, "/p")
				RuleText(*p, i18n.English)
			}
			OnlyReads(q, "/p")
			ShortInput(a.Input, func(s string) string { return s })
			DecisionsForAgent([]db.Approval{a})
			OutcomeLine(a, i18n.English)
		}
	}
	tools := map[string]func(string){
		"Bash": show("Bash", func(s string) json.RawMessage { return object("command", s, "description", s) }),
		"Edit": show("Edit", func(s string) json.RawMessage {
			return object("file_path", s, "old_string", s, "new_string", s+"a")
		}),
		"Write":     show("Write", func(s string) json.RawMessage { return object("file_path", "/a", "content", s) }),
		"Grep":      show("Grep", func(s string) json.RawMessage { return object("path", s, "pattern", s) }),
		"WebFetch":  show("WebFetch", func(s string) json.RawMessage { return object("url", s, "prompt", s) }),
		"a plan":    show(claude.PlanTool, func(s string) json.RawMessage { return object("plan", s) }),
		"any other": show("mcp__a__b", func(s string) json.RawMessage { return object(s, s) }),
		"a question": show(claude.QuestionTool, func(s string) json.RawMessage {
			type of = map[string]any
			data, err := json.Marshal(of{"questions": []of{{
				"question": s, "header": s, "options": []of{{"label": s, "description": s}, {"label": "b"}},
			}}})
			must(t, err)
			return data
		}),
		"RefusalText": func(s string) { _ = RefusalText("Bash", s) },
	}
	if testing.Short() { // the tools share the texts: a text and a longer one of the same beginning go to the same tool
		all, names := tools, slices.Sorted(maps.Keys(tools))
		tools = map[string]func(string){"one of the tools": func(s string) {
			all[names[crc32.ChecksumIEEE([]byte(s[:min(len(s), 16)]))%uint32(len(names))]](s)
		}}
	}
	growthtest.Linear(t, tools)
}
