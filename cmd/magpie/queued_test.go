package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// A question that waits for others' answers shows its place in the queue, also when that changes.
func TestThePlaceInTheQueueIsShown(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Claude.MaxTurns = 1 })
	_, goOn := r.startAnswer(r.chat)
	var chats, ids []string
	for i, want := range []string{"第 1 位", "第 2 位"} {
		user := r.sim.AddUser([]string{"小红", "小蓝"}[i])
		chats = append(chats, r.sim.PrivateChat(user))
		ids = append(ids, r.sim.Say(chats[i], user, "你好"))
		r.shows(chats[i], ids[i], want)
	}
	goOn()
	for i := range chats {
		r.answer(chats[i], ids[i])
	}
	last := statesOf(r, chats[1], ids[1])
	if first, second := slices.IndexFunc(last, says("第 2 位")), slices.IndexFunc(last, says("第 1 位")); first < 0 || second < first {
		t.Errorf("the last question: %q", last)
	}
}

// Where nobody else is answered, a question whose process takes long to begin is not said to be queued: here its chat's
// earlier process does not want to end.
func TestASlowStartIsNoQueue(t *testing.T) {
	r := newRig(t, func(c *config.Config) {
		around := filepath.Join(t.TempDir(), "claude")
		script := "#!/bin/sh\ntrap '' TERM\n" + c.Claude.Command + " \"$@\"\nsleep 60\n"
		syscall.ForkLock.RLock() // a program cannot be run while a child still has it open for writing
		err := os.WriteFile(around, []byte(script), 0o700)
		syscall.ForkLock.RUnlock()
		must(t, err)
		c.Claude.Command = around
	})
	r.ask("你好")
	r.ask("/model sonnet")
	id := r.sim.Say(r.chat, r.user, "数到 3")
	r.answer(r.chat, id)
	states := statesOf(r, r.chat, id)
	if slices.ContainsFunc(states, says("排队")) || !slices.ContainsFunc(states, says("正在启动 Claude")) {
		t.Errorf("%q", states)
	}
}

func says(words string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, words) }
}

// statesOf is all that the card of a question has shown.
func statesOf(r *rig, chatID, id string) (list []string) {
	r.await("the card", func(v *feishusim.View) bool {
		cards := ofTurns(v, chatID, id)
		list = nil
		for _, m := range cards {
			for _, s := range m.States {
				list = append(list, string(s.Card))
			}
		}
		return len(cards) > 0
	})
	return list
}
