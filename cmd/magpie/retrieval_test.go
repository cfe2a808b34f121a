package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/operator/config"
)

// Messages from months ago are added to a question about them: to a new process, and once to a running one, but not
// after /new.
func TestRelatedOldMessagesReachThePrompt(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.TimeZone = "Asia/Shanghai" })
	began := time.Date(2026, 5, 4, 9, 0, 0, 0, time.FixedZone("", 8*3600))
	var old []db.Record
	say := func(role chat.Role, text string) {
		at := began.Add(time.Duration(len(old)) * time.Hour)
		old = append(old, db.Record{Kind: chat.Private, Message: chat.Message{
			Key: chat.FeishuChat(r.chat), ID: fmt.Sprintf("om_old_%d", len(old)), Role: role, Class: chat.Talk,
			Text: text, Time: at,
		}})
	}
	say(chat.User, "机房的备用钥匙放在哪里？")
	say(chat.Assistant, "在前台罗成那里，登记后可以领取。")
	for i := range 300 {
		if i == 20 {
			say(chat.User, "会议室的投影仪坏了找谁？")
			say(chat.Assistant, "找行政何佳，分机八零二。")
		}
		say(chat.User, fmt.Sprintf("今天第 %d 次构建过了吗？", i)+strings.Repeat("说说细节。", 10))
		say(chat.Assistant, "过了，"+strings.Repeat("没有什么特别的。", 10))
	}
	if n, err := r.store().Messages().Importer()(t.Context(), old); err != nil || n != len(old) {
		t.Fatal(n, err)
	}
	asks := func(question string) string {
		r.ask(question)
		req := r.lastRequest()
		return req.LastUser()
	}
	asked := asks("备用钥匙在谁那里？")
	want := "## [1] 用户 (2026-05-04):\n机房的备用钥匙放在哪里？\n\n## [2] 助手 (2026-05-04):\n在前台罗成那里，登记后可以领取。\n"
	if !strings.Contains(asked, want) || strings.Count(asked, "罗成") != 1 {
		t.Errorf("asked %.600q", asked)
	}
	if asked = asks("投影仪坏了应该找谁？"); !strings.Contains(asked, "何佳") || len([]rune(asked)) > 6000 {
		t.Errorf("the running process gets %.600q", asked)
	}
	if asked = asks("投影仪坏了应该找谁？"); strings.Contains(asked, "何佳") {
		t.Errorf("the running process gets it again: %.600q", asked)
	}
	r.ask("/new")
	if asked = asks("备用钥匙在谁那里？"); strings.Contains(asked, "罗成") {
		t.Errorf("after /new: %.600q", asked)
	}
}
