package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// output runs a command on the rig's database.
func (r *rig) output(args ...string) string {
	r.Helper()
	cmd := magpie(r, r.TempDir(), args...)
	cmd.Env = append(cmd.Env, "MAGPIE_DB_URL="+r.cfg.DB.URL, "MAGPIE_DATA="+filepath.Dir(databaseOf(r.cfg)), "MAGPIE_CLAUDE_PROJECT="+r.inProject())
	out, err := cmd.Output()
	must(r, err)
	return string(out)
}

// Actions of agents and decisions of people are in the History: they can be exported and listed, and are in no prompt.
func TestTheRecordOfWhatAgentsDid(t *testing.T) {
	r := newRig(t, func(c *config.Config) {
		c.Claude.KeepAlive.Duration = 0 // each prompt contains the History
		c.Context.MinChars, c.Context.MinUserMessages = 1, 1
	})
	var said []db.Record
	for i := range 40 {
		text := fmt.Sprintf("今天第 %d 次构建过了吗？", i)
		if i == 20 {
			text = "canary-one 是一只鸟的名字"
		}
		said = append(said, db.Record{Kind: chat.Private, Message: chat.Message{
			Key: chat.FeishuChat(r.chat), ID: "om_" + text, Role: chat.User, Class: chat.Talk, Text: text,
			Time: time.Now().AddDate(0, -1, len(said)),
		}})
	}
	if n, err := r.store().Messages().Importer()(t.Context(), said); err != nil || n != 40 {
		t.Fatal(n, err)
	}
	long := strings.Repeat("x", 5000)
	r.calls(bash("echo canary-one; echo "+long+" > big.txt"), bash("rm -f canary-two"), modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	r.press(r.approval(r.chat, id, 1), doAllow)
	r.refuse(r.approval(r.chat, id, 2), "先别删")
	r.turnDone(r.chat, id)
	command := r.script("out.txt")
	r.calls(bash(command), bash(command), modelsim.Text("又完了"))
	id = r.sim.Say(r.chat, r.user, "再来")
	r.press(r.approval(r.chat, id, 1), doAlways)
	r.turnDone(r.chat, id)
	r.until("the record of a rule", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'system' AND content LIKE '%"decision":"rule"%'`) == 1
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
		t.Error("an input is missing, or not truncated")
	}

	r.sql(`UPDATE messages SET sent_at = sent_at - 10 * 86400000 WHERE role = 'system' AND content LIKE '%canary-one%'`)
	r.ask("/allow revoke 1") // it is named even so
	old, got := "小明 允许一次：**Bash** `echo canary-one", r.ask("/approvals")
	for _, want := range []string{
		"小明 拒绝：**Bash** `rm -f canary-two` · 说明：先别删",
		"小明 选择了总是允许（规则 1：`sh ran.sh out.txt`）：**Bash** `sh ran.sh out.txt`",
		"规则 1 允许（`sh ran.sh out.txt`，小明 添加）：**Bash** `sh ran.sh out.txt`",
	} {
		if !strings.Contains(got, want) || strings.Contains(got, old) {
			t.Errorf("/approvals lacks %q, or has what is older than a week:\n%s", want, got)
		}
	}
	if got := r.ask("/approvals 30"); !strings.Contains(got, old) {
		t.Errorf("/approvals 30 lacks %q:\n%s", old, got)
	}
	red := r.sim.AddUser("小红")
	elsewhere := r.sim.PrivateChat(red)
	if got := r.answer(elsewhere, r.sim.Say(elsewhere, red, "/approvals")).Text(); strings.Contains(got, "canary") {
		t.Errorf("the decisions of another chat are shown: %q", got)
	}

	lines := strings.Split(strings.TrimSpace(r.output("audit", "--since", "1h")), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "denied  小明 "+r.user.OpenID+"  Bash") ||
		!strings.Contains(lines[0], "(先别删)") || !strings.Contains(lines[2], "rule 1  -  Bash") ||
		!strings.Contains(lines[2], "(rule 1: exact Bash sh ran.sh out.txt, by 小明 "+r.user.OpenID+")") {
		t.Errorf("the audit says\n%s", strings.Join(lines, "\n"))
	}
	list := strings.Split(strings.TrimSpace(r.output("audit", "--json", "--chat", r.chat)), "\n")
	if len(list) != 4 || gjson.Get(list[2], "decision").String() != "always" ||
		gjson.Get(list[2], "user_id").String() != r.user.OpenID || gjson.Get(list[2], "rule").Int() != 1 ||
		gjson.Get(list[3], "rule_allows.content").String() != "sh ran.sh out.txt" ||
		gjson.Get(list[3], "rule_by").String() != r.user.OpenID ||
		gjson.Get(list[2], "chat").String() != "feishu:chat:"+r.chat {
		t.Errorf("the audit says\n%s", strings.Join(list, "\n"))
	}
	if out := r.output("audit", "--chat", elsewhere); out != "No decisions.\n" {
		t.Errorf("another chat: %q", out)
	}
	cmd := magpie(t, t.TempDir(), "audit", "--chat", "oc_other")
	cmd.Env = append(cmd.Env, "MAGPIE_DB_URL="+r.cfg.DB.URL, "MAGPIE_DATA="+filepath.Dir(databaseOf(r.cfg)), "MAGPIE_CLAUDE_PROJECT="+r.inProject())
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "feishu:chat:oc_other") ||
		strings.Contains(string(out), "No decisions") {
		t.Errorf("an unknown chat: %s, %v", out, err)
	}

	r.ask("canary-one 是一只什么鸟的名字？canary-two 呢？")
	req := r.lastRequest()
	_, question, ok := readPrompt(req.LastUser())
	prefix := strings.TrimSuffix(req.LastUser(), question)
	if !ok || !strings.Contains(question, "canary-one") {
		t.Fatal("the prompt has no History")
	}
	// Messages about it are retrieved; the actions of agents are not.
	if !strings.Contains(prefix, "canary-one 是一只鸟") {
		t.Errorf("nothing was retrieved: %s", prefix)
	}
	for _, word := range []string{"echo", "canary-two", "rm -f", `"tool"`, "先别删", "ran.sh"} {
		if strings.Contains(prefix, word) {
			t.Errorf("the prompt contains %q of the record: %.300s", word, prefix)
		}
	}
}

// longestContent is how much of a tool's input or output is stored in the History, in characters.
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
