package claude_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// asks is an MCP server whose tool asks people what its input says, and returns their answer.
const asks = `
import sys, json
def out(o): sys.stdout.write(json.dumps(o) + "\n"); sys.stdout.flush()
call = None
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        out({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": m["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "forms", "version": "1"}}})
    elif m.get("method") == "tools/list":
        out({"jsonrpc": "2.0", "id": m["id"], "result": {"tools": [{"name": "book", "description": "book",
            "inputSchema": {"type": "object", "properties": {}}}]}})
    elif m.get("method") == "tools/call":
        call = m["id"]
        out({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": m["params"]["arguments"]})
    elif m.get("id") == "e1":
        text = json.dumps(m.get("result") or m.get("error"), sort_keys=True)
        out({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}})
    elif "id" in m and "method" in m: out({"jsonrpc": "2.0", "id": m["id"], "result": {}})
`

// An MCP server asks people through the CLI, and gets what they answer; without an answer the CLI would wait for ever.
func TestAServerAsksPeople(t *testing.T) {
	day := map[string]any{"message": "Which day?", "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"day": map[string]string{"type": "string"}}, "required": []string{"day"},
	}}
	page := map[string]any{"message": "Sign in", "mode": "url", "url": "https://a.example/x", "elicitationId": "1"}
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { c.AllowedTools = []string{"mcp__forms__book"} })
		script := filepath.Join(n.base, "asks.py")
		write(t, script, asks)
		write(t, filepath.Join(n.home, ".claude.json"), string(encode(t, map[string]any{"mcpServers": map[string]any{
			"forms": map[string]any{"type": "stdio", "command": "python3", "args": []string{script}},
		}})))
		spec := fresh()
		for i, tc := range []struct {
			asks     map[string]any
			input    string
			decision claude.Decision
			want     string // of the server's answer
		}{
			{day, `"schema":{`, claude.Decision{Allow: true, Input: json.RawMessage(`{"answers":{"day":"Friday"}}`)},
				`{"action": "accept", "content": {"day": "Friday"}}`},
			{day, `"message":"Which day?"`, claude.Decision{Why: "x", Refused: true}, `{"action": "decline"}`},
			{day, `"server":"forms"`, claude.Decision{Why: "x"}, `{"action": "cancel"}`},
			{page, `"url":"https://a.example/x"`, claude.Decision{Allow: true, Input: json.RawMessage(`{}`)}, `{"action": "accept"}`},
		} {
			var asked []claude.ToolAsk
			n.decide = func(q claude.ToolAsk) claude.Decision { asked = append(asked, q); return tc.decision }
			var a answer
			for try := 0; try < 20 && len(asked) == 0; try++ { // a busy machine takes longer to start the server
				n.model.Reset()
				n.calls(modelsim.Tool("mcp__forms__book", tc.asks))
				a = n.turn(t.Context(), "a", spec, "book")
				spec.Resume = true
			}
			if page := tc.asks["url"] != nil; page && command == claudetest.Oldest(t) {
				if got := fmt.Sprint(toolResults(a)); !strings.Contains(got, "does not support URL-mode") || len(asked) > 0 {
					t.Errorf("the oldest CLI knows pages: %s", got)
				}
				continue
			}
			if a.err != nil || len(asked) != 1 || asked[0].Name != claude.FormTool || !strings.Contains(string(asked[0].Input), tc.input) {
				t.Fatalf("%d: %v, asked %+v, %s", i, a.err, asked, a.text())
			}
			if got := fmt.Sprint(toolResults(a)); !strings.Contains(got, tc.want) {
				t.Errorf("%d: the server got %s", i, got)
			}
		}
	})
}

func toolResults(a answer) (list []string) {
	for _, ev := range a.events {
		if r, ok := ev.(claude.ToolResult); ok {
			list = append(list, r.Text)
		}
	}
	return list
}

// Every line that the CLI writes in a turn with tools, thoughts and a form is known; see docs/claude-cli.md.
func TestTheLinesOfTheCLIAreKnown(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		var mu sync.Mutex
		var unknown []string
		r := newRig(t, withCLI(command), func(c *claude.Config) {
			c.AllowedTools, c.Suggestions = []string{"Bash", "Read"}, true
			c.Unknown = func(kind string) {
				mu.Lock()
				defer mu.Unlock()
				unknown = append(unknown, kind)
			}
		})
		r.setHook("PostToolUse", "true")
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Thinking("hm"), modelsim.Text("one"), bash("echo hi")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Fail(529, "overloaded_error", "Overloaded")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("cut"), modelsim.Stop("max_tokens")}},
		)
		spec := fresh()
		spec.Suggest = true
		if a := r.turn(t.Context(), "a", spec, "go"); a.err != nil {
			t.Fatal(a.err)
		}
		if a := r.turn(t.Context(), "a", spec, "again"); a.err != nil {
			t.Fatal(a.err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(unknown) > 0 {
			t.Errorf("unknown: %q", unknown)
		}
	})
}
