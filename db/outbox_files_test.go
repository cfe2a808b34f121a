package db_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// nextPost is the oldest post that waits in the chat of the tests.
func nextPost(t testing.TB, d *db.DB) db.Post {
	t.Helper()
	p, err := d.Outbox().Next(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func leave(t testing.TB, d *db.DB, c db.Claim, p db.FileDelivery, idem string) (db.FileDelivery, bool) {
	t.Helper()
	p, fresh, err := d.Outbox().EnqueueFile(t.Context(), c.Turn, p, idem)
	if err != nil {
		t.Fatal(err)
	}
	return p, fresh
}

func TestAFileIsQueuedOnceBeforeTheCard(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "plot it"))
	c := claim(t, d, "s-1")
	give := db.FileDelivery{Name: "plot.png", Picture: true, Caption: "the plot", Size: 7, Copy: "c-1"}
	p, first := leave(t, d, c, give, "file:1")
	again, second := leave(t, d, c, give, "file:1")
	if !first || second || again != p || p.State != db.OnItsWay {
		t.Errorf("left %+v, %v, then %+v, %v", p, first, again, second)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "here it is"})
	post := nextPost(t, d)
	if post.File == nil || *post.File != p || post.Card != nil || post.ReplyTo != "om_1" {
		t.Fatalf("post %+v", post)
	}
	deliveries := d.Outbox()
	post.File.Upload = "image/img_1"
	if err := deliveries.SetUpload(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	if got := nextPost(t, d).File.Upload; got != "image/img_1" {
		t.Errorf("upload %q", got)
	}
	if posts, err := deliveries.Copies(t.Context()); err != nil || len(posts) != 1 || posts[0].Key != oc ||
		posts[0].ReplyTo != "om_1" || posts[0].File.Copy != "c-1" || posts[0].File.Upload != "image/img_1" {
		t.Errorf("copies %+v, %v", posts, err)
	}
	delivered(t, d, nextPost(t, d), "om_file")
	if got, err := deliveries.FileDelivery(t.Context(), p.ID); err != nil || got.State != db.Shown || got.Caption != "" {
		t.Errorf("shown: %+v, %v", got, err)
	}
	if names, err := deliveries.Copies(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("copies of delivered files: %v, %v", names, err)
	}
	if nextPost(t, d).Card == nil {
		t.Error("the card does not follow")
	}
	if _, fresh := leave(t, d, c, give, "file:1"); fresh {
		t.Error("a delivered file is delivered again")
	}
	if known, err := d.Messages().Known(t.Context(), oc, "om_file"); err != nil || !known {
		t.Errorf("the History lacks the file: %v", err)
	}
	if got := history(t, d, 0, 100); strings.Contains(got, "plot.png") {
		t.Errorf("history %q", got)
	}
}

// A file that cannot be delivered does not block the answer.
func TestAFileThatWaitsLetsOthersGoFirst(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "plot it"))
	c := claim(t, d, "s-1")
	leave(t, d, c, db.FileDelivery{Name: "a", Copy: "c-1"}, "file:1")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "done"})
	due := time.Now().Add(time.Minute)
	if err := d.Outbox().Delay(t.Context(), nextPost(t, d), due,
		db.Failure{Obstacle: chat.NoPermission}, true); err != nil {
		t.Fatal(err)
	}
	if err := d.Outbox().Enqueue(t.Context(), db.Post{Key: oc, Idem: "later", ReplyTo: "om_1",
		Text: "later"}); err != nil {
		t.Fatal(err)
	}
	card := nextPost(t, d)
	if card.Card == nil {
		t.Fatalf("next is %+v", card)
	}
	delivered(t, d, card, "")
	p := nextPost(t, d)
	if p.File == nil || p.Attempts != 1 || p.Due.UnixMilli() != due.UnixMilli() {
		t.Errorf("then %+v", p)
	}
	p.File.State = db.RefusedFile
	delivered(t, d, p, "")
	if got, err := d.Outbox().FileDelivery(t.Context(), p.File.ID); err != nil || got.State != db.RefusedFile {
		t.Errorf("%+v, %v", got, err)
	}
	if p := nextPost(t, d); p.Text != "later" {
		t.Errorf("last %+v", p)
	}
	accept(t, d, say("om_2", "more"))
	if next := claim(t, d, "s-1"); next.Turn.ID == c.Turn.ID {
		t.Error("the same turn again")
	}
}

func TestALongAnswerFollowsItsCardOnce(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "tell all"))
	c := claim(t, d, "s-1")
	end := db.TurnResult{Turn: c.Turn, Answer: "all of it", FileName: "answer.md", FileText: "all of it"}
	finish(t, d, end)
	end.State = convo.Done
	if err := d.Turns().Finish(t.Context(), end); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("finished twice: %v", err)
	}
	delivered(t, d, nextPost(t, d), "")
	p := nextPost(t, d)
	if p.File == nil || p.File.Copy != "" || p.Text != "all of it" || p.File.Name != "answer.md" ||
		p.ReplyTo != "om_1" {
		t.Fatalf("post %+v", p)
	}
	delivered(t, d, p, "om_file")
	if _, err := d.Outbox().Next(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("not everything was removed: %v", err)
	}
	d.At(t, time.Now().Add(31*24*time.Hour))
	if _, err := db.Sweep(t.Context(), d, db.Defaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Outbox().FileDelivery(t.Context(), p.File.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("never deleted: %v", err)
	}
}

func TestCardsNearATurnInATopic(t *testing.T) {
	d := fresh(t)
	topic := oc
	topic.Thread = "omt_1"
	var turns []int64
	for _, id := range []string{"om_1", "om_2"} {
		q := say(id, id)
		q.Key = topic
		accept(t, d, q)
		c, err := d.Turns().Claim(t.Context(), topic, startIn("s-1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Outbox().SetCard(t.Context(), db.Post{Key: c.Turn.Key, Turn: c.Turn.ID}, "card of "+id); err != nil {
			t.Fatal(err)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn})
		turns = append(turns, c.Turn.ID)
	}
	if cards, err := d.Outbox().OtherCards(t.Context(), db.Post{Key: topic, Turn: turns[1]}); err != nil ||
		!slices.Equal(cards, []string{"card of om_1"}) {
		t.Errorf("%v, %v", cards, err)
	}
	topic.ID = "oc_other"
	if cards, err := d.Outbox().OtherCards(t.Context(), db.Post{Key: topic, Turn: turns[1]}); err != nil ||
		len(cards) != 0 {
		t.Errorf("%v, %v", cards, err)
	}
}
