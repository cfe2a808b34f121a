package claude

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A process that somebody waits for starts at once, although others for which nobody waits are starting. They start
// only while there is a core for them.
func TestNoStartWaitsForOneThatIsUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStartSlots(2)
		one, two := s.tryAcquireUnasked(), s.tryAcquireUnasked()
		if one == nil || two == nil || s.tryAcquireUnasked() != nil {
			t.Fatal("two cores are not for two starts")
		}
		asked := make([]*startSlot, 2)
		var turns sync.WaitGroup
		for i := range asked { // if one waited, nobody would be left to wake it
			turns.Go(func() {
				var err error
				if asked[i], err = s.acquire(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		turns.Wait()
		if s.tryAcquireUnasked() != nil {
			t.Error("one starts although nobody waits for it, and no core is free")
		}
		one.release() // they have started; their cores were given away
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

// A turn that takes the place of a spare process waits for its end only where memory or the configured number of
// processes does not allow both.
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
			l := Limits{Turns: 1, Processes: 1, machine: tc.machine}
			s := newSlots(l, 1)
			ps := newProcesses(Config{}, s)
			background := newBackgroundTasks(l, s)
			spares := newSpares(Config{}, ps, background)
			p := &Process{}
			p.slot.held = s.processes.TryAcquire(1)
			spares.list = []*spare{{p: p, timer: time.NewTimer(time.Hour)}}
			begun, end := make(chan struct{}), make(chan struct{})
			go p.ending.Do(func() { close(begun); <-end }) // ends when the test lets it
			<-begun
			free := &processSlots{
				slots: s, limits: l, idle: newIdleProcesses(Config{}, 0, ps), spares: spares, background: background,
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stopped) // so that whoever waits is told
			if err := free.acquire(ctx, "a"); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if spares.count() != 0 {
				t.Error("no spare process ends")
			}
			close(end)
			spares.tasks.Wait()
			if free := s.processes.TryAcquire(1); free != (tc.want != nil) {
				t.Errorf("the place of the process is free: %v", free)
			}
		})
	}
}
