package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// Keys, passwords and escape sequences reach no state of any card, whether a tool prints them, the answer holds them in
// pieces, a command that people allow takes them, or a later card quotes them. What is run is the real command, and the
// agent knows what it was told.
func TestKeysAndEscapesReachNoCard(t *testing.T) {
	secret := strings.Repeat("a1G2k3X4", 6)
	key := "xai-" + secret
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Claude.AllowedTools = []string{"Bash(cat *)"} })
	output := "\x1b[31mred\x1b[0m " + key + "\n 10%\r 99%\rall done\n\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\\n"
	if err := os.WriteFile(r.inProject("out.txt"), []byte(output), 0o600); err != nil {
		t.Fatal(err)
	}
	command := "curl -u admin:" + secret + " http://127.0.0.1:1/ ; echo " + key + " > key.txt"
	hold := make(chan struct{})
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash", map[string]string{
			"command": "cat out.txt", "description": "look",
		})}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash(command)}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Text("好的。\n\n\x1b[32m钥匙\x1b[0m是 " + key[:14]), modelsim.Hold(hold),
			modelsim.Chunks(key[14:]+"。\n\nEncrypt Key\n"+secret+"\n\n密码：\nhunter2\n\n完。", 3, time.Millisecond),
		}})
	id := r.sim.Say(r.chat, r.user, "看看 "+key)
	card := r.approval(r.chat, id, 1)
	shown := string(card.Last().Card)
	if !strings.Contains(shown, "curl -u admin:[REDACTED_SECRET] http://127.0.0.1:1/ ; echo [REDACTED_API_KEY] > key.txt") {
		t.Errorf("the request is shown as %s", shown)
	}
	r.press(card, doAllow)
	r.await("the first half of the answer", func(v *feishusim.View) bool {
		return slices.ContainsFunc(replies(v, r.chat, id), func(m feishusim.Message) bool {
			return strings.Contains(m.Text(), "是")
		})
	})
	close(hold)
	if got := visibleText(r.turnDone(r.chat, id)); !strings.Contains(got, "钥匙是 [REDACTED_API_KEY]。") ||
		!strings.Contains(got, "Encrypt Key\n[REDACTED_SECRET]") || !strings.Contains(got, "密码：\n[REDACTED_SECRET]\n\n完。") {
		t.Errorf("answer %q", got)
	}
	if got := strings.TrimSpace(r.project("key.txt")); got != key {
		t.Errorf("the command wrote %q", got)
	}
	if !r.agentRead(key) {
		t.Error("the agent did not get the key that it was told")
	}
	r.ask("/history 20")
	r.ask("/search 看看")
	r.ask("/context")
	r.ask("/resume")
	steps := false
	for _, m := range r.sim.Messages(r.chat) {
		if !m.FromBot {
			continue
		}
		for i, state := range m.States {
			all := state.Text + readable(t, state.Card)
			steps = steps || strings.Contains(all, "red [REDACTED_API_KEY]") && strings.Contains(all, "all done\nlink")
			for _, bad := range []string{secret[:6], "hunter2", "\x1b", "\r", "[31m", "[32m", "8;;", "99%"} {
				if strings.Contains(all, bad) {
					t.Errorf("state %d shows %q: %s", i, bad, all)
				}
			}
		}
	}
	if !steps {
		t.Error("no card shows the output of the tool")
	}
}

// readable is the text of a card's JSON, in which control characters are not escaped.
func readable(t *testing.T, card json.RawMessage) string {
	t.Helper()
	if len(card) == 0 {
		return ""
	}
	var b strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var v any
	if err := json.Unmarshal(card, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return b.String()
}
