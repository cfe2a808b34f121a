package feishu

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// However often a message is updated, it is fetched at most once a second, and once more after the last update.
func TestAMessageIsReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rb := newReadBacks()
		began, reads := time.Now(), make(chan time.Duration, 100)
		for range 30 {
			go func() {
				if rb.waitToRead(context.Background(), "om_1") {
					reads <- time.Since(began)
				}
			}()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		var last time.Duration
		for n := len(reads); n > 0; n-- {
			at := <-reads
			if last != 0 && at-last < readBackPeriod-time.Microsecond { // the limiter counts in floating point
				t.Errorf("fetched after %v and after %v", last, at)
			}
			last = at
		}
		if last < 2900*time.Millisecond {
			t.Errorf("the last update, after 2.9 s, is not fetched: %v", last)
		}
		if !rb.waitToRead(t.Context(), "om_2") {
			t.Error("another message is not fetched")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if !rb.waitToRead(ended, "om_2") {
			t.Error("the message is not fetched")
		}
	})
}
