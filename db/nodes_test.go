package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/cluster"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// bridge opens a database for serving, as the bridge of a machine does.
func bridge(t testing.TB, path, node string) (*db.DB, error) {
	t.Helper()
	return db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Node: node, Data: filepath.Join(t.TempDir(), node),
		Verify: dbtest.Verifies(t)})
}

// outdate makes the place of the bridge look as if it was not renewed for long.
func outdate(t *testing.T, path string) {
	t.Helper()
	side := dbtest.Side(t, path)
	if _, err := side.Exec(`UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE dead = 0`); err != nil {
		t.Fatal(err)
	}
}

// bury ends the places that are overdue, as a bridge does that joins. It does not wait for long, as it is told that places are
// short.
func bury(t *testing.T, path string) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Node: "grave", PlaceTTL: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// While a bridge lives, no other one serves the database with the same name: people could not tell them apart, nor could a
// chat know where its session is. Another machine may have a data folder at the same path.
func TestEachBridgeHasANameOfItsOwn(t *testing.T) {
	dbtest.OfPostgres(t)
	path, top := dbtest.Create(t), t.TempDir()
	data := filepath.Join(top, "data")
	c := db.Config{URL: dbtest.URL(path), Node: "a", Data: data}
	first, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, filepath.Join(top, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "a bridge named a already uses") {
		t.Fatalf("beside a living bridge of its name: %v", err)
	}
	second := beside(t, path, "b")
	if second.Place().Living() != 2 {
		t.Errorf("%d live", second.Place().Living())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}

// When the database was away, all bridges are overdue. Who joins then gives those that live the time to renew their places.
func TestABridgeThatJoinsBuriesNoneThatLives(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	living, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Node: "a", PlaceTTL: 9 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	gone := beside(t, path, "gone")
	outdate(t, path)
	k := keep(t, living)
	third, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Node: "c", PlaceTTL: 36 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := bridgesOf(t, third); got != "a 0, c 0" && got != "a 0, c 0, gone ended" {
		t.Errorf("bridges: %s", got)
	}
	if err := gone.Tx(t.Context(), func(context.Context, *sql.Tx) error { return nil }); err == nil {
		t.Error("a dead bridge writes")
	}
	if err := errors.Join(k.stop(), living.Close(), third.Close()); err != nil {
		t.Error(err)
	}
}

// A command that changes the History beside the bridges takes no place, and may write in the chats of all.
func TestACommandBesideBridges(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	a := beside(t, path, "a")
	accept(t, a, say("om_1", "hi"))
	command, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path)})
	if err != nil {
		t.Fatal(err)
	}
	if n := imported(t, command, record("before", chat.User, 1)); n != 1 {
		t.Errorf("imported %d", n)
	}
	if _, err := command.Memories().Save(t.Context(), db.Memory{Key: oc, Scope: db.ChatScope, Title: "x", Text: "x"}, db.Change{Who: "ou_1", Why: "test"}); err != nil {
		t.Error(err)
	}
	accept(t, a, say("om_2", "there"))
	if got := bridgesOf(t, command); got != "a 1" {
		t.Errorf("bridges: %s", got)
	}
	if err := command.Close(); err != nil {
		t.Error(err)
	}
}

// What waits at the terminal of a machine waits for that machine: nobody takes it up elsewhere, unless somebody talks there.
func TestATerminalStaysWithItsMachine(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	gone := beside(t, path, "a")
	asked := say("cli:t.1", "hi")
	asked.Key = chat.Key{Channel: "cli", Kind: "chat", ID: "a"}
	accept(t, gone, asked)
	outdate(t, path)
	bury(t, path)
	b := beside(t, path, "b")
	if list, err := b.Turns().Queued(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("b sees %v, %v", list, err)
	}
	if err := b.Chats().Set(t.Context(), asked.Key, func(*db.Settings) {}); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("b writes: %v", err)
	}
	again := beside(t, path, "a")
	if list, err := again.Turns().Queued(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("a sees %v, %v", list, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if mine, err := b.Place().Take(t.Context(), asked.Key); err != nil || !mine {
		t.Errorf("somebody at b talks there: %v, %v", mine, err)
	}
}

// A bridge that was declared dead writes nothing more: neither what it had begun, nor what it begins, whatever it is about.
func TestADeadBridgeWritesNothing(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	late, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	accept(t, late, say("om_1", "before"))

	began, goOn := make(chan struct{}), make(chan struct{})
	half := make(chan error, 1)
	go func() {
		half <- late.Tx(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE chats SET title = 'late'`)
			close(began)
			<-goOn
			return err
		})
	}()
	<-began
	outdate(t, path)
	bury(t, path)
	next, err := bridge(t, path, "b")
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close() //nolint:errcheck // looked at below
	close(goOn)
	if err := <-half; err == nil {
		t.Error("what it had begun was committed")
	}
	for range 20 { // more than it has connections
		if _, err := late.Messages().Accept(t.Context(), say("om_2", "late")); err == nil {
			t.Fatal("a message was stored")
		}
	}
	if c, err := next.Chats().Get(t.Context(), oc); err != nil || c.Title != "" {
		t.Errorf("%+v, %v", c, err)
	}
	accept(t, next, say("om_3", "after"))
	if got := history(t, next, 0, 100); got != "u:before u:after" && got != "u:after u:before" {
		t.Errorf("history: %s", got)
	}
	_ = late.Close()
}

// A bridge that cannot renew its place ends its agents, and learns that another one has taken over.
func TestABridgeLearnsThatItIsDead(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	late, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	kept := make(chan error, 1)
	outdate(t, path)
	bury(t, path)
	next, err := bridge(t, path, "b")
	if err != nil {
		t.Fatal(err)
	}
	go func() { kept <- late.Place().Keep(t.Context(), func(err error) { ended <- err }, ignore) }()
	if err := <-kept; !errors.Is(err, cluster.ErrPlaceLost) {
		t.Errorf("kept: %v", err)
	}
	if len(ended) != 1 {
		t.Errorf("the agents were ended %d times", len(ended))
	}
	if err := errors.Join(late.Close(), next.Close()); err != nil {
		t.Error(err)
	}
}

// A renewed place stays: nobody can take it.
func TestARenewedPlaceStays(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	d, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- d.Place().Keep(ctx, func(err error) { t.Errorf("lapsed: %v", err) }, ignore) }()
	side := dbtest.Side(t, path)
	began := until(t, side)
	await(t, "a renewal", func() bool { return until(t, side).After(began) })
	cancel()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The lock of the data folder shows that an earlier process of this machine is gone: nobody waits for its place, and its rooms
// stay on the machine that has their sessions and agents.
func TestABridgeThatWasKilledStartsAgainAtOnce(t *testing.T) {
	dbtest.OfPostgres(t)
	path, data := dbtest.Create(t), t.TempDir()
	c := db.Config{URL: dbtest.URL(path), Node: "a", Data: data}
	first, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	other := beside(t, path, "b")
	accept(t, first, say("om_1", "hi"))
	first.Kill(t)
	second, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Messages().Accept(t.Context(), say("om_2", "hi")); !errors.Is(err, chat.ErrElsewhere) || !second.Place().Has(oc) {
		t.Errorf("the room went to another bridge: %v", err)
	}
	before, err := second.Place().OnTake(func(context.Context, ...chat.Key) error { return nil })
	if err != nil || len(before) != 1 || before[0] != oc {
		t.Errorf("to be taken up: %v, %v", before, err)
	}
	accept(t, second, say("om_2", "hi"))
	if err := errors.Join(second.Close(), first.Close()); err != nil {
		t.Error(err)
	}
}

// A bridge that starts again may fail halfway, when its earlier process is declared dead already. Others take its rooms when its
// time is over, and not before: its agents may still run.
func TestAStartThatFailsHalfway(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	first, gone := beside(t, path, "a"), beside(t, path, "b")
	accept(t, first, say("om_1", "hi"))
	first.Kill(t)
	gone.Kill(t)
	side := dbtest.Side(t, path)
	other := beside(t, path, "c")
	for _, over := range []bool{false, true} {
		set := `UPDATE nodes SET dead = 1 WHERE name = 'a'`
		if over {
			set = `UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE name = 'a'`
		}
		if _, err := side.Exec(set); err != nil {
			t.Fatal(err)
		}
		if _, err := side.Exec(`UPDATE nodes SET dead = 0, until = clock_timestamp() - interval '1 second' WHERE name = 'b'`); err != nil {
			t.Fatal(err)
		}
		bury(t, path)
		if mine, err := other.Place().Take(t.Context(), oc); mine != over || err != nil {
			t.Errorf("taken %v, %v; its time is over: %v", mine, err, over)
		}
	}
}

// A bridge that joins, and keeps the rooms of its earlier process, is not seen by a bridge that has begun to take one of them.
// The latter does not get it.
func TestARoomThatIsKeptMeanwhile(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	gone, other := beside(t, path, "a"), beside(t, path, "b")
	accept(t, gone, say("om_1", "hi"))
	gone.Kill(t)
	side := dbtest.Side(t, path)
	if _, err := side.Exec(`UPDATE nodes SET dead = 2 WHERE name = 'a'`); err != nil {
		t.Fatal(err)
	}
	joins, err := side.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joins.Exec(`WITH new AS (INSERT INTO nodes (name, instance, session, until, joined_at)
		VALUES ('a', 'a', 'a', clock_timestamp() + interval '1 minute', 0) RETURNING run) UPDATE leases SET run = new.run FROM new`); err != nil {
		t.Fatal(err)
	}
	mine := make(chan bool, 1)
	go func() {
		took, err := other.Place().Take(t.Context(), oc)
		if err != nil {
			t.Error(err)
		}
		mine <- took
	}()
	await(t, "the other bridge waits", func() bool {
		n := 0
		err := side.QueryRow(`SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&n)
		return err == nil && n > 0
	})
	if err := joins.Commit(); err != nil {
		t.Fatal(err)
	}
	if <-mine {
		t.Error("two bridges have the room")
	}
}

// until is when the place of the living bridge ends.
func until(t *testing.T, side *sql.DB) (at time.Time) {
	t.Helper()
	if err := side.QueryRow(`SELECT until FROM nodes WHERE dead = 0`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

// beside is [bridge] for a test that closes nothing.
func beside(t testing.TB, path, node string) *db.DB {
	t.Helper()
	d, err := bridge(t, path, node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// A room has one bridge: whoever writes there first, with all topics. Others neither write there nor see its work.
func TestARoomHasOneBridge(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	a, b := beside(t, path, "a"), beside(t, path, "b")
	accept(t, a, say("om_1", "mine"))
	if _, err := b.Messages().Accept(t.Context(), say("om_2", "not mine")); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("accepted: %v", err)
	}
	topic := say("om_3", "in a topic")
	topic.Key.Thread = "omt_1"
	if _, err := b.Messages().Accept(t.Context(), topic); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("accepted in a topic: %v", err)
	}
	if _, err := b.Turns().Claim(t.Context(), oc, startIn("s")); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("claimed: %v", err)
	}
	for d, want := range map[*db.DB]int{a: 1, b: 0} {
		queued, err := d.Turns().Queued(t.Context())
		if err != nil || len(queued) != want {
			t.Errorf("queued: %v, %v, want %d", queued, err, want)
		}
	}
	other := say("om_4", "another chat")
	other.Key = chat.FeishuChat("oc_2")
	accept(t, b, other)
	if mine, err := a.Place().Take(t.Context(), other.Key); err != nil || mine {
		t.Errorf("taken from a living bridge: %v, %v", mine, err)
	}
}

// Whoever takes a room is told before anything is written there. Rooms of a bridge that has stopped, or was declared dead,
// are free; at a time one bridge gets each.
func TestRoomsOfADeadBridgeAreTaken(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	dead := beside(t, path, "dead")
	keys := make([]chat.Key, 20)
	for i := range keys {
		keys[i] = chat.FeishuChat(fmt.Sprint("oc_", i))
		e := say(fmt.Sprint("om_", i), "hi")
		e.Key = keys[i]
		accept(t, dead, e)
	}
	outdate(t, path)
	bury(t, path)
	var took [2]atomic.Int64
	var all sync.WaitGroup
	var others [2]*db.DB
	for i := range others {
		others[i] = beside(t, path, fmt.Sprint("b", i))
		if i == 0 { // an event has arrived before
			if mine, err := others[i].Place().Take(t.Context(), keys[0]); err != nil || !mine {
				t.Errorf("taken: %v, %v", mine, err)
			}
		}
		before, err := others[i].Place().OnTake(func(context.Context, ...chat.Key) error { took[i].Add(1); return nil })
		if err != nil || len(before) != 1-i || i == 0 && before[0] != keys[0] {
			t.Errorf("bridge %d has taken %v before, %v", i, before, err)
		}
	}
	for i, d := range others {
		for _, key := range keys {
			all.Go(func() {
				for range 2 {
					if _, err := d.Place().Take(t.Context(), key); err != nil {
						t.Errorf("bridge %d: %v", i, err)
					}
				}
			})
		}
	}
	all.Wait()
	if n := 1 + took[0].Load() + took[1].Load(); n != int64(len(keys)) {
		t.Errorf("%d and %d rooms were taken, of %d", took[0].Load(), took[1].Load(), len(keys))
	}
	if _, err := dead.Turns().Claim(t.Context(), keys[0], startIn("s")); err == nil {
		t.Error("the dead one has claimed a turn")
	}
}

// ignore is told how many bridges live.
func ignore(int) {}

// What follows a renewal may take long: the next renewals do not wait for it.
func TestRenewalsDoNotWait(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	d, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	tell := sync.OnceFunc(func() { close(stuck) })
	d.Place().OnRenewal(func(ctx context.Context) { tell(); <-ctx.Done() })
	k := keep(t, d)
	<-stuck
	side := dbtest.Side(t, path)
	began := until(t, side)
	await(t, "a renewal", func() bool { return until(t, side).After(began) })
	if err := errors.Join(k.stop(), d.Close()); err != nil {
		t.Error(err)
	}
}

// A bridge takes only the rooms that it may. What waits in others is for another bridge.
func TestABridgeTakesOnlyWhatItMay(t *testing.T) {
	dbtest.OfPostgres(t)
	d, err := bridge(t, dbtest.Create(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing to lose
	place, mine, others := d.Place(), chat.FeishuChat("oc_mine"), chat.FeishuChat("oc_others")
	place.TakeOnly(func(_ context.Context, room chat.Key) (bool, error) { return room == mine, nil })
	topic := others
	topic.Thread = "omt_1"
	for key, want := range map[chat.Key]bool{mine: true, others: false, topic: false} {
		if got, err := place.Take(t.Context(), key); got != want || err != nil {
			t.Errorf("%v: taken %v, %v", key, got, err)
		}
	}
	if free, err := place.Free(t.Context(), []chat.Key{others, mine, topic}); err != nil || len(free) != 1 || free[0] != mine {
		t.Errorf("free are %v, %v", free, err)
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if lives, err := place.Lives(t.Context(), []string{"c", name}); lives != want || err != nil {
			t.Errorf("%s lives: %v, %v", name, lives, err)
		}
	}
}
