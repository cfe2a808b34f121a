package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
)

// Sweeping begins with the program, goes on day by day whatever fails, and ends with the program.
func TestOldDataIsSweptEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		times := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			sweeps(ctx, zerolog.Nop(), func(context.Context) (db.Swept, error) {
				times++
				return db.Swept{}, errors.New("disk full")
			})
		}()
		synctest.Wait()
		if times != 1 {
			t.Errorf("swept %d times at the start", times)
		}
		time.Sleep(3*24*time.Hour + time.Minute)
		synctest.Wait()
		if times != 4 {
			t.Errorf("swept %d times in three days", times)
		}
		cancel()
		<-done
	})
}
