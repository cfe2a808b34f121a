package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// The conversation of most tests.
var (
	oc      = dbtest.Chat
	open    = dbtest.Open
	say     = dbtest.Say
	accept  = dbtest.Accept
	startIn = dbtest.StartIn
	claim   = dbtest.Claim
	finish  = dbtest.Finish
	texts   = dbtest.Texts
	history = dbtest.History
)

// fresh opens an empty database that checks the locks of all writes.
func fresh(t testing.TB) *db.DB {
	t.Helper()
	d := dbtest.New(t)
	if dbtest.Verifies(t) && !dbtest.OnPostgres() {
		d.CheckLocks(t)
	}
	return d
}

func TestARedeliveredMessageIsAcceptedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "magpie.db")
	first := open(t, path)
	if a := accept(t, first, say("om_1", "hi")); !a.Fresh || a.Turn == 0 {
		t.Fatalf("first delivery: %+v", a)
	}
	if a := accept(t, first, say("om_1", "hi")); a.Fresh || a.Turn != 0 {
		t.Fatalf("second delivery: %+v", a)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	if a := accept(t, second, say("om_1", "hi")); a.Fresh {
		t.Fatalf("delivery after a restart: %+v", a)
	}
	if c := claim(t, second, "s"); texts(c.Asked) != "u:hi" {
		t.Errorf("turn asks %q", texts(c.Asked))
	}
}

// A message can be claimed in the transaction that stores it: with the same result as Claim, or neither happens.
func TestAMessageIsClaimedAsItIsAccepted(t *testing.T) {
	d := fresh(t)
	in := say("om_1", "hi")
	in.Files = []chat.File{{Kind: chat.Document, Of: "om_1", Key: "file_1", Name: "a.txt"}}
	in.Start = new(startIn("s"))
	a := accept(t, d, in)
	if a.Claim == nil || a.Claim.Turn.ID != a.Turn || a.Claim.Turn.State != convo.Running || a.Claim.Turn.Session != "s" ||
		a.Claim.Resume || texts(a.Claim.Asked) != "u:hi" || len(a.Claim.Asked[0].Files) != 1 || a.Claim.Chat.Key != oc {
		t.Fatalf("%+v", a.Claim)
	}
	if again := accept(t, d, in); again.Fresh || again.Claim != nil {
		t.Errorf("delivered again: %+v", again)
	}
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("x")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("claimed twice: %v", err)
	}
	finish(t, d, db.TurnResult{Turn: a.Claim.Turn, Answer: "yes", Session: db.Session{ID: "s"}})
	next := say("om_2", "and now?")
	next.Start, next.Actor.Bot, next.Time = new(startIn("s2")), true, time.Unix(5, 1234567)
	c := accept(t, d, next).Claim
	if c == nil || !c.Resume || c.Turn.Session != "s" || c.Chat.Session.ID != "s" {
		t.Fatalf("the session is not resumed: %+v", c)
	}
	again := startIn("s2")
	again.Again = true
	if read, err := d.Turns().Claim(t.Context(), oc, again); err != nil || !reflect.DeepEqual(read.Asked, c.Asked) {
		t.Errorf("read again %+v, %v; before that %+v", read.Asked, err, c.Asked)
	}
}

func TestMessagesThatComeWhileATurnRunsAreAskedTogetherByTheNext(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	first := claim(t, d, "s1")
	late := say("om_2", "three")
	late.Time = time.UnixMilli(3000)
	accept(t, d, late)
	early := say("om_3", "two")
	early.Time = time.UnixMilli(2000)
	accept(t, d, early)
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("x")); !errors.Is(err, db.ErrNotFound) {
		t.Fatalf("two turns at once: %v", err)
	}
	finish(t, d, db.TurnResult{Turn: first.Turn, Answer: "1"})
	second := claim(t, d, "x")
	finish(t, d, db.TurnResult{Turn: second.Turn, Answer: "2"})
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("x")); !errors.Is(err, db.ErrNotFound) {
		t.Fatalf("a third turn: %v", err)
	}
	if texts(second.Asked) != "u:two u:three" {
		t.Errorf("second turn asks %q; want both in the order of their times", texts(second.Asked))
	}
}

func TestHistoryHoldsTalkOnlyAndNotWhatIsBeingAsked(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Answer: "a1"})
	cmd := say("om_2", "/status")
	cmd.Class = chat.Command
	accept(t, d, cmd)
	noise := say("om_3", "lunch?")
	noise.Class = chat.Overheard
	accept(t, d, noise)
	accept(t, d, say("om_4", "q2"))
	running := claim(t, d, "s")
	accept(t, d, say("om_5", "waits"))
	if got := history(t, d, 0, running.Turn.ID); got != "a:a1 u:q1" {
		t.Errorf("history = %q", got)
	}
}

func TestTheSessionIsChosenWithTheClaimAndKeptAtTheEnd(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	c := claim(t, d, "new-1")
	if c.Resume || c.Turn.Session != "new-1" {
		t.Fatalf("first claim: %+v", c)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a1", Session: db.Session{ID: "new-1", Node: "host", Cwd: "/p"}})

	accept(t, d, say("om_2", "q2"))
	c = claim(t, d, "new-2")
	if !c.Resume || c.Turn.Session != "new-1" ||
		c.Chat.Session != (db.Session{ID: "new-1", Node: "host", Cwd: "/p", Turn: 1}) {
		t.Fatalf("second claim: %+v", c)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn})
	if err := d.Chats().ForgetSession(t.Context(), oc, "another"); err != nil {
		t.Fatal(err)
	}
	if ch, _ := d.Chats().Get(t.Context(), oc); ch.Session.ID != "new-1" {
		t.Fatalf("forgetting another session dropped %+v", ch)
	}
	if err := d.Chats().ForgetSession(t.Context(), oc, "new-1"); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_3", "q3"))
	if c = claim(t, d, "new-3"); c.Resume {
		t.Fatalf("claim after the session was forgotten: %+v", c)
	}
}

func TestAClaimMayRefuseTheSession(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Session: db.Session{ID: "s"}})
	accept(t, d, say("om_2", "q2"))
	c, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "new", Prompt: "p-new"})
	if err != nil || c.Resume || c.Turn.Session != "new" {
		t.Errorf("claim = %+v, %v", c, err)
	}
}

// /new during a turn: the turn's answer belongs to the old conversation, and its session must not come back.
func TestANewEpochLeavesEverythingBehind(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "old"))
	running := claim(t, d, "s-old")
	accept(t, d, say("om_2", "waits"))
	restart := say("om_new", "/new")
	restart.Class, restart.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, restart)
	accept(t, d, restart) // delivered again: no effect
	finish(t, d, db.TurnResult{Turn: running.Turn, Answer: "old answer", Session: db.Session{ID: "s-old"}})
	if a := accept(t, d, say("om_3", "new")); a.Turn <= running.Turn.ID+1 {
		t.Errorf("the new question joined turn %d of the old epoch", a.Turn)
	}
	waiting := claim(t, d, "s-2")
	if waiting.Turn.Epoch != 0 || texts(waiting.Asked) != "u:waits" {
		t.Fatalf("waiting turn: %+v", waiting)
	}
	finish(t, d, db.TurnResult{Turn: waiting.Turn, Answer: "late", Session: db.Session{ID: "s-2"}})
	c := claim(t, d, "s-3")
	if c.Resume || c.Turn.Epoch != 1 {
		t.Errorf("claim after /new: %+v", c)
	}
	if got := history(t, d, 1, c.Turn.ID); got != "" {
		t.Errorf("history after /new = %q", got)
	}
	if got := history(t, d, 0, c.Turn.ID); got != "a:late a:old answer u:waits u:old" {
		t.Errorf("history before /new = %q, want all of it", got)
	}
}

// A question that comes with /new is the first of the new epoch, and does not wait for a turn of the old one.
func TestAQuestionCanBeginANewEpoch(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_0", "zero", "nothing")
	waits := accept(t, d, say("om_1", "waits"))
	restart := say("om_new", "first")
	restart.Effects, restart.Reply = []db.Effect{db.StartConversation{}}, "a new conversation"
	a := accept(t, d, restart)
	if again := accept(t, d, restart); !a.Fresh || a.Turn <= waits.Turn || again.Fresh {
		t.Errorf("%+v, delivered again %+v", a, again)
	}
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "late"})
	c = claim(t, d, "s-2")
	if c.Turn.ID != a.Turn || c.Turn.Epoch != 1 || c.Resume || texts(c.Asked) != "u:first" || c.Asked[0].Epoch != 1 {
		t.Errorf("claim %+v", c)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "second"})
	if got := history(t, d, 1, 99); got != "a:second u:first" {
		t.Errorf("history after /new = %q", got)
	}
	if got := history(t, d, 0, 99); got != "a:late u:waits a:nothing u:zero" {
		t.Errorf("history before /new = %q", got)
	}
}

// A message that was recalled before it arrived neither starts a conversation nor a turn.
func TestARecalledQuestionStartsNothing(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_0", "zero"))
	if _, err := d.Messages().Recall(t.Context(), oc, "om_new", over); !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	restart := say("om_new", "first")
	restart.Effects = []db.Effect{db.StartConversation{}}
	if a := accept(t, d, restart); a.Turn != 0 {
		t.Errorf("%+v", a)
	}
	if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Epoch != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestATurnEndsOnce(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q"))
	c := claim(t, d, "s")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a", Usage: &db.Usage{Model: "m", Input: 1}})
	if err := d.Turns().Finish(t.Context(), db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "b"}); !errors.Is(err,
		db.ErrNotFound) {
		t.Errorf("second end: %v", err)
	}
	if got := history(t, d, 0, 99); got != "a:a u:q" {
		t.Errorf("history = %q", got)
	}
}

// A session has not seen what was asked and answered without it.
func TestUnseen(t *testing.T) {
	d := fresh(t)
	unseen := func(seen, before int64) string {
		t.Helper()
		list, err := d.Messages().Unseen(t.Context(), oc, 0, seen, before)
		if err != nil {
			t.Fatal(err)
		}
		return texts(list)
	}
	accept(t, d, say("om_1", "q1"))
	first := claim(t, d, "s")
	accept(t, d, say("om_2", "q2")) // while the first turn runs
	finish(t, d, db.TurnResult{Turn: first.Turn, Answer: "a1", Session: db.Session{ID: "s"}})
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil || c.Session.Turn != first.Turn.ID {
		t.Fatalf("session %+v, %v", c.Session, err)
	}
	second := claim(t, d, "s")
	if got := unseen(c.Session.Turn, second.Turn.ID); got != "" {
		t.Errorf("before the second turn: %q", got)
	}
	finish(t, d, db.TurnResult{Turn: second.Turn, State: convo.Cancelled}) // stopped before its prompt was sent
	accept(t, d, say("om_3", "q3"))
	third := claim(t, d, "s")
	if got := unseen(c.Session.Turn, third.Turn.ID); got != "u:q2" {
		t.Errorf("before the third turn: %q", got)
	}
}

func TestATurnCanBeRequeued(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	c := claim(t, d, "s")
	if err := errors.Join(d.Outbox().SetCard(t.Context(), db.Post{Key: c.Turn.Key, Turn: c.Turn.ID}, "card_1"),
		d.Turns().Requeue(t.Context(), c.Turn, db.Session{})); err != nil {
		t.Fatal(err)
	}
	again := claim(t, d, "s2")
	if again.Turn.ID != c.Turn.ID || again.Turn.Card != "card_1" || again.Turn.Session != "s2" ||
		texts(again.Asked) != "u:q1" {
		t.Errorf("claimed again: %+v", again)
	}
	finish(t, d, db.TurnResult{Turn: again.Turn})
	if err := d.Turns().Requeue(t.Context(), c.Turn, db.Session{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("s3")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a turn that has ended was put back: %v", err)
	}
}

// If a turn was stopped, an end that does not know this is not stored.
func TestAStopBeforeTheEndCounts(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	c := claim(t, d, "s")
	if unended, err := d.Turns().Happens(t.Context(), oc, convo.Stops{Turns: []int64{c.Turn.ID}}); err != nil || len(unended) == 0 {
		t.Fatalf("stopped: %v, %v", unended, err)
	}
	end := db.TurnResult{Turn: c.Turn, State: convo.Interrupted, Unstopped: true}
	if err := d.Turns().Finish(t.Context(), end); !errors.Is(err, db.ErrStopped) || db.Permanent(err) {
		t.Errorf("finished: %v", err)
	}
	end.State, end.Unstopped = convo.Cancelled, false
	finish(t, d, end)
	if unended, err := d.Turns().Happens(t.Context(), oc, convo.Stops{Turns: []int64{c.Turn.ID}}); err != nil || len(unended) > 0 {
		t.Errorf("stopped again: %v, %v", unended, err)
	}
}

// The History is nobody else's business on a shared machine.
func TestTheDatabaseIsPrivate(t *testing.T) {
	dbtest.OfSQLite(t)
	path := filepath.Join(t.TempDir(), "magpie.db")
	accept(t, open(t, path), say("om_1", "q1"))
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
	}
}

func TestARestartFindsWhatWasOpen(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "q1"))
	c := claim(t, d, "s")
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: c.Turn.Key, Turn: c.Turn.ID}, "card_1"); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_2", "q2"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	cut, err := again.Turns().Running(t.Context())
	if err != nil || len(cut) != 1 || cut[0].Card != "card_1" || cut[0].Session != "s" || cut[0].Key != oc {
		t.Fatalf("running = %+v, %v", cut, err)
	}
	keys, err := again.Turns().Queued(t.Context())
	if err != nil || len(keys) != 1 || keys[0] != oc {
		t.Fatalf("queued = %v, %v", keys, err)
	}
	finish(t, again, db.TurnResult{Turn: cut[0], State: convo.Interrupted})
	if c := claim(t, again, "s2"); texts(c.Asked) != "u:q2" {
		t.Errorf("next turn asks %q", texts(c.Asked))
	}
}

func TestOpenSaysWhatIsWrongWithTheURL(t *testing.T) {
	for _, url := range []string{"", "magpie.db", "mysql://x", "sqlite://"} {
		if _, err := db.Open(t.Context(), db.Config{URL: url}); err == nil ||
			!strings.Contains(err.Error(), "[db] url") {
			t.Errorf("Open(%q) = %v", url, err)
		}
	}
}

func TestFolderNamesWithSpecialCharacters(t *testing.T) {
	dbtest.OfSQLite(t)
	d := open(t, filepath.Join(t.TempDir(), "a b?c#d%20 中文", "x.db"))
	accept(t, d, say("om_1", "hi"))
}

// Many chats at once: every message gets its own seq, and none waits for ever.
func TestConcurrentAccepts(t *testing.T) {
	d := fresh(t)
	errs := make(chan error)
	for w := range 8 {
		go func() {
			for i := range 25 {
				e := say(fmt.Sprintf("om_%d_%d", w, i), "x")
				e.Key = chat.FeishuChat(fmt.Sprintf("oc_%d", w%3))
				if _, err := d.Messages().Accept(context.Background(), e); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
