package main

import (
	"strings"
	"testing"

	"magpie/internal/feishusim"
)

// An item of the bot's menu does what its command does, once, and for those who may give it.
func TestTheMenuGivesCommands(t *testing.T) {
	r := newRig(t)
	r.ask("你好")
	r.sim.ChooseMenu(r.user, "/status")
	r.await("the status", func(v *feishusim.View) bool {
		for _, m := range v.Messages(r.chat) {
			if m.FromBot && strings.Contains(m.Last().Text, "模型") && m.ParentID == "" {
				return true
			}
		}
		return false
	})
	before := r.chatNow().Epoch
	r.sim.ChooseMenu(r.user, "new")
	r.until("a new conversation", func() bool { return r.chatNow().Epoch == before+1 })
	r.sim.ChooseMenu(r.sim.AddUser("小红"), "new") // who has no chat with the bot
	r.sim.ChooseMenu(r.user, "nosuch")
	r.ask("数到 3")
	if got := r.chatNow().Epoch; got != before+1 {
		t.Errorf("epoch %d after %d", got, before)
	}
}

// "New conversation" counts below the newest answer only.
func TestAnOldAnswerBeginsNoConversation(t *testing.T) {
	r := newRig(t)
	old := r.answer(r.chat, r.sim.Say(r.chat, r.user, "数到 3"))
	newest := r.answer(r.chat, r.sim.Say(r.chat, r.user, "数到 4"))
	before := r.chatNow().Epoch
	if got := r.press(old, "order"); !strings.Contains(got, "较早的回答") || r.chatNow().Epoch != before {
		t.Errorf("below the old answer: %s, epoch %d after %d", got, r.chatNow().Epoch, before)
	}
	r.press(newest, "order")
	r.until("a new conversation", func() bool { return r.chatNow().Epoch == before+1 })
}
