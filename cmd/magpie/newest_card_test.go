package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// buttonsGo waits until the bot's messages with these IDs have no buttons.
func (r *rig) buttonsGo(room string, ids ...string) {
	r.Helper()
	r.await("old cards without buttons", func(v *feishusim.View) bool {
		gone := 0
		for _, m := range v.Messages(room) {
			for _, id := range ids {
				if m.ID == id && !hasButtons(m) {
					gone++
				}
			}
		}
		return gone == len(ids)
	})
}

// held makes the model answer the next question with these words, and wait until the returned function is called.
func (r *rig) held(words string) (finish func()) {
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text(words), modelsim.Hold(hold)}})
	return func() { close(hold) }
}

// removals are the calls that remove a part of a card.
func (r *rig) removals() (calls []feishusim.Call) {
	for _, c := range r.sim.Calls() {
		if c.Method == http.MethodDelete && strings.HasPrefix(c.Path, "/open-apis/cardkit/") {
			calls = append(calls, c)
		}
	}
	return calls
}

// "New conversation" is below the newest card only: it goes as soon as the next card is there, also after a restart.
// Nothing else of the old card changes, and that takes one call.
func TestOnlyTheNewestCardBeginsAConversation(t *testing.T) {
	r := newRig(t)
	var old []string
	for i, question := range []string{"数到 2", "数到 3", "数到 4"} {
		card := r.answer(r.chat, r.sim.Say(r.chat, r.user, question))
		r.buttonsGo(r.chat, old...)
		if card, _ = r.sim.Message(card.ID); !offers(card, "order") {
			t.Errorf("%s: the newest card offers nothing: %s", question, card.Last().Card)
		}
		if old = append(old, card.ID); i == 0 {
			r.stop()
			r.start()
		}
	}
	last := old[len(old)-1]
	finish := r.held("一")
	id := r.sim.Say(r.chat, r.user, "说点什么")
	r.shows(r.chat, id, "一")
	r.buttonsGo(r.chat, old...) // before the answer is complete
	if m, _ := r.sim.Message(last); visibleText(m) != "1 2 3 4" || m.Last().Streaming || m.Last().Op != "delete_element" {
		t.Errorf("the old card is now %+v", m.Last())
	}
	finish()
	r.answer(r.chat, id)
	if got := r.removals(); len(got) != len(old) {
		t.Errorf("%d calls for %d cards: %+v", len(got), len(old), got)
	}
}

// A suggested question goes with it.
func TestASuggestionGoesWithTheNextCard(t *testing.T) {
	r := newRig(t, suggests)
	r.ask("数到 2")
	r.suggesting("数到 4")
	card := r.suggested(r.sim.Say(r.chat, r.user, "数到 3"))
	r.ask("数到 5")
	r.buttonsGo(r.chat, card.ID)
}

// A long answer has its buttons on its last message.
func TestTheButtonsOfALongAnswerGo(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			r := newRig(t)
			cards := r.askLong()
			last := cards[len(cards)-1]
			if !offers(last, "order") || hasButtons(cards[0]) {
				t.Fatalf("the buttons are elsewhere: %s", last.Last().Card)
			}
			if restart {
				r.stop()
				r.start()
			}
			newest := r.answer(r.chat, r.sim.Say(r.chat, r.user, "数到 3"))
			r.buttonsGo(r.chat, last.ID)
			if m, _ := r.sim.Message(last.ID); !strings.Contains(m.Text(), "第 599 段") {
				t.Errorf("the last message is now %q", m.Text())
			}
			if newest, _ = r.sim.Message(newest.ID); !offers(newest, "order") || len(r.removals()) != 1 {
				t.Errorf("the newest card is %s, after %+v", newest.Last().Card, r.removals())
			}
		})
	}
}

// Topics are chats of their own: the newest card of each has the button.
func TestTheNewestCardOfEachTopic(t *testing.T) {
	r := newRig(t, withTopics)
	one, other := r.newTopic(), r.newTopic()
	one.mentionBot("数到 2")
	other.mentionBot("数到 3")
	old, kept := one.awaitEnd("1 2"), other.awaitEnd("1 2 3")
	one.mentionBot("数到 4")
	newest := one.awaitEnd("1 2 3 4")
	r.buttonsGo(one.room, old.ID)
	for _, m := range []feishusim.Message{kept, newest} {
		if m, _ = r.sim.Message(m.ID); !offers(m, "order") {
			t.Errorf("a newest card offers nothing: %s", m.Last().Card)
		}
	}
}

// A button that the platform does not remove is left: the conversation goes on, and pressing it says that it is over.
func TestAButtonThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]feishusim.Fault{
		"refused": {Code: 300314, Msg: "delete failed"},
		"failed":  {Status: http.StatusBadGateway, Body: "<html>502</html>"},
		"expired": {Code: 200750, Msg: "card entity expired"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			fault.Method, fault.Path = http.MethodDelete, "/open-apis/cardkit/v1/cards/"
			r.sim.Inject(fault)
			old := r.answer(r.chat, r.sim.Say(r.chat, r.user, "数到 3"))
			for _, question := range []string{"数到 4", "数到 5"} {
				if got := r.ask(question); !strings.HasPrefix(got, "1 2 3 4") {
					t.Errorf("%s: %q", question, got)
				}
			}
			r.until("every removal to be given up", func() bool {
				cards := map[string]bool{}
				for _, c := range r.removals() {
					cards[c.Path] = true
				}
				return len(cards) == 2 && r.count(`SELECT COUNT(*) FROM turns WHERE newest_buttons <> ''`) == 1
			})
			if got := r.press(old, "order"); !strings.Contains(got, "较早的回答") {
				t.Errorf("the old button: %s", got)
			}
			tried := len(r.removals())
			r.ask("/status")
			r.ask("/history")
			if got := len(r.removals()); got != tried || tried > 6 {
				t.Errorf("%d calls, and then %d", tried, got)
			}
		})
	}
}

// The end of an answer is shown only after the next card: its button goes as well.
func TestTheButtonOfALateCardGoes(t *testing.T) {
	r := newRig(t)
	finish := r.held("一")
	id := r.sim.Say(r.chat, r.user, "说点什么")
	r.shows(r.chat, id, "一")
	card := replies(r.sim.View(), r.chat, id)[0]
	heal := r.sim.Inject(feishusim.Fault{
		Method: http.MethodPut, Path: "/open-apis/cardkit/v1/*/" + card.CardID, Code: 99991662, Msg: "app disabled",
	})
	finish()
	r.until("an attempt", func() bool { return r.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) == 1 })
	next := r.sim.Say(r.chat, r.user, "数到 3")
	r.shows(r.chat, next, "")
	heal()
	r.sql(`UPDATE outbox SET next_at = 0`)
	if m := r.answer(r.chat, next); !offers(m, "order") {
		t.Errorf("the newest card is %s", m.Last().Card)
	}
	r.buttonsGo(r.chat, card.ID)
	card, _ = r.sim.Message(card.ID)
	if card.Last().Op != "delete_element" || visibleText(card) != "一" {
		t.Errorf("the late card is %+v", card.Last())
	}
}
