package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
)

// The sweep runs at the start and every day, whatever fails, and ends with the program.
func TestOldDataIsSweptEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var times atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			runSweeps(ctx, zerolog.Nop(), func(context.Context) (db.Swept, error) {
				times.Add(1)
				return db.Swept{}, errors.New("disk full")
			})
		}()
		synctest.Wait()
		if times.Load() != 1 {
			t.Errorf("swept %d times at the start", times.Load())
		}
		time.Sleep(3*24*time.Hour + time.Minute)
		if times.Load() != 4 {
			t.Errorf("swept %d times in three days", times.Load())
		}
		cancel()
		<-done
	})
}
