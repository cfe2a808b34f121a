package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/config"
	"magpie/internal/modelsim"
)

// output runs a command that looks into the rig's database.
func (r *rig) output(args ...string) string {
	r.Helper()
	cmd := magpie(r, r.TempDir(), args...)
	cmd.Env = append(cmd.Env, "MAGPIE_DB_URL="+r.cfg.DB.URL, "MAGPIE_CLAUDE_PROJECT="+r.cfg.Claude.Project)
	out, err := cmd.Output()
	must(r, err)
	return string(out)
}

// What agents did and what people have decided stands in the History: it can be exported and listed, and no prompt
// holds it.
func TestTheRecordOfWhatAgentsDid(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.KeepAlive.Duration = 0 }) // each prompt has the History
	long := strings.Repeat("x", 5000)
	r.calls(bash("echo canary-one; echo "+long+" > big.txt"), bash("rm -f canary-two"), modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	r.press(r.approval(r.chat, id, 1), doAllow)
	r.fill(r.approval(r.chat, id, 2), doRefuse, map[string]any{"why": "先别删"})
	r.turnDone(r.chat, id)
	command := r.script("out.txt")
	r.calls(bash(command), bash(command), modelsim.Text("又完了"))
	id = r.sim.Say(r.chat, r.user, "再来")
	r.press(r.approval(r.chat, id, 1), doAlways)
	r.turnDone(r.chat, id)
	r.until("the record of a rule", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'system' AND content LIKE '%"rule"%'`) == 1
	})

	export := r.output("history", "export", "--chat", r.chat)
	roles := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(export), "\n") {
		role, content := gjson.Get(line, "role").String(), gjson.Get(line, "content").String()
		roles[role]++
		if role == "tool" && !json.Valid([]byte(content)) || len(content) > 2*longestContent {
			t.Errorf("%d bytes: %.200s", len(content), content)
		}
	}
	if roles["tool"] != 8 || roles["system"] != 4 {
		t.Errorf("exported %v", roles)
	}
	if !strings.Contains(export, "canary-one") || strings.Contains(export, long) {
		t.Error("an input is missing, or not cut")
	}

	got := r.ask("/approvals")
	for _, want := range []string{
		"小明 允许一次：**Bash** `echo canary-one", "小明 拒绝：**Bash** `rm -f canary-two` · 说明：先别删",
		"小明 选择了总是允许：**Bash** `sh ran.sh out.txt`", "规则 1 允许：**Bash** `sh ran.sh out.txt`",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/approvals lacks %q:\n%s", want, got)
		}
	}
	red := r.sim.AddUser("小红")
	elsewhere := r.sim.PrivateChat(red)
	if got := r.answer(elsewhere, r.sim.Say(elsewhere, red, "/approvals")).Text(); strings.Contains(got, "canary") {
		t.Errorf("the decisions of another chat are shown: %q", got)
	}

	lines := strings.Split(strings.TrimSpace(r.output("audit", "--since", "1h")), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], "denied  小明 "+r.user.OpenID+"  Bash") ||
		!strings.Contains(lines[1], "(先别删)") || !strings.Contains(lines[3], "rule 1  -  Bash") {
		t.Errorf("the audit says\n%s", strings.Join(lines, "\n"))
	}
	list := strings.Split(strings.TrimSpace(r.output("audit", "--json", "--chat", r.chat)), "\n")
	if len(list) != 4 || gjson.Get(list[2], "decision").String() != "always" ||
		gjson.Get(list[2], "user_id").String() != r.user.OpenID || gjson.Get(list[2], "chat").String() != "feishu:chat:"+r.chat {
		t.Errorf("the audit says\n%s", strings.Join(list, "\n"))
	}
	if out := r.output("audit", "--chat", "oc_other"); out != "No decisions.\n" {
		t.Errorf("another chat: %q", out)
	}

	r.ask("canary-one 是什么？")
	req := r.lastRequest()
	if !strings.Contains(req.AllText(), "# 当前问题") {
		t.Fatal("the prompt has no History")
	}
	for _, m := range req.Messages {
		if m.Role == "user" && strings.Contains(m.Text, "# 当前问题") && strings.Contains(m.Text, `"tool"`) {
			t.Errorf("the prompt holds the record: %.300s", m.Text)
		}
	}
}

// longestContent is how much of a tool's input or output the History holds, in characters.
const longestContent = 2000

func TestSinceWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"": time.UnixMilli(0), "2026-05-01": time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
		"3d": now.AddDate(0, 0, -3), "90m": now.Add(-90 * time.Minute),
	} {
		if got, err := sinceTime(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"yesterday", "-3d", "-1h", "2026-13-01", "d"} {
		if _, err := sinceTime(s, now); err == nil || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
