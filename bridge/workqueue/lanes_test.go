package workqueue

import (
	"testing"

	"magpie/internal/chat"
)

// A message that arrives while a lane is about to end must not be lost.
func TestALaneLooksAgain(t *testing.T) {
	ls, key := Lanes[int]{}, chat.FeishuChat("oc_1")
	if !ls.Enter(key) {
		t.Fatal("the lane is free, but could not be entered")
	}
	if ls.Enter(key) {
		t.Fatal("two workers are in the lane")
	}
	if ls.Leave(key) {
		t.Fatal("the worker left although work had arrived")
	}
	if !ls.Leave(key) || !ls.Enter(key) {
		t.Fatal("the lane cannot be left and entered again")
	}
}

// What a lane keeps ends with its work.
func TestALaneForgets(t *testing.T) {
	ls, key := Lanes[int]{}, chat.FeishuChat("oc_1")
	kept := func() (n int) {
		ls.In(key, func(k *int) { *k++; n = *k })
		return n
	}
	if kept() != 0 {
		t.Error("a chat without work keeps something")
	}
	ls.Enter(key)
	if kept() != 1 || kept() != 2 {
		t.Error("a lane does not keep what it is given")
	}
	ls.Leave(key)
	if ls.Enter(key); kept() != 1 {
		t.Error("a lane knows what another worker has kept")
	}
}
