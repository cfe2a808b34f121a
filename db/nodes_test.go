package db_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
)

// bridge opens a database for serving, as the bridge of a machine does.
func bridge(t *testing.T, path, node string) (*db.DB, error) {
	t.Helper()
	return db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Node: node, Data: filepath.Join(t.TempDir(), node), Verify: true})
}

// outdate makes the place of the bridge look as if it was not renewed for long.
func outdate(t *testing.T, path string) {
	t.Helper()
	side := dbtest.Side(t, path)
	if _, err := side.Exec(`UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE dead = 0`); err != nil {
		t.Fatal(err)
	}
}

// While a bridge lives, no other one serves its database. One that has stopped is followed at once.
func TestASecondBridgeWaitsUntilTheFirstIsGone(t *testing.T) {
	dbtest.OfPostgres(t)
	path := dbtest.Create(t)
	first, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bridge(t, path, "b"); err == nil || !strings.Contains(err.Error(), "(a)") {
		t.Fatalf("beside a living bridge: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := bridge(t, path, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
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
	next, err := bridge(t, path, "b")
	if err != nil {
		t.Fatal(err)
	}
	go func() { kept <- late.KeepPlace(t.Context(), func(err error) { ended <- err }, ignore) }()
	if err := <-kept; !errors.Is(err, db.ErrPlaceLost) {
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
	go func() { kept <- d.KeepPlace(ctx, func(err error) { t.Errorf("lapsed: %v", err) }, ignore) }()
	side := dbtest.Side(t, path)
	began := until(t, side)
	for wait := 0; !until(t, side).After(began); wait++ {
		if wait > 1000 {
			t.Fatal("not renewed")
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The lock of the data folder shows that an earlier process of this machine is gone: nobody waits for its place.
func TestABridgeThatWasKilledStartsAgainAtOnce(t *testing.T) {
	dbtest.OfPostgres(t)
	path, data := dbtest.Create(t), t.TempDir()
	c := db.Config{URL: dbtest.URL(path), Node: "a", Data: data}
	first, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	accept(t, first, say("om_1", "hi"))
	first.Kill(t)
	second, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	accept(t, second, say("om_2", "hi"))
	if err := errors.Join(second.Close(), first.Close()); err != nil {
		t.Error(err)
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

// ignore is told how many bridges live.
func ignore(int) {}
