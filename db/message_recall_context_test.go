package db_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

func TestASessionWithARecalledMessageIsNotResumed(t *testing.T) {
	for _, newConversation := range []bool{false, true} {
		d := fresh(t)
		turn(t, d, "om_0", "zero", "s-0")
		if err := d.Chats().ForgetSession(t.Context(), oc, "s-0"); err != nil {
			t.Fatal(err)
		}
		turn(t, d, "om_1", "one", "s-1")
		turn(t, d, "om_2", "two", "unused")
		if err := d.Chats().ForgetSession(t.Context(), oc, "s-1"); err != nil {
			t.Fatal(err)
		}
		turn(t, d, "om_3", "three", "s-3") // its prompt contained the earlier messages
		if newConversation {
			startOver(t, d, "om_4")
			turn(t, d, "om_5", "five", "s-5")
		}
		recall(t, d, "om_1")
		list, err := d.Chats().PastSessions(t.Context(), oc, 10)
		var left []string
		for _, s := range list {
			left = append(left, s.ID)
		}
		want := []string{"s-0"}
		if newConversation {
			want = []string{"s-5", "s-0"}
		}
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("sessions that can be resumed: %v %v", left, err)
		}
		for _, s := range []string{"s-1", "s-3"} {
			if _, err := d.Messages().Accept(t.Context(), sayResume("om_back", s)); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("back to %s: %v", s, err)
			}
		}
	}
}

func TestARunningTurnDropsItsSessionAfterARecall(t *testing.T) {
	for _, renamed := range []bool{false, true} {
		d := fresh(t)
		answered(t, d, "om_1", "one", "a1")
		accept(t, d, say("om_2", "two"))
		c := claim(t, d, "unused")
		if r := recall(t, d, "om_1"); r.Running != 0 {
			t.Errorf("%+v", r)
		}
		if renamed {
			if err := d.Turns().SetIDs(t.Context(), c.Turn, "s-other", "p-s-other"); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a2", Session: db.Session{ID: c.Turn.Session}})
		got, err := d.Chats().Get(t.Context(), oc)
		if err != nil || got.Session.ID != "" {
			t.Errorf("the session that contains it is kept: %+v, %v", got.Session, err)
		}
		if list, err := d.Chats().PastSessions(t.Context(), oc, 10); err != nil || len(list) != 0 {
			t.Errorf("sessions that can be resumed: %+v %v", list, err)
		}
		accept(t, d, say("om_3", "three"))
		if next := claim(t, d, "s-3"); next.Resume {
			t.Errorf("the next turn resumes %s", next.Turn.Session)
		}
	}
}

// A summary or memory takes minutes to make. It must not be stored if one of its messages was recalled meanwhile.
func TestNoSummaryOfARecalledMessage(t *testing.T) {
	d := fresh(t)
	first := answered(t, d, "om_1", "one", "a1")
	second := answered(t, d, "om_2", "two", "a2")
	of := []string{"om_1", db.AnswerID(first.ID), "om_2", db.AnswerID(second.ID)}
	made := db.Compaction{Key: oc, Of: of, Summary: db.Summary{Text: "one and two", Seq: 4}}
	note := db.Memory{Key: oc, Text: "one", Sources: of}
	recall(t, d, "om_1")
	if err := d.Chats().Compact(t.Context(), made); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("summary: %v", err)
	}
	if _, err := d.Memories().Learn(t.Context(), note, alice); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("memory: %v", err)
	}
	made.Of, note.Sources = of[2:], of[2:]
	if _, err := d.Memories().Learn(t.Context(), note, alice); err != nil {
		t.Errorf("without a recall: %v", err)
	}
	if err := d.Chats().Compact(t.Context(), made); err != nil {
		t.Errorf("without a recall: %v", err)
	}
	// Another summary extends this one, which is dropped.
	later := answered(t, d, "om_3", "three", "a3")
	more := db.Compaction{Key: oc, Before: made.Summary, Of: []string{"om_3", db.AnswerID(later.ID)},
		Summary: db.Summary{Text: "all", Seq: 6}}
	recall(t, d, "om_2")
	if err := d.Chats().Compact(t.Context(), more); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("extending a summary that was dropped: %v", err)
	}
}

// A quoting message holds a copy of the quoted text and of its files.
func TestAQuoteIsRecalledWithItsMessage(t *testing.T) {
	d := fresh(t)
	topic := oc
	topic.Thread = "omt_1"
	accept(t, d, say("om_1", "look"))
	claim(t, d, "s")
	for i, key := range []chat.Key{oc, topic} {
		e := say(fmt.Sprint("om_2", i), "what is that?")
		e.Key = key
		e.Files = []chat.File{{Kind: chat.Quote, Of: "om_1"}, {Kind: chat.Document, Of: "om_1", Key: "k"},
			{Kind: chat.Quote, Of: "om_unknown"}, {Kind: chat.Picture, Of: e.ID, Key: "own"}}
		accept(t, d, e)
		q, err := d.Messages().Quoted(t.Context(), key, e.ID)
		if err != nil || len(q.Files) != 4 {
			t.Fatalf("%+v %v", q, err)
		}
		for n, f := range q.Files {
			if f.State, f.Said = chat.Here, "said"; f.Kind == chat.Document {
				f.Path = "x/copy"
			}
			if n == 2 {
				f.Path = "x/unknown"
			}
			if i == 1 && n == 1 {
				continue // still downloading
			}
			if err := d.Messages().FinishFile(t.Context(), key, e.ID, f, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := recall(t, d, "om_1"); !slices.Equal(r.Files, []string{"x/copy"}) {
		t.Errorf("left behind: %+v", r)
	}
	if r := recall(t, d, "om_unknown"); !slices.Equal(r.Files, []string{"x/unknown"}) || r.Key != oc {
		t.Errorf("of a message that is not known: %+v", r)
	}
	for i, key := range []chat.Key{oc, topic} {
		q, err := d.Messages().Quoted(t.Context(), key, fmt.Sprint("om_2", i))
		if err != nil {
			t.Fatal(err)
		}
		for n, f := range q.Files {
			if own := n == 3; (f.Said != "" || f.Path != "" || f.State == chat.Here) != own {
				t.Errorf("of %v: %+v", key, f)
			}
		}
	}
	late, err := d.Messages().InsertFiles(t.Context(), oc, "om_20", []chat.File{{Kind: chat.Picture, Of: "om_1",
		Key: "late"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Messages().FinishFile(t.Context(), oc, "om_20", late[0], 1, ""); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("fetched after it was taken back: %v", err)
	}
}

func TestAMemoryIsRecalledWithItsMessage(t *testing.T) {
	d := fresh(t)
	first := answered(t, d, "om_1", "one", "a1")
	answered(t, d, "om_2", "two", "a2")
	alone := []string{"om_1", db.AnswerID(first.ID)}
	save(t, d, db.Memory{Text: "of it alone", Sources: alone})
	save(t, d, db.Memory{Text: "of both", Sources: []string{"om_1", "om_2"}})
	m := save(t, d, db.Memory{Text: "will be changed", Sources: alone})
	m.Text = "in somebody's own words"
	save(t, d, m)
	save(t, d, db.Memory{Text: "of the other", Sources: []string{"om_2"}})
	state := func() string {
		var s []string
		for _, m := range memories(t, d, oc) {
			s = append(s, fmt.Sprintf("%d %t", m.Number, m.Proposed))
		}
		return strings.Join(s, ", ")
	}
	recall(t, d, "om_1")
	if got := state(); got != "2 true, 3 true, 4 false" {
		t.Errorf("after the first: %s", got)
	}
	recall(t, d, "om_2")
	if got := state(); got != "3 true" {
		t.Errorf("after the second: %s", got)
	}
}

func TestOtherQuestionsOfATurnStayInOrder(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	accept(t, d, say("om_2", "two"))
	c := claim(t, d, "s")
	accept(t, d, say("om_3", "three"))
	recall(t, d, "om_1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled})
	again := claim(t, d, "s2")
	if texts(again.Asked) != "u:two u:three" || again.Turn.ReplyTo != "om_3" {
		t.Errorf("asked %q in answer to %s", texts(again.Asked), again.Turn.ReplyTo)
	}
	if c, err := d.Turns().Of(t.Context(), oc); err != nil || len(c.In(convo.Queued)) != 0 {
		t.Errorf("turns %v wait, %v", c.Turns, err)
	}
}
