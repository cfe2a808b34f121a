package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/i18n"
	"magpie/internal/leaktest"
	"magpie/internal/pgtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// guarded is a database whose server comes and goes.
type guarded struct {
	*testing.T
	server *pgtest.Server
	d      *db.DB
	news   chan error // what the operator is told
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{T: t, server: pgtest.Start(t, pgtest.Config{}), news: make(chan error, 100)}
	d, err := db.Open(t.Context(), db.Config{URL: g.server.URL("postgres")})
	g.must(err)
	g.d = d
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Guard(ctx, func(err error) { g.news <- err })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		g.must(d.Close())
	})
	return g
}

func (g *guarded) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// all makes several writes and reads at the same time, and returns their errors.
func (g *guarded) all() (list []error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 20 {
		for _, do := range []func(context.Context) error{
			g.d.CheckHealth,
			func(ctx context.Context) error { _, err := g.d.Outbox().Backlog(ctx); return err },
		} {
			wait.Go(func() {
				err := do(context.WithoutCancel(g.Context()))
				mu.Lock()
				defer mu.Unlock()
				list = append(list, err)
			})
		}
	}
	wait.Wait()
	return list
}

// untilAway uses the database until the operator is told that its server is away. Then everything fails alike.
func (g *guarded) untilAway() {
	g.Helper()
	for len(g.news) == 0 {
		g.all()
	}
	if err := <-g.news; !errors.Is(err, engine.ErrAway) {
		g.Errorf("told %v", err)
	}
	for range 10 {
		for _, err := range g.all() {
			if !errors.Is(err, engine.ErrAway) {
				g.Errorf("the server is away: %v", err)
			}
			if en, zh := i18n.ErrorText(i18n.English, err), i18n.ErrorText(i18n.Chinese, err); en == zh {
				g.Errorf("in one language: %s", en)
			}
		}
	}
}

// untilBack uses the database until its server is back.
func (g *guarded) untilBack() {
	g.Helper()
	for began := time.Now(); g.d.CheckHealth(g.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			g.Fatal(g.d.CheckHealth(g.Context()))
		}
	}
	if err := <-g.news; err != nil {
		g.Errorf("told %v", err)
	}
	for _, err := range g.all() {
		if err != nil {
			g.Errorf("the server is back: %v", err)
		}
	}
	if n := len(g.news); n > 0 {
		g.Errorf("told %d times more", n)
	}
}

// Whatever becomes of the server, callers are told at once and the operator is told once, and they go on when it is back.
func TestAServerThatIsAway(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	start := func() error { return g.server.Start(context.WithoutCancel(t.Context())) }
	for _, away := range []struct{ begin, end func() error }{
		{g.server.Stop, start}, {g.server.Kill, start}, {g.server.Freeze, g.server.Thaw},
	} {
		g.all()
		g.must(away.begin())
		g.untilAway()
		g.must(away.end())
		g.untilBack()
	}
}
