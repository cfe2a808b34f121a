package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// over is the card of a question that was recalled before it was answered.
var over = chat.Card{Body: "taken back"}

func recall(t testing.TB, d *db.DB, id string) db.Recalled {
	t.Helper()
	r, err := d.Messages().Recall(t.Context(), oc, id, over)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func edit(t testing.TB, d *db.DB, id, text string) db.AcceptResult {
	t.Helper()
	e := say(id, text)
	e.Held = &chat.Card{Body: "again?"}
	a, err := d.Messages().Edit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// answered asks a question and answers it.
func answered(t testing.TB, d *db.DB, id, question, answer string) db.Turn {
	t.Helper()
	accept(t, d, say(id, question))
	c := claim(t, d, "s-"+id)
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: answer, Session: db.Session{ID: c.Turn.Session}})
	return c.Turn
}

func TestAQueuedQuestionIsRecalled(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	if r := recall(t, d, "om_1"); r.Key != oc || r.Running != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("s")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("it is still asked: %v", err)
	}
	empty(t, d)
	accept(t, d, say("om_2", "two"))
	accept(t, d, say("om_3", "three"))
	recall(t, d, "om_3")
	if c := claim(t, d, "s"); texts(c.Asked) != "u:two" {
		t.Errorf("the turn asks %q", texts(c.Asked))
	}
}

func TestARunningTurnLosesItsQuestion(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_0", "zero", "nothing")
	accept(t, d, say("om_1", "one"))
	c := claim(t, d, "s")
	if r := recall(t, d, "om_1"); r.Running != c.Turn.ID {
		t.Errorf("%+v", r)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "one is",
		Session: db.Session{ID: c.Turn.Session}})
	if got := history(t, d, 0, 99); got != "a:nothing u:zero" {
		t.Errorf("history %q", got)
	}
	if got, err := d.Chats().Get(t.Context(), oc); err != nil || got.Session.ID != "" {
		t.Errorf("the session that contains it is kept: %+v, %v", got.Session, err)
	}
}

// pressedAt is a question that somebody asked with a button of a card.
func pressedAt(card, text string) db.Inbound {
	e := say(db.PressID("ev_1"), text)
	e.ReplyTo = card
	return e
}

func TestOtherQuestionsAreAskedAgain(t *testing.T) {
	for _, acted := range []bool{false, true} {
		d := fresh(t)
		accept(t, d, say("om_1", "one"))
		accept(t, d, pressedAt("om_card", "again")) // a question from a button
		accept(t, d, say("om_2", "two"))
		c := claim(t, d, "s")
		if acted {
			if _, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: c.Turn.ID, Acted: true}); err != nil {
				t.Fatal(err)
			}
		}
		if r := recall(t, d, "om_2"); r.Running != c.Turn.ID {
			t.Errorf("%+v", r)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "two is",
			Session: db.Session{ID: c.Turn.Session}})
		again, err := d.Turns().Claim(t.Context(), oc, startIn("s2"))
		if acted {
			if !errors.Is(err, db.ErrNotFound) {
				t.Errorf("a tool may run twice: %v", err)
			}
			continue
		}
		if err != nil || texts(again.Asked) != "u:one u:again" || again.Turn.ReplyTo != "om_1" || again.Resume {
			t.Errorf("asked %q in answer to %s, %v", texts(again.Asked), again.Turn.ReplyTo, err)
		}
		if got := history(t, d, 0, again.Turn.ID); got != "" {
			t.Errorf("history %q", got)
		}
	}
}

// What a running turn asks besides a recalled question is decided about when it has stopped: until then its agent may
// use a tool, or give the answer.
func TestTheRestOfARecalledTurnWaitsForItsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile bool // a tool is used between the recall and the stop
		end       convo.Phase
		again     bool
	}{
		"stopped":             {false, convo.Cancelled, true},
		"a tool was used":     {true, convo.Cancelled, false},
		"answered meanwhile":  {false, convo.Done, false},
		"failed meanwhile":    {false, convo.Failed, false},
		"stopped by a person": {false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			accept(t, d, say("om_1", "one"))
			accept(t, d, say("om_2", "two"))
			c := claim(t, d, "s")
			recall(t, d, "om_2")
			if c, err := d.Turns().Of(t.Context(), oc); err != nil || len(c.In(convo.Queued)) > 0 {
				t.Errorf("turns %v wait while the agent may still work, %v", c.Turns, err)
			}
			if tc.end == 0 {
				tc.end = convo.Cancelled
				if _, err := d.Turns().Happens(t.Context(), oc, convo.Stops{Turns: []int64{c.Turn.ID}}); err != nil {
					t.Fatal(err)
				}
			}
			if tc.meanwhile {
				if _, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: c.Turn.ID, Acted: true}); err != nil {
					t.Fatal(err)
				}
			}
			finish(t, d, db.TurnResult{Turn: c.Turn, State: tc.end, Answer: "one is"})
			switch again, err := d.Turns().Claim(t.Context(), oc, startIn("s2")); {
			case tc.again && (err != nil || texts(again.Asked) != "u:one"):
				t.Errorf("asked again: %q, %v", texts(again.Asked), err)
			case !tc.again && !errors.Is(err, db.ErrNotFound):
				t.Errorf("asked again: %q, %v", texts(again.Asked), err)
			}
		})
	}
}

func TestAnAnsweredQuestionIsRecalled(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_1", "one", "a1")
	answered(t, d, "om_2", "two", "a2")
	if err := compact(t, d, 0, db.Summary{Text: "one and two", Seq: 3}, ""); err != nil {
		t.Fatal(err)
	}
	recall(t, d, "om_1")
	recall(t, d, "om_1") // delivered again
	if got := history(t, d, 0, 99); got != "a:a2 u:two" {
		t.Errorf("history %q", got)
	}
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil || c.Session.ID != "" || c.Summary.Text != "" {
		t.Errorf("a session that may contain it is kept: %+v, %v", c, err)
	}
}

func TestAMessageIsRecalledBeforeItArrives(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_0", "zero"))
	for range 2 {
		if _, err := d.Messages().Recall(t.Context(), oc, "om_1", over); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("an unknown message: %v", err)
		}
	}
	if a := accept(t, d, say("om_1", "one")); !a.Fresh || a.Turn != 0 {
		t.Errorf("%+v", a)
	}
	if c := claim(t, d, "s"); texts(c.Asked) != "u:zero" {
		t.Errorf("the turn asks %q", texts(c.Asked))
	}
}

func TestAMessageOfATopicIsRecalled(t *testing.T) {
	d := fresh(t)
	topic := oc
	topic.Thread = "omt_1"
	e := say("om_1", "one")
	e.Key = topic
	accept(t, d, e)
	if r := recall(t, d, "om_1"); r.Key != topic {
		t.Errorf("%+v", r)
	}
	other := chat.FeishuChat("oc_other")
	if _, err := d.Messages().Recall(t.Context(), other, "om_1", over); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("another chat recalled it: %v", err)
	}
}

func TestAQueuedQuestionIsEdited(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	first := edit(t, d, "om_1", "two")
	if a := edit(t, d, "om_1", "two"); a.Fresh {
		t.Errorf("the same again: %+v", a)
	}
	second := edit(t, d, "om_1", "three")
	if !first.Fresh || first.Turn == 0 || second.Turn != first.Turn {
		t.Errorf("%+v, %+v", first, second)
	}
	c := claim(t, d, "s")
	if texts(c.Asked) != "u:three" || c.Turn.ReplyTo != "om_1" {
		t.Errorf("the turn asks %q and answers %s", texts(c.Asked), c.Turn.ReplyTo)
	}
	empty(t, d)
}

func TestAnAnsweredQuestionIsEdited(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_1", "one", "a1")
	delivered(t, d, next(t, d), "")
	edit(t, d, "om_1", "two")
	a := edit(t, d, "om_1", "three")
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("s")); !errors.Is(err, db.ErrNotFound) {
		t.Fatalf("it is answered without a request: %v", err)
	}
	p := next(t, d)
	if p.Card.Body != "again?" || p.ReplyTo != "om_1" || p.Turn != a.Turn {
		t.Errorf("post %+v", p)
	}
	delivered(t, d, p, "")
	empty(t, d)
	if err := d.Turns().Decide(t.Context(),
		db.Decision{Key: oc, Turn: a.Turn, Event: "e1", GoOn: true}); err != nil {
		t.Fatal(err)
	}
	c := claim(t, d, "s")
	if texts(c.Asked) != "u:three" || c.Turn.ReplyTo != "om_1" {
		t.Errorf("the turn asks %q and answers %s", texts(c.Asked), c.Turn.ReplyTo)
	}
	if got := history(t, d, 0, c.Turn.ID); got != "a:a1 u:one" {
		t.Errorf("history %q", got)
	}
	if a := edit(t, d, "om_9", "who?"); a.Fresh {
		t.Errorf("an unknown message was changed: %+v", a)
	}
	recall(t, d, "om_1")
	if got := history(t, d, 0, c.Turn.ID); got != "" {
		t.Errorf("with all its versions recalled: %q", got)
	}
}

// The offer to answer an edited question is posted below that question, so each has its own turn.
func TestEachEditedQuestionHasAnOfferOfItsOwn(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_1", "one", "a1")
	answered(t, d, "om_2", "two", "a2")
	deliver(t, d)
	turns := map[int64]bool{}
	for _, id := range []string{"om_1", "om_2"} {
		turns[edit(t, d, id, "changed").Turn] = true
	}
	turns[accept(t, d, lateQuestion("om_3", "late")).Turn] = true
	if len(turns) != 3 {
		t.Errorf("they wait in %d turns", len(turns))
	}
	var below []string
	for _, p := range deliver(t, d) {
		below = append(below, p.ReplyTo)
	}
	if want := []string{"om_1", "om_2", "om_3"}; !slices.Equal(below, want) {
		t.Errorf("offers are below %q, want %q", below, want)
	}
}

func TestWhoForgotToMentionTheBotAddsIt(t *testing.T) {
	d := fresh(t)
	e := say("om_1", "do it")
	e.Kind, e.Class = chat.Group, chat.Overheard
	accept(t, d, e)
	if a := edit(t, d, "om_1", "do it now"); a.Turn == 0 {
		t.Errorf("%+v", a)
	}
	if c := claim(t, d, "s"); texts(c.Asked) != "u:do it now" {
		t.Errorf("the turn asks %q", texts(c.Asked))
	}
}

func TestFilesBelongToTheirMessage(t *testing.T) {
	d := fresh(t)
	e := say("om_1", "[文件 a.pdf] sum it up")
	e.Files = []chat.File{{Kind: chat.Document, Of: "om_1", Key: "k1", Name: "a.pdf"},
		{Kind: chat.Sound, Of: "om_1", Key: "k2", Length: 3 * time.Second}}
	accept(t, d, e)
	c := claim(t, d, "s")
	got := c.Asked[0].Files
	if len(got) != 2 || got[0].Number != 1 || got[1].Number != 2 || got[0].State != chat.Wanted ||
		got[1].Length != 3*time.Second || got[0].Name != "a.pdf" {
		t.Fatalf("files %+v", got)
	}
	got[0].State, got[0].Path = chat.Here, "x/1-1-a.pdf"
	if err := d.Messages().FinishFile(t.Context(), oc, "om_1", got[0], 7, "the words of heron"); err != nil {
		t.Fatal(err)
	}
	if err := d.Messages().FinishFile(t.Context(), oc, "om_1", got[0], 7, ""); err != nil {
		t.Errorf("fetched again: %v", err)
	}
	found, err := d.Search().Find(t.Context(), oc, 0, []string{"heron", "sum"}, 10)
	if err != nil || len(found.Terms[0].Seqs) != 1 || len(found.Terms[1].Seqs) != 0 {
		t.Errorf("found by its new words and not by the old ones: %+v, %v", found, err)
	}
	q, err := d.Messages().Quoted(t.Context(), oc, "om_1")
	if err != nil || q.Text != "the words of heron" || q.Files[0].Path != "x/1-1-a.pdf" {
		t.Errorf("quoted %+v, %v", q, err)
	}
	if r := recall(t, d, "om_1"); !slices.Equal(r.Files, []string{"x/1-1-a.pdf"}) || r.Running == 0 {
		t.Errorf("%+v", r)
	}
	if err := d.Messages().FinishFile(t.Context(), oc, "om_1", got[1], 7, ""); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("of a recalled message: %v", err)
	}
	if _, err := d.Messages().Quoted(t.Context(), oc, "om_1"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("quoted nevertheless: %v", err)
	}
}

func TestAnAnswerIsQuotedByItsCard(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	c := claim(t, d, "s")
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: c.Turn.Key, Turn: c.Turn.ID}, "om_card/7"); err != nil {
		t.Fatal(err)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a1"})
	q, err := d.Messages().Quoted(t.Context(), oc, "om_card")
	if err != nil || q.Text != "a1" || q.Role != chat.Assistant {
		t.Errorf("quoted %+v, %v", q, err)
	}
	if _, err := d.Messages().Quoted(t.Context(), oc, "om_ca"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("by a part of its id: %v", err)
	}
}

func TestWhoAsksSentTheFileBefore(t *testing.T) {
	d := fresh(t)
	at := time.UnixMilli(1_000_000)
	groupTalk := func(id, who string, ago time.Duration) {
		e := say(id, "[文件 "+id+"]")
		e.Kind, e.Class, e.Actor.ID, e.Time = chat.Group, chat.Overheard, who, at.Add(-ago)
		e.Files = []chat.File{{Kind: chat.Document, Of: id, Key: "k"}}
		accept(t, d, e)
	}
	groupTalk("old", "ou_1", 3*time.Minute)
	groupTalk("other", "ou_2", time.Minute)
	groupTalk("mine", "ou_1", time.Minute)
	e := say("om_1", "sum it up")
	e.Kind, e.Time = chat.Group, at
	accept(t, d, e)
	if c := claim(t, d, "s"); texts(c.Asked) != "u:[文件 mine] u:sum it up" {
		t.Errorf("the turn asks %q", texts(c.Asked))
	}
}

func TestGroupTalkHasItsFiles(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "x"))
	talk := say("om_2", "[文件 a.pdf]").Incoming
	talk.Files = []chat.File{{Kind: chat.Document, Of: "om_2", Key: "k"}}
	for range 2 {
		if err := d.Messages().StoreOverheard(t.Context(), oc, 0, []chat.Incoming{talk}); err != nil {
			t.Fatal(err)
		}
	}
	q, err := d.Messages().Quoted(t.Context(), oc, "om_2")
	if err != nil || len(q.Files) != 1 || q.Files[0].Key != "k" {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestFilesHaveTheirTime(t *testing.T) {
	d := fresh(t)
	e := say("om_1", "x")
	e.Files = []chat.File{{Kind: chat.Document, Of: "om_1", Key: "k1"}}
	accept(t, d, e)
	c := claim(t, d, "s")
	f := c.Asked[0].Files[0]
	f.State, f.Path = chat.Here, "x/1"
	if err := d.Messages().FinishFile(t.Context(), oc, "om_1", f, 1, ""); err != nil {
		t.Fatal(err)
	}
	for want, before := range []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Hour)} {
		if n, err := d.Messages().ExpireFiles(t.Context(), before); err != nil || n != want {
			t.Errorf("%d files are past, %v; want %d", n, err, want)
		}
	}
	if q, err := d.Messages().Quoted(t.Context(), oc, "om_1"); err != nil || q.Files[0].State != chat.Past ||
		q.Files[0].Path != "" {
		t.Errorf("%+v, %v", q.Files, err)
	}
}

// seen is everything that a later context can be built from.
func seen(t testing.TB, d *db.DB, ids []string) string {
	t.Helper()
	ctx := t.Context()
	var s strings.Builder
	put := func(list []chat.Message, err error) {
		if err != nil {
			t.Fatal(err)
		}
		s.WriteString(texts(list) + "\n")
	}
	s.WriteString(history(t, d, 0, 1<<40))
	put(d.Messages().Unseen(ctx, oc, 0, 0, 1<<40))
	put(d.Messages().Latest(ctx, oc, 1000))
	put(d.Messages().ByID(ctx, oc, ids))
	put(d.Messages().Answered(ctx, oc, 0, 0, 1000))
	put(d.Messages().Overheard(ctx, oc, 0, 0, time.Now(), 1000))
	var seqs []int64
	for i := range int64(2000) {
		seqs = append(seqs, i)
	}
	put(d.Messages().BySeq(ctx, oc, seqs))
	var all []chat.Message
	for i := range int64(100) {
		all = append(all, chat.Message{Seq: 64 * i, Turn: i%20 + 1})
	}
	put(d.Messages().SameTurn(ctx, oc, all))
	for r, err := range d.Messages().Export(ctx, oc) {
		put([]chat.Message{r.Message}, err)
	}
	missing, err := d.Search().Unembedded(ctx, "m", 0, 0, 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range missing {
		s.WriteString(u.Text + "\n")
	}
	return s.String()
}

// After any sequence of events, nothing that is read for a later context contains a recalled message.
func TestNothingReadsRecalledMessages(t *testing.T) {
	d := fresh(t)
	r := rand.New(rand.NewPCG(7, 7))
	words := map[string]bool{} // the word of each message; true = recalled
	var ids []string
	of := map[string][]string{} // the words of a message's versions
	for n := range 400 {
		word := fmt.Sprintf("word%d", n)
		switch roll := r.IntN(10); {
		case roll < 5 || len(ids) == 0:
			id := fmt.Sprintf("om_%d", n)
			e := say(id, "say "+word)
			if e.Time = time.UnixMilli(int64(n) * 1000); roll == 0 {
				e.Kind, e.Class = chat.Group, chat.Overheard
			}
			accept(t, d, e)
			ids, of[id], words[word] = append(ids, id), append(of[id], word), false
		case roll < 7:
			c, err := d.Turns().Claim(t.Context(), oc, startIn(fmt.Sprint("s", n)))
			if errors.Is(err, db.ErrNotFound) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "answer" + word, Session: db.Session{ID: c.Turn.Session}})
		case roll < 8:
			id := ids[r.IntN(len(ids))]
			if a := edit(t, d, id, "say "+word); a.Fresh {
				of[id], words[word] = append(of[id], word), false
			}
		default:
			id := ids[r.IntN(len(ids))]
			recall(t, d, id)
			for _, w := range of[id] {
				words[w] = true
			}
		}
	}
	check := func(when string, d *db.DB) {
		t.Helper()
		said := seen(t, d, ids)
		for word, gone := range words {
			found, err := d.Search().Find(t.Context(), oc, 0, []string{word}, 10)
			if err != nil {
				t.Fatal(err)
			}
			if gone && (strings.Contains(said+" ", "say "+word+" ") || strings.Contains(said, "say "+word+"\n") ||
				len(found.Terms) > 0 && len(found.Terms[0].Seqs) > 0) {
				t.Errorf("%s: %s was recalled and is still read", when, word)
			}
		}
	}
	check("at once", d)
	kept := 0
	for _, gone := range words {
		if !gone {
			kept++
		}
	}
	if kept < 50 || kept == len(words) {
		t.Fatalf("%d of %d messages were not recalled: the test proves nothing", kept, len(words))
	}
}

func TestRecallDuringTheEndOfTheTurn(t *testing.T) {
	d := fresh(t)
	for n := range 20 {
		id := fmt.Sprintf("om_%d", n)
		accept(t, d, say(id, "secret"))
		c := claim(t, d, id)
		done := make(chan error, 2)
		go func() {
			_, err := d.Messages().Recall(context.Background(), oc, id, over)
			done <- err
		}()
		go func() {
			done <- d.Turns().Finish(context.Background(),
				db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "secret", Session: db.Session{ID: id}})
		}()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Fatal(err)
		}
		got, err := d.Chats().Get(t.Context(), oc)
		if h := history(t, d, 0, 1<<40); err != nil || h != "" || got.Session.ID != "" {
			t.Fatalf("history %q, session %q, %v", h, got.Session.ID, err)
		}
	}
}

// Each message of a long answer is quoted as what it shows. Nothing of it is left when the answer is deleted.
func TestAPageOfAnAnswerIsQuotedAndGoesWithIt(t *testing.T) {
	d := fresh(t)
	accept(t, d, old("om_1", "one", 400*day))
	c := claim(t, d, "s")
	pages := func(list map[string]string) {
		t.Helper()
		if err := d.Messages().SetPages(t.Context(), oc, c.Turn.ID, list); err != nil {
			t.Fatal(err)
		}
	}
	quoted := func(id, want string) {
		t.Helper()
		q, err := d.Messages().Quoted(t.Context(), oc, id)
		if want == "" && !errors.Is(err, db.ErrNotFound) || want != "" && (q.Text != want || q.Role != chat.Assistant) {
			t.Errorf("%s is quoted as %+v, %v, want %q", id, q, err, want)
		}
	}
	pages(map[string]string{"om_a": "no answer yet"})
	quoted("om_a", "")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a1 a2"})
	pages(map[string]string{"om_a": "a1", "om_b": "a0"})
	pages(map[string]string{"om_a": "a1", "om_c": "a2"})
	quoted("om_a", "a1")
	quoted("om_b", "")
	quoted("om_c", "a2")
	if _, err := d.Messages().Quoted(t.Context(), chat.FeishuChat("oc_other"), "om_c"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("from another chat: %v", err)
	}
	recall(t, d, "om_1")
	quoted("om_c", "")
	cfg := db.Defaults()
	cfg.HistoryTTL.Duration = time.Nanosecond
	if _, err := db.Sweep(t.Context(), d, cfg); err != nil {
		t.Fatal(err)
	}
	rows, err := d.Read(`SELECT text FROM answer_pages`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	if rows.Next() || rows.Err() != nil {
		t.Errorf("text of a deleted answer is left, %v", rows.Err())
	}
}
