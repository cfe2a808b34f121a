package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// formServer is an MCP server whose tool asks people for a day and whether the room is for many.
const formServer = `
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
        out({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": {"message": "Which day shall I book?",
            "requestedSchema": {"type": "object", "properties": {"day": {"type": "string", "title": "Day"},
                "seats": {"type": "integer", "title": "Seats"}, "quiet": {"type": "boolean", "title": "Quiet"}},
                "required": ["day", "seats"]}}})
    elif m.get("id") == "e1":
        text = "ELICITED " + json.dumps(m.get("result") or m.get("error"), sort_keys=True)
        out({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}})
    elif "id" in m and "method" in m: out({"jsonrpc": "2.0", "id": m["id"], "result": {}})
`

// What an MCP server asks is a form on a card, which takes what the server's schema wants. It was a turn that hung for half
// an hour.
func TestAnMCPServersFormIsFilledIn(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r, asked := newFormRig(t, command)
		card := r.approval(r.chat, asked, 1)
		if got := card.Text(); !strings.Contains(got, "forms") || !strings.Contains(got, "Which day shall I book?") {
			t.Errorf("the card asks %q", got)
		}
		if got := r.submitForm(card, doAllow, map[string]any{"words_0": "Friday", "words_1": "many", "choice_2": "1"}); !strings.Contains(got, "整数") {
			t.Errorf("words for a number: %q", got)
		}
		r.submitForm(card, doAllow, map[string]any{"words_0": "Friday", "words_1": "12", "choice_2": "1"})
		if got := visibleText(r.turnDone(r.chat, asked)); got != "booked" {
			t.Errorf("answer %q", got)
		}
		r.closed(card, "小明 已回答 · Friday · 12 · 否")
		if !r.agentRead(`{\"action\": \"accept\", \"content\": {\"day\": \"Friday\", \"quiet\": false, \"seats\": 12}}`) &&
			!r.agentRead(`{"action": "accept", "content": {"day": "Friday", "quiet": false, "seats": 12}}`) {
			t.Error("the server did not get the answer")
		}
	})
}

// A form that is open when the program restarts is filled in afterwards: the agent asks the server again, which gets the
// answer without asking anybody again.
func TestAnOpenFormSurvivesARestart(t *testing.T) {
	t.Parallel()
	r, asked := newFormRig(t, claudetest.Command(t))
	card := r.approval(r.chat, asked, 1)
	r.stop()
	r.model.Reset()
	r.calls(modelsim.Tool("mcp__forms__book", map[string]any{}), modelsim.Text("booked after all"))
	r.start()
	r.submitForm(card, doAllow, map[string]any{"words_0": "Friday", "words_1": "12"})
	r.closed(card, "小明 已回答 · Friday · 12")
	r.await("the answer", func(v *feishusim.View) bool {
		return slices.ContainsFunc(v.Messages(r.chat), func(m feishusim.Message) bool {
			return strings.Contains(m.Text(), "booked after all") && !running(m)
		})
	})
	if !r.agentRead("accept") || !r.agentRead("Friday") {
		t.Errorf("the server did not get the answer; visible:\n%s", r.transcript())
	}
	forms := 0
	for _, m := range r.sim.Messages(r.chat) {
		if asks(m) {
			forms++
		}
	}
	if forms != 1 {
		t.Errorf("people were asked %d times", forms)
	}
}

// newFormRig is a rig whose agent has asked for a form, and the question for which it did.
func newFormRig(t *testing.T, command string) (r *rig, asked string) {
	t.Helper()
	r = makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Claude.Command, c.Claude.AllowedTools = command, []string{"mcp__forms__book"}
		// a busy machine starts servers late
		c.Claude.Env = map[string]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "600000", "MCP_TIMEOUT": "600000"}
	})
	script := filepath.Join(t.TempDir(), "forms.py")
	must(t, os.WriteFile(script, []byte(formServer), 0o600))
	dir := r.claudeConfigDir()
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ".claude.json"), mustJSON(map[string]any{"mcpServers": map[string]any{
		"forms": map[string]any{"type": "stdio", "command": "python3", "args": []string{script}},
	}}), 0o600))
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	for try := 0; try < 20; try++ { // the oldest CLI waits for three seconds, whatever it is told
		r.model.Reset()
		r.calls(modelsim.Tool("mcp__forms__book", map[string]any{}), modelsim.Text("booked"))
		asked = r.sim.Say(r.chat, r.user, "订个会议室")
		form := false
		r.await("a form, or the end", func(v *feishusim.View) bool {
			list := replies(v, r.chat, asked)
			form = slices.ContainsFunc(list, asks)
			return form || len(list) > 0 && !list[0].Last().Streaming && !running(list[0])
		})
		if form {
			break
		}
	}
	return r, asked
}

// claudeConfigDir is the folder of the machine user's CLI.
func (r *rig) claudeConfigDir() string {
	for _, v := range r.cfg.Claude.Environ {
		if dir, ok := strings.CutPrefix(v, "CLAUDE_CONFIG_DIR="); ok {
			return dir
		}
	}
	r.Fatal("the CLI has no folder")
	return ""
}
