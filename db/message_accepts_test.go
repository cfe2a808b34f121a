package db_test

import (
	"testing"
	"time"
)

// Concurrent messages share one commit: each takes no longer than a message that is stored alone. Both are measured
// alternately, under the same load.
func TestMessagesAtOnceAreStoredAsFastAsOne(t *testing.T) {
	const messages, rounds = 128, 5
	alone, together := time.Duration(0), time.Duration(0)
	d := fresh(t)
	each := func(writers int) time.Duration {
		began := time.Now()
		acceptMany(t, d, writers, messages, sameQuestion)
		return time.Since(began)
	}
	for range rounds {
		alone += each(1)
		together += each(64)
	}
	t.Logf("%v for a single message, %v for one of many", alone/(rounds*messages), together/(rounds*messages))
	if float64(together) > 1.5*float64(alone) {
		t.Errorf("%d messages take %v sequentially, and %v concurrently", rounds*messages, alone, together)
	}
}
