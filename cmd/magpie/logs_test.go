package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// Whatever becomes of a turn, its lines say which chat, turn and session they are of, every line is JSON with one value a
// key, and none holds what people, the agent or its tools said, or a secret.
func TestLogsOfEveryKindOfTurn(t *testing.T) {
	r := newRig(t)
	once := func(steps ...modelsim.Step) { r.model.Script(modelsim.Rule{Times: 1, Steps: steps}) }
	begun := func(text string) string {
		t.Helper()
		once(modelsim.Text("答到一半canary"), modelsim.Hang())
		id := r.sim.Say(r.chat, r.user, text)
		r.await("text", func(v *feishusim.View) bool {
			list := replies(v, r.chat, id)
			return len(list) == 1 && strings.Contains(list[0].Text(), "答到一半")
		})
		return id
	}
	r.ask("我叫canary")
	once(modelsim.Tool("Read", map[string]any{"file_path": filepath.Join(r.cfg.Claude.Project, "canary.txt")}))
	once(modelsim.Tool("Bash", map[string]any{"command": "echo canary"}))
	r.ask("用工具 canary")
	r.ask("运行 `touch canary.txt`")
	once(modelsim.Text("不行canary"), modelsim.Stop("refusal"))
	r.ask("canary 拒绝")
	once(modelsim.Text("太长canary"), modelsim.Stop("max_tokens"))
	r.ask("canary 太长")
	once(modelsim.Fail(403, "permission_error", "no"))
	r.ask("canary 失败")
	id := begun("canary 停")
	r.ask("/stop")
	r.answer(r.chat, id)
	r.ask("/canary")
	begun("canary 重启")
	r.stop()
	r.start()
	r.answer(r.chat, r.sim.Post(r.chat, r.user, mustJSON(map[string]any{"title": "canary", "content": [][]any{}})))

	kinds := map[string]int{}
	for line := range strings.Lines(r.logs.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllString(line, -1) {
			if strings.Count(line, key) > 1 {
				t.Errorf("%s comes twice: %s", key, line)
			}
		}
		if strings.Contains(line, "canary") {
			t.Errorf("the log tells what was said: %s", line)
		}
		for _, secret := range []string{r.cfg.Feishu.AppSecret, "sk-test-dummy"} {
			if strings.Contains(line, secret) {
				t.Errorf("the log tells a secret: %s", line)
			}
		}
		state, _ := entry["state"].(string)
		kinds[state]++
		if entry["turn"] == nil || entry["answers"] != nil { // a delivery is no part of its turn
			continue
		}
		if chat, _ := entry["chat"].(string); chat == "" {
			t.Errorf("a line of a turn without its chat: %s", line)
		}
		if session, _ := entry["session"].(string); session == "" {
			t.Errorf("a line of a turn without its session: %s", line)
		}
	}
	for _, state := range []string{"done", "failed", "cancelled", "interrupted"} {
		if kinds[state] == 0 {
			t.Errorf("no turn ended as %s: the test tests too little (%v)", state, kinds)
		}
	}
}
