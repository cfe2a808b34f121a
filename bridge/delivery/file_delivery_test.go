package delivery

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A file waits for a platform that is down, also across restarts, and is shown once. Its turn's card does not wait for
// it forever.
func TestAFileIsDeliveredOverRestarts(t *testing.T) {
	out := &deliverytest.FileRecorder{FailAttach: errors.New("the platform is away")}
	r := newRig(t, out)
	turn := r.startTurn(room, "om_1")
	c, err := r.outbox.fileDelivery.copies.copyIn(r.project, "plot.png")
	r.must(err)
	files := r.store.Outbox()
	p, _, err := files.EnqueueFile(t.Context(), turn, db.FileDelivery{Name: "plot.png", Picture: true, Size: c.size,
		Copy: c.name}, "file:1")
	r.must(err)
	r.must(r.store.Turns().Finish(t.Context(), db.TurnResult{Turn: turn, State: convo.Done, Answer: "here it is"}))
	for range triesInOrder {
		post := r.next()
		if post.File == nil {
			t.Fatalf("the card went first: %+v", post)
		}
		r.outbox.deliver(t.Context(), post)
	}
	deliverytest.WriteFile(t, filepath.Join(r.dir, "left over"), []byte("from a crash"))
	r.remake(out) // a restart
	r.outbox.RemoveDeliveredCopies(t.Context())
	r.start()
	deliverytest.Until(t, "the card", func() bool { return slices.Equal(out.Order(), []string{"card"}) })
	out.Set(func() { out.FailAttach = nil })
	deliverytest.Until(t, "the file", func() bool {
		return slices.Equal(out.Order(), []string{"card", "file for om_1"})
	})
	deliverytest.Until(t, "an empty outbox", func() bool { return r.unsent() == 0 })
	deliverytest.Until(t, "no copy", func() bool { return r.copies() == 0 })
	if got, err := files.FileDelivery(t.Context(), p.ID); err != nil || got.State != db.Shown || len(out.Uploads()) != 1 {
		t.Errorf("%+v, %v, %d uploads", got, err, len(out.Uploads()))
	}
}

// A file that the app may not send does not hold up the answer for the minutes until it is tried again.
func TestAFileThatMayNotBeSentHoldsUpNothing(t *testing.T) {
	out := &deliverytest.FileRecorder{FailAttach: refusal{}}
	r := newRig(t, out)
	turn := r.startTurn(room, "om_1")
	r.must(r.store.Outbox().Enqueue(t.Context(), db.Post{
		Key: room, ReplyTo: "om_1", Idem: "file:1", File: &db.FileDelivery{Name: "a.md"}, Text: "words",
	}))
	r.must(r.store.Turns().Finish(t.Context(), db.TurnResult{Turn: turn, State: convo.Done, Answer: "here it is"}))
	r.outbox.deliver(t.Context(), r.next())
	if p := r.next(); p.File != nil {
		t.Errorf("the file goes before the answer: %+v", p)
	}
	r.outbox.Wake(room)
	r.flush()
	if order := out.Order(); !slices.Equal(order, []string{"card"}) || r.unsent() != 1 {
		t.Errorf("shown %q, %d wait", order, r.unsent())
	}
}

// A file that may have been shown long ago is looked up by the platform's file key.
func TestAFileThatMayHaveBeenShownLongAgoIsLookedFor(t *testing.T) {
	out := &deliverytest.FileRecorder{}
	r := newRig(t, out)
	p := db.Post{Key: room, Turn: r.startTurn(room, "om_1").ID, ReplyTo: "om_1", Created: time.Now().Add(-2 * keyLifetime),
		Text: "words",
		File: &db.FileDelivery{ID: 1, Name: "a.md", Upload: "file/7", State: db.OnItsWay}}
	out.Found = []chat.Sent{{ID: "om_card", Card: "om_card/x"}, {ID: "om_other", File: "file/6"},
		{ID: "om_it", File: "file/7"}}
	if id, err := r.outbox.present(t.Context(), p); err != nil || id != "om_it" || len(out.Attached) != 0 {
		t.Errorf("%s, %v, shown %v", id, err, out.Attached)
	}
	out.Found = out.Found[:2]
	if id, err := r.outbox.present(t.Context(), p); err != nil || id != "om_file_7" {
		t.Errorf("%s, %v", id, err)
	}
}

// In a topic it is unknown which message answers which: a message of something else must not count as this one.
func TestMessagesOfOthersInATopicDoNotCount(t *testing.T) {
	out := &deliverytest.FileRecorder{}
	r := newRig(t, out)
	topic := room
	topic.Thread = "omt_1"
	var turns []db.Turn
	for _, id := range []string{"om_1", "om_2"} {
		turn := r.startTurn(topic, id)
		turns = append(turns, turn)
		r.must(r.store.Turns().Finish(t.Context(), db.TurnResult{Turn: turn, State: convo.Done}))
	}
	r.must(r.store.Outbox().SetCard(t.Context(), db.Post{Key: turns[0].Key, Turn: turns[0].ID}, "om_c1/entity"))
	out.Found = []chat.Sent{{ID: "om_said"}, {ID: "om_c1", Card: "om_c1/id"}, {ID: "om_c2", Card: "om_c2/id"},
		{ID: "om_new"}}
	said := db.Post{Key: topic, ReplyTo: "om_0", Idem: "x", Text: "earlier reply"}
	r.must(r.store.Outbox().Enqueue(t.Context(), said))
	for { // the existing reply belongs to another command
		p, err := r.store.Outbox().Next(t.Context(), topic)
		r.must(err)
		r.must(r.store.Outbox().MarkDelivered(t.Context(), p, "om_said"))
		if strings.HasSuffix(p.Idem, " x") {
			break
		}
	}
	long := time.Now().Add(-2 * keyLifetime)
	if id, err := r.outbox.send(t.Context(), chat.Ref{Key: topic, ID: "om_2"},
		db.Post{Key: topic, Text: "words", Created: long}); err != nil || id != "om_new" {
		t.Errorf("a text: %s, %v", id, err)
	}
	if card, err := r.outbox.FindCard(t.Context(), chat.Ref{Key: topic, ID: "om_2"},
		db.Post{Key: topic, Turn: turns[1].ID, Begun: long},
	); err != nil || card != "om_c2/id" {
		t.Errorf("a card: %s, %v", card, err)
	}
}

func TestFileNames(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.txt": "b.txt", "报告 1.pdf": "报告 1.pdf", "x\u202egnp.exe": "xgnp.exe", "a\nb.txt": "a b.txt", "\u200b": "file",
		`c:\d|e.txt`: "d_e.txt",
	} {
		if got := fileName(path); got != want {
			t.Errorf("%q is shown as %q", path, got)
		}
	}
}
