package db_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// talkTo is a question that is accepted now.
func talkTo(t *testing.T, d *db.DB, e db.Entry) db.Accepted {
	t.Helper()
	e.Key, e.Kind, e.Time = oc, chat.Private, time.Now()
	a, err := d.Accept(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// talkedOf are the ids of the conversation that a turn of the chat is told of, newest first.
func talkedOf(t *testing.T, d *db.DB, before int64) (ids []string) {
	t.Helper()
	c, err := d.Chat(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range d.History(t.Context(), oc, c.Epoch, 0, before) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func answerNext(t *testing.T, d *db.DB, answer string) db.Turn {
	t.Helper()
	c, err := d.ClaimTurn(t.Context(), oc, db.Names{Session: "s", Prompt: "p"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.FinishTurn(t.Context(), db.End{Turn: c.Turn, State: db.Done, Answer: answer}); err != nil {
		t.Fatal(err)
	}
	return c.Turn
}

// A question that was held back is asked after others have been answered.
func TestALateQuestionIsToldWhatWasSaidMeanwhile(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "magpie.db"))
	held := func(int64) chat.Card { return chat.Card{} }
	late := talkTo(t, d, db.Entry{Incoming: chat.Incoming{ID: "late", Text: "late"}, Class: chat.Talk, Held: held}).Turn
	talkTo(t, d, db.Entry{Incoming: chat.Incoming{ID: "om_2", Text: "another"}, Class: chat.Talk})
	answerNext(t, d, "answer")
	if err := d.Decide(t.Context(), db.Decision{Key: oc, Turn: late, Event: "e1", GoOn: true}); err != nil {
		t.Fatal(err)
	}
	c, err := d.ClaimTurn(t.Context(), oc, db.Names{Session: "s2", Prompt: "p2"}, false)
	if err != nil || c.Turn.ID != late {
		t.Fatalf("claimed %d, %v", c.Turn.ID, err)
	}
	if got := talkedOf(t, d, c.Turn.ID); len(got) != 2 {
		t.Errorf("the late turn is told of %v, want the question and the answer that came before it is asked", got)
	}
}

// What a reply has shown of a memory is in the outbox until it is delivered.
func TestForgottenWordsThatWereShownAreNotInTheFile(t *testing.T) {
	const word = "ZEBRAXYLOPHONE"
	path := filepath.Join(t.TempDir(), "magpie.db")
	d := open(t, path)
	talkTo(t, d, db.Entry{Incoming: chat.Incoming{ID: "om_1", Text: "hi"}, Class: chat.Talk})
	m, err := d.SaveMemory(t.Context(), db.Memory{Key: oc, Title: "title", Text: "the word is " + word}, db.Change{Who: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	talkTo(t, d, db.Entry{Incoming: chat.Incoming{ID: "om_2", Text: "/memory show 1"}, Class: chat.Command, Reply: m.Text})
	p, err := d.Outbox().Next(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Outbox().Delivered(t.Context(), p, "om_reply"); err != nil {
		t.Fatal(err)
	}
	if err := d.ForgetMemory(t.Context(), oc, m.ID, db.Change{Who: "ou_1"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(word)) {
		t.Errorf("the forgotten words are in the file (%v)", err)
	}
}
