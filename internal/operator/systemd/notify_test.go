package systemd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// Each keep-alive means that the probe has succeeded since the previous one. They continue while the program stops.
func TestSignsOfLifeComeFromTheProbe(t *testing.T) {
	const every = 10 * time.Second
	for name, tc := range map[string]struct {
		probe func(context.Context) error
		want  int // keep-alives within a minute after the probe started to fail
	}{
		"healthy":             {func(context.Context) error { return nil }, 6},
		"failing":             {func(context.Context) error { return errors.New("disk I/O error") }, 0},
		"hanging":             {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0},
		"deaf to its context": {func(context.Context) error { time.Sleep(time.Hour); return nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var sent []string
				probe := func(context.Context) error { return nil }
				m := &Notifier{
					every: every, log: zerolog.Nop(), status: func() string { return "" },
					send:  func(s string) error { mu.Lock(); defer mu.Unlock(); sent = append(sent, s); return nil },
					probe: func(ctx context.Context) error { mu.Lock(); f := probe; mu.Unlock(); return f(ctx) },
				}
				signs := func() (n int) {
					mu.Lock()
					defer mu.Unlock()
					for _, s := range sent {
						if s == "WATCHDOG=1" {
							n++
						}
					}
					return n
				}
				ctx, cancel := context.WithCancel(t.Context())
				stopping := make(chan struct{})
				done := make(chan struct{})
				go func() { defer close(done); m.Run(ctx, stopping) }()
				time.Sleep(5*every - time.Second)
				if n := signs(); n != 5 {
					t.Errorf("%d keep-alives, want 5", n)
				}
				mu.Lock()
				probe = tc.probe
				mu.Unlock()
				close(stopping)
				time.Sleep(6 * every)
				if n := signs() - 5; n != tc.want {
					t.Errorf("%d keep-alives after the change, want %d", n, tc.want)
				}
				cancel()
				<-done
				stops := func(s string) bool { return strings.HasPrefix(s, "STOPPING=1") }
				if sent[0] != "READY=1" || !slices.ContainsFunc(sent, stops) {
					t.Errorf("systemd got %q", sent)
				}
			})
		})
	}
}
