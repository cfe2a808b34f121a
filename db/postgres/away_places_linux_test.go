package postgres_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/pgtest"
)

// After the server was away for longer than a place lasts, all bridges are overdue. None declares another one dead before that
// one could renew its place.
func TestNoBridgeIsDeclaredDeadBecauseTheServerWasAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	ctx, stop := context.WithCancel(t.Context())
	ended, told := make(chan error, 2), make(chan error, 100)
	var all []*db.DB
	for _, node := range []string{"a", "b"} {
		d, err := db.Open(ctx, db.Config{
			URL: server.URL("postgres"), Node: node, Data: filepath.Join(t.TempDir(), node)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
		go func() { ended <- d.Place().Keep(ctx, func(err error) { told <- err }, func(int) {}) }()
	}
	time.Sleep(16 * time.Second) // until each has renewed its place for as long as one lasts
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for range all {
		if err := <-told; err == nil {
			t.Error("a bridge goes on while the server is away")
		}
	}
	time.Sleep(6 * time.Second) // then the places are over, too
	if err := server.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range all {
		select {
		case err := <-told:
			if err != nil {
				t.Errorf("the server is back: %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a bridge does not go on")
		}
	}
	stop()
	if err := errors.Join(<-ended, <-ended, all[0].Close(), all[1].Close()); err != nil {
		t.Error(err)
	}
}
