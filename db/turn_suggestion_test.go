package db_test

import (
	"errors"
	"fmt"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A suggestion is shown, and can be asked, only until the next question of the same conversation.
func TestASuggestionIsVoidOnceSomethingIsAsked(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	first := claim(t, d, "s-1")
	if err := d.Turns().Suggest(t.Context(), first.Turn, chat.Card{}); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("while it runs: %v", err)
	}
	finish(t, d, db.TurnResult{Turn: first.Turn, State: convo.Done})
	if err := d.Turns().Suggest(t.Context(), first.Turn, chat.Card{}); err != nil {
		t.Error(err)
	}
	press := say(db.PressID(fmt.Sprintf("suggestion:%d", first.Turn.ID)), "two")
	press.Effects = []db.Effect{db.IfLast{Turn: first.Turn.ID}}
	if a := accept(t, d, press); !a.Fresh || a.Turn == 0 {
		t.Errorf("pressed: %+v", a)
	}
	if a := accept(t, d, press); a.Fresh {
		t.Errorf("pressed again: %+v", a)
	}
	second := claim(t, d, "s-2")
	finish(t, d, db.TurnResult{Turn: second.Turn, State: convo.Done})
	accept(t, d, say("om_3", "three"))
	late := say(db.PressID(fmt.Sprintf("suggestion:%d", second.Turn.ID)), "four")
	late.Effects = []db.Effect{db.IfLast{Turn: second.Turn.ID}}
	if _, err := d.Messages().Accept(t.Context(), late); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("pressed late: %v", err)
	}
	forged := say(db.PressID(fmt.Sprintf("suggestion:%d", second.Turn.ID)), "five")
	forged.Key, forged.Effects = chat.FeishuChat("oc_other"), late.Effects
	if _, err := d.Messages().Accept(t.Context(), forged); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("pressed elsewhere: %v", err)
	}
}
