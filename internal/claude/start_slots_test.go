package claude

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A process that a turn waits for starts at once, although others are starting that nobody waits for. The latter only
// start while a core is free.
func TestNoStartWaitsForASpareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStartSlots(2)
		one, two := s.tryAcquireUnasked(), s.tryAcquireUnasked()
		if one == nil || two == nil || s.tryAcquireUnasked() != nil {
			t.Fatal("two starts do not fit two cores")
		}
		asked := make([]*startSlot, 2)
		var turns sync.WaitGroup
		for i := range asked { // none may wait: nothing would wake it
			turns.Go(func() {
				var err error
				if asked[i], err = s.acquire(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		turns.Wait()
		if s.tryAcquireUnasked() != nil {
			t.Error("a start that nobody waits for did not wait for a free core")
		}
		one.release() // they have started; their cores were lent to others
		two.release()
		if s.tryAcquireUnasked() != nil {
			t.Error("a core was released twice")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the turn was stopped")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := s.acquire(ctx); !errors.Is(err, cause) {
			t.Errorf("a third start beside two: %v", err)
		}
		asked[0].release()
		asked[1].release()
		for range 2 {
			if s.tryAcquireUnasked() == nil {
				t.Error("two cores are not free again")
			}
		}
		if s.tryAcquireUnasked() != nil {
			t.Error("more than two cores are free")
		}
	})
}

// A turn that takes the slot of a spare process only waits for the end of that process where memory or the configured
// limit does not allow both.
func TestATurnAwaitsTheEndOfASpareOnlyIfItMust(t *testing.T) {
	plenty, little := &machine{machineWith(16*gb, 15*gb, "/", nil)}, &machine{machineWith(16*gb, gb/2, "/", nil)}
	stopped := errors.New("stopped")
	for name, tc := range map[string]struct {
		machine *machine
		want    error
	}{
		"memory for both": {plenty, nil}, "memory for one": {little, stopped}, "a number is configured": {nil, stopped},
	} {
		t.Run(name, func(t *testing.T) {
			l := Limits{MaxTurns: 1, MaxProcesses: 1, machine: tc.machine}.withProcesses(1)
			s := newSlots(l, 1)
			ps := newProcesses(Config{}, s)
			background := newBackgroundTasks(l, s)
			spares := newSpares(Config{}, ps, background)
			p := &Process{}
			p.slot.held = s.processes.TryAcquire(1)
			spares.list = []*spare{{p: p, timer: time.NewTimer(time.Hour)}}
			begun, end := make(chan struct{}), make(chan struct{})
			go p.ending.Do(func() { close(begun); <-end }) // ends when the test releases it
			<-begun
			free := &processSlots{
				slots: s, limits: l, idle: newIdleProcesses(Config{}, 0, ps), spares: spares, background: background,
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stopped) // wakes the waiting turn
			if err := free.acquire(ctx, "a"); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if spares.count() != 0 {
				t.Error("no spare process was ended")
			}
			close(end)
			spares.tasks.Wait()
			if free := s.processes.TryAcquire(1); free != (tc.want != nil) {
				t.Errorf("the place of the process is free: %v", free)
			}
		})
	}
}
