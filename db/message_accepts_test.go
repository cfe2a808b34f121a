package db_test

import (
	"testing"
	"time"
)

// Messages that come at once share the wait for the disk: storing one then takes no longer than storing it alone. Both
// are measured in turns, so that they meet the same machine.
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
	t.Logf("%v for a message alone, %v for one of many", alone/(rounds*messages), together/(rounds*messages))
	if float64(together) > 1.5*float64(alone) {
		t.Errorf("%d messages take %v one after the other, and %v at once", rounds*messages, alone, together)
	}
}
