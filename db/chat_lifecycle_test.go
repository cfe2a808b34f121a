package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/racetest"
)

// answer runs a whole turn: the question, and its answer in a session that holds that many tokens.
func answer(t testing.TB, d *db.DB, id, question string, tokens int64) db.Claim {
	t.Helper()
	accept(t, d, say(id, question))
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "re: " + question,
		Session: db.Session{ID: c.Turn.Session, Tokens: tokens, Window: 200_000}})
	return c
}

func chatOf(t testing.TB, d *db.DB) db.Chat {
	t.Helper()
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// replies counts the texts that are to be delivered as answers to a message.
func replies(t testing.TB, d *db.DB, to string) (n int) {
	t.Helper()
	err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM outbox WHERE turn_id = 0 AND reply_to = ?1`, to).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// compact replaces the chat's summary.
func compact(t *testing.T, d *db.DB, epoch int64, s db.Summary, reply string) error {
	t.Helper()
	return d.Chats().Compact(t.Context(), db.Compaction{Key: oc, Epoch: epoch, Before: chatOf(t, d).Summary, Summary: s,
		Reply: reply})
}

func TestASummaryTakesThePlaceOfTheSession(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "one", 90_000)
	answer(t, d, "om_2", "two", 103_000)
	if c := chatOf(t, d); c.Session.Tokens != 103_000 || c.Session.Window != 200_000 || c.Turned.IsZero() ||
		c.ContextAfter() != 0 {
		t.Fatalf("chat %+v", c)
	}
	ask := say("om_3", "/compact")
	ask.Class, ask.Effects = chat.Command, []db.Effect{db.RequestSummary{}}
	accept(t, d, ask)
	if keys, err := d.Chats().AwaitedCompactions(t.Context()); err != nil || len(keys) != 1 || keys[0] != oc {
		t.Errorf("awaited %v, %v", keys, err)
	}
	later := time.Now().Add(49 * time.Hour).UTC().Truncate(time.Millisecond)
	d.At(t, later)
	s := db.Summary{Text: "one was said", Seq: 2, Until: time.UnixMilli(7000).UTC()}
	if err := compact(t, d, 0, s, "done"); err != nil {
		t.Fatal(err)
	}
	c := chatOf(t, d)
	if c.Summary != s || c.Session != (db.Session{}) || c.ContextAfter() != 2 || c.Compacting != "" ||
		!c.Turned.Equal(later) ||
		replies(t, d, "om_3") != 1 {
		t.Errorf("chat %+v", c)
	}
	if list, err := d.Messages().Answered(t.Context(), oc, 0, c.ContextAfter(), 10); err != nil ||
		texts(list) != "a:re: two u:two" {
		t.Errorf("settled since: %s, %v", texts(list), err)
	}
	// A summary that covers no more than the present one, or belongs to another epoch, changes nothing and is not
	// announced twice.
	for _, late := range []struct{ epoch, seq int64 }{{0, 2}, {0, 1}, {1, 4}} {
		err := compact(t, d, late.epoch, db.Summary{Text: "late", Seq: late.seq}, "late")
		if !errors.Is(err, db.ErrNotFound) {
			t.Errorf("%+v: %v", late, err)
		}
	}
	if err := d.Chats().Compact(t.Context(), db.Compaction{Key: oc, Reply: "again"}); err != nil || replies(t, d, "om_3") != 1 ||
		chatOf(t, d).Summary != s {
		t.Errorf("told again: %v", err)
	}
	again := say("om_4", "/new")
	again.Class, again.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, again)
	if c := chatOf(t, d); c.Summary != (db.Summary{}) || c.ContextAfter() != 0 || c.Epoch != 1 {
		t.Errorf("after /new: %+v", c)
	}
}

// A summary is stored with all its consequences, or not at all.
func TestASummaryThatCannotBeStoredChangesNothing(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "one", 103_000)
	ask := say("om_2", "/compact")
	ask.Class, ask.Effects = chat.Command, []db.Effect{db.RequestSummary{}}
	accept(t, d, ask)
	before := chatOf(t, d)
	trigger := func(statement string) {
		t.Helper()
		if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"INSERT ON outbox", "UPDATE OF compact_for ON chats"} {
		bad := dbtest.Trigger{Name: "bad", On: "BEFORE " + table}
		trigger(bad.Create())
		if err := compact(t, d, 0, db.Summary{Text: "x", Seq: 1}, "done"); err == nil {
			t.Errorf("%s: stored", table)
		}
		if c := chatOf(t, d); c != before || replies(t, d, "om_2") != 0 {
			t.Errorf("%s: chat %+v", table, c)
		}
		trigger(bad.Drop())
	}
}

// Imported messages may have a seq below 0, where only the order tells what is older.
func TestASummaryOfWhatWasImported(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "now", 1000)
	var old []db.Record
	for i := range 6 {
		old = append(old, db.Record{Message: chat.Message{Key: oc, ID: fmt.Sprintf("old_%d", i), Role: chat.User,
			Class: chat.Talk,
			Text:  fmt.Sprint("old ", i), Time: time.UnixMilli(int64(i + 1))}})
	}
	if _, err := d.Messages().Importer()(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	list, err := d.Messages().Answered(t.Context(), oc, 0, 0, 100)
	if err != nil || len(list) != 8 || list[7].Text != "old 0" || list[3].Seq >= 0 {
		t.Fatalf("settled %s, %v", texts(list), err)
	}
	if err := compact(t, d, 0, db.Summary{Text: "old", Seq: list[3].Seq}, ""); err != nil {
		t.Fatal(err)
	}
	c := chatOf(t, d)
	if got, err := d.Messages().Answered(t.Context(), oc, 0, c.ContextAfter(), 100); err != nil ||
		texts(got) != "a:re: now u:now u:old 5" {
		t.Errorf("settled since: %s, %v", texts(got), err)
	}
	if err := compact(t, d, 0, db.Summary{Text: "more", Seq: list[2].Seq}, ""); err != nil {
		t.Errorf("it cannot be extended: %v", err)
	}
}

// However long a chat is, no more than requested is loaded, and nothing is deleted.
func TestLoadingIsBounded(t *testing.T) {
	racetest.Skip(t)
	d := fresh(t)
	const all = 600
	for i := range all {
		e := say(fmt.Sprintf("om_%d", i), fmt.Sprint(i))
		accept(t, d, e)
		c := claim(t, d, "s-1")
		finish(t, d, db.TurnResult{Turn: c.Turn})
	}
	list, err := d.Messages().Answered(t.Context(), oc, 0, 0, 500)
	if err != nil || len(list) != 500 || list[0].Text != "599" || list[499].Text != "100" {
		t.Errorf("%d messages, %v", len(list), err)
	}
	missed, err := d.Messages().Unseen(t.Context(), oc, 0, 0, 1<<62)
	if err != nil || len(missed) != 500 || missed[499].Text != "599" {
		t.Errorf("%d messages unseen, %v", len(missed), err)
	}
	kept := 0
	for _, err := range d.Messages().Range(t.Context(), oc, 0, 0, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		kept++
	}
	if kept != all {
		t.Errorf("%d messages kept", kept)
	}
}

func TestWhatIsBeingAskedIsNotSettled(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "one", 0)
	accept(t, d, say("om_2", "two"))
	if list, err := d.Messages().Answered(t.Context(), oc, 0, 0, 10); err != nil || texts(list) != "a:re: one u:one" {
		t.Errorf("queued: %s, %v", texts(list), err)
	}
	claim(t, d, "s-1")
	if list, err := d.Messages().Answered(t.Context(), oc, 0, 0, 10); err != nil || texts(list) != "a:re: one u:one" {
		t.Errorf("running: %s, %v", texts(list), err)
	}
}

// A question that comes while the messages are read is not among them either.
func TestAQuestionThatComesIsNotSettled(t *testing.T) {
	d := fresh(t)
	for i := range 50 {
		began, read := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(read)
			for once := sync.OnceFunc(func() { close(began) }); ; once() {
				list, err := d.Messages().Answered(t.Context(), oc, 0, 0, 1000)
				if err != nil || len(list)%2 != 0 {
					t.Errorf("%d messages, %v", len(list), err)
					return
				}
				if len(list) > 2*i {
					return
				}
			}
		}()
		<-began
		answer(t, d, fmt.Sprint("om_", i), "question", 0)
		<-read
	}
}

// The size of a session is known until the chat gets another session.
func TestHowMuchASessionHoldsIsKept(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "one", 5000)
	answer(t, d, "om_2", "two", 0) // the agent did not report it
	if c := chatOf(t, d); c.Session.Tokens != 5000 {
		t.Errorf("%d tokens", c.Session.Tokens)
	}
	if err := d.Chats().ForgetSession(t.Context(), oc, "s-1"); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_3", "three"))
	c := claim(t, d, "s-2")
	finish(t, d, db.TurnResult{Turn: c.Turn, Session: db.Session{ID: "s-2"}})
	if c := chatOf(t, d); c.Session.ID != "s-2" || c.Session.Tokens != 0 || c.Session.Window != 0 {
		t.Errorf("%+v", c.Session)
	}
}

func TestAStaleChatStartsOver(t *testing.T) {
	d := fresh(t)
	answer(t, d, "om_1", "one", 5000)
	if err := compact(t, d, 0, db.Summary{Text: "x", Seq: 1}, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.Chats().RestartContext(t.Context(), oc, 7, 2); err != nil { // another epoch
		t.Fatal(err)
	}
	if c := chatOf(t, d); c.ContextStart != 0 {
		t.Errorf("chat %+v", c)
	}
	if err := d.Chats().RestartContext(t.Context(), oc, 0, 2); err != nil {
		t.Fatal(err)
	}
	c := chatOf(t, d)
	if c.ContextStart != 2 || c.ContextAfter() != 2 || c.Summary != (db.Summary{}) || c.Session.ID != "" {
		t.Errorf("chat %+v", c)
	}
	if err := compact(t, d, 0, db.Summary{Text: "of before", Seq: 2}, ""); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a summary from before: %v", err)
	}
}

func TestATitleIsGivenOnce(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	for _, topic := range []string{"first", "second"} {
		if err := d.Chats().SetTopic(t.Context(), oc, 0, topic, nil); err != nil {
			t.Fatal(err)
		}
	}
	e := say("om_2", "two")
	e.Title = "what the platform calls it"
	accept(t, d, e)
	if c := chatOf(t, d); c.Topic != "first" || c.Title != "what the platform calls it" {
		t.Errorf("chat %+v", c)
	}
}

// Sessions on other machines are dropped when a summary replaces their content or a new conversation begins.
func TestSessionsOfOtherMachinesAreDropped(t *testing.T) {
	for name, change := range map[string]func(*db.DB) error{
		"summary":   func(d *db.DB) error { return compact(t, d, 0, db.Summary{Text: "x", Seq: 2}, "") },
		"beginning": func(d *db.DB) error { return d.Chats().RestartContext(t.Context(), oc, 0, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			for i, node := range []string{"here", "there"} {
				accept(t, d, say(fmt.Sprint("om_", i), "hello"))
				c, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "s-" + node, Prompt: node, Node: node, Resume: true})
				if err != nil || c.Turn.Session != "s-"+node && i == 0 {
					t.Fatalf("%+v %v", c.Turn, err)
				}
				finish(t, d, db.TurnResult{Turn: c.Turn, Session: db.Session{ID: "s-" + node, Node: node, Cwd: "/"}})
			}
			if err := change(d); err != nil {
				t.Fatal(err)
			}
			for _, node := range []string{"there", "here"} {
				accept(t, d, say("om_"+node, "hello"))
				c, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "new-" + node, Prompt: "p-" + node, Node: node, Resume: true})
				if err != nil || c.Resume && c.Turn.Session != "new-there" {
					t.Errorf("%s resumes %s, %v", node, c.Turn.Session, err)
				}
				finish(t, d, db.TurnResult{Turn: c.Turn, Session: db.Session{ID: c.Turn.Session, Node: node, Cwd: "/"}})
			}
		})
	}
}
