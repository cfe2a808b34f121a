package db_test

import (
	"fmt"
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

// The History of another machine has an answer with the number of a turn that is still open here.
func TestAnswerOfAnOpenTurnIsKeptAfterAnImport(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "magpie.db"))
	a := talkTo(t, d, db.Entry{Incoming: chat.Incoming{ID: "om_1", Text: "question"}, Class: chat.Talk})
	imported(t, d, record(fmt.Sprintf("answer:%d", a.Turn), chat.Assistant, 100))
	turn := answerNext(t, d, "the answer")
	if got, err := d.Answer(t.Context(), oc, turn.ID); err != nil || got != "the answer" {
		t.Errorf("the turn's answer is %q, %v", got, err)
	}
}

// A later export says that a conversation is over, which an earlier one has brought in while it went on.
func TestALaterImportEndsAConversation(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "magpie.db"))
	imported(t, d, record("a1", chat.User, 1), record("a2", chat.Assistant, 2))
	imported(t, d, before(0, record("a1", chat.User, 1)), before(0, record("a2", chat.Assistant, 2)), before(0, record("a3", chat.User, 3)),
		record("b1", chat.User, 10))
	if got := fmt.Sprint(talkedOf(t, d, 1)); got != "[b1]" {
		t.Errorf("the conversation is %s; a1, a2 and a3 are from before /new", got)
	}
}

func TestOldHistoriesCanBeAddedOneByOne(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "magpie.db"))
	imported(t, d, record("now", chat.User, 1_000_000))
	for day := range 365 { // the newest first
		if _, err := d.Import(t.Context(), []db.Record{record(fmt.Sprint("day", day), chat.User, int64(900_000-day))}); err != nil {
			t.Fatalf("import %d: %v", day+1, err)
		}
	}
}

// The weight of a word goes by how many messages there are.
func TestFindCountsMessagesNotTheGapsBetweenThem(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "magpie.db"))
	imported(t, d, record("new", chat.User, 1_000_000))
	imported(t, d, record("old", chat.User, 1_000))
	found, err := d.Find(t.Context(), oc, 0, []string{"text"}, 500)
	if err != nil || found.Messages > 10 {
		t.Errorf("%d messages, %v; there are 2", found.Messages, err)
	}
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
