package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// kept is a bridge that keeps its place.
type kept struct {
	*db.DB
	living atomic.Int64 // as it was told
	stop   func() error
}

func keep(t *testing.T, d *db.DB) *kept {
	k := &kept{DB: d}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		// On a busy machine a place may lapse for a while.
		done <- d.Place().Keep(ctx, func(err error) { t.Logf("lapsed: %v", err) }, func(n int) { k.living.Store(int64(n)) })
	}()
	k.stop = func() error { cancel(); return <-done }
	return k
}

// await waits until something is the case.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1200 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

// Of several bridges the first one leads, and its successor when it has left, or was declared dead because it does not renew
// its place.
func TestOneBridgeLeads(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	path := dbtest.Create(t)
	first, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	if !first.Place().Leads() || first.Place().Living() != 1 {
		t.Errorf("alone: leads %v, %d live", first.Place().Leads(), first.Place().Living())
	}
	a := keep(t, first)
	b := keep(t, beside(t, path, "b"))
	c := keep(t, beside(t, path, "c"))
	await(t, "three", func() bool { return a.living.Load() == 3 && b.living.Load() == 3 && c.living.Load() == 3 })
	if !a.Place().Leads() || b.Place().Leads() || c.Place().Leads() || a.Place().Living() != 3 {
		t.Errorf("a leads %v, b %v, c %v; %d live", a.Place().Leads(), b.Place().Leads(), c.Place().Leads(), a.Place().Living())
	}
	if mine, err := b.Place().Take(t.Context(), oc); !mine || err != nil {
		t.Errorf("b takes a room: %v, %v", mine, err)
	}
	if got := bridgesOf(t, c.DB); got != "a 0, b 1, c 0" {
		t.Errorf("bridges: %s", got)
	}
	side := dbtest.Side(t, path)
	if _, err := side.Exec(`INSERT INTO nodes (name, instance, session, until, dead, joined_at)
		VALUES ('old', '', 'old', clock_timestamp() - make_interval(days => 40), 2, 0)`); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		by   *kept
		left int
	}{{b, 1}, {a, 0}} {
		if _, err := db.Sweep(t.Context(), s.by.DB, db.Defaults()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := side.QueryRow(`SELECT COUNT(*) FROM nodes WHERE name = 'old'`).Scan(&left); err != nil || left != s.left {
			t.Errorf("%d of an old bridge is left, want %d (%v)", left, s.left, err)
		}
	}
	if err := errors.Join(a.stop(), a.Close()); err != nil {
		t.Fatal(err)
	}
	await(t, "b leads", b.Place().Leads)
	if got := bridgesOf(t, c.DB); got != "b 1, c 0, a ended" {
		t.Errorf("bridges: %s", got)
	}
	if c.Place().Leads() || b.Place().Living() != 2 {
		t.Errorf("c leads %v; %d live", c.Place().Leads(), b.Place().Living())
	}
	if err := b.stop(); err != nil { // it does not renew its place, but has its connections
		t.Fatal(err)
	}
	await(t, "c leads", c.Place().Leads)
	if err := b.Tx(t.Context(), func(context.Context, *sql.Tx) error { return nil }); err == nil {
		t.Error("a dead bridge writes")
	}
	await(t, "one", func() bool { return c.living.Load() == 1 })
	_ = b.Close()
	if err := errors.Join(c.stop(), c.Close()); err != nil {
		t.Error(err)
	}
}

// With SQLite the only program leads.
func TestTheOnlyProgramLeads(t *testing.T) {
	if d := fresh(t); !d.Place().Leads() || d.Place().Living() != 1 {
		t.Errorf("leads %v, %d live", d.Place().Leads(), d.Place().Living())
	}
}

// bridgesOf lists the bridges of a database, each with the number of its rooms.
func bridgesOf(t *testing.T, d *db.DB) string {
	t.Helper()
	list, err := d.Bridges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range list {
		if b.Living {
			names = append(names, fmt.Sprint(b.Name, " ", b.Rooms))
		} else {
			names = append(names, b.Name+" ended")
		}
	}
	return strings.Join(names, ", ")
}

// A turn that runs at another bridge counts against the limits of who asks it, but not at its own bridge.
func TestTurnsAtOtherBridgesAreCounted(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	path := dbtest.Create(t)
	a, err := bridge(t, path, "a")
	if err != nil {
		t.Fatal(err)
	}
	b := beside(t, path, "b")
	in := say("om_1", "q")
	accept(t, b, in)
	counted := func(d *db.DB, user string) int {
		t.Helper()
		s, err := d.Access().Spent(t.Context(), user, chat.Key{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Elsewhere
	}
	if n := counted(a, in.Actor.ID); n != 0 {
		t.Errorf("%d turns before it runs", n)
	}
	c := claim(t, b, "s")
	if here, there, other := counted(b, in.Actor.ID), counted(a, in.Actor.ID), counted(a, "ou_other"); here != 0 || there != 1 || other != 0 {
		t.Errorf("%d at its bridge, %d at the other one, %d of another user", here, there, other)
	}
	finish(t, b, db.TurnResult{Turn: c.Turn, State: convo.Done})
	if n := counted(a, in.Actor.ID); n != 0 {
		t.Errorf("%d turns after it has ended", n)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}
