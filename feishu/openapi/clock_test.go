package openapi

import (
	"net/http"
	"testing"
	"time"
)

func TestClockOfThePlatform(t *testing.T) {
	ours := time.Now()
	for _, ahead := range []time.Duration{0, time.Hour, -7 * time.Second} {
		var c clock
		if c.surelyAfter(ours.Add(365*24*time.Hour), ours) {
			t.Error("certain before the offset is known")
		}
		now := ours
		for range 200 { // answers spread over the second, each 20 ms after its call
			now = now.Add(337 * time.Millisecond)
			theirs := now.Add(ahead - 10*time.Millisecond)
			c.observe(theirs.UTC().Format(http.TimeFormat), now.Add(-20*time.Millisecond), now)
			if at := now.Add(ahead); c.surelyAfter(at.Add(-time.Millisecond), now) {
				t.Errorf("ahead %v: an earlier time counts as later", ahead)
			}
		}
		if !c.surelyAfter(now.Add(ahead+100*time.Millisecond), now) {
			t.Errorf("ahead %v: not sure after 200 answers: between %v and %v", ahead, c.least, c.most)
		}
		// To the whole second, and never too old.
		if age := c.age(time.Now().Add(ahead - time.Hour)); age > time.Hour+10*time.Millisecond || age < time.Hour-time.Second {
			t.Errorf("ahead %v: an hour ago is %v ago", ahead, age)
		}
		c.observe(now.Add(ahead+time.Minute).UTC().Format(http.TimeFormat), now, now)
		if c.surelyAfter(now.Add(ahead+30*time.Second), now) {
			t.Errorf("ahead %v: a clock that was changed is not followed", ahead)
		}
		c.observe("no date", now, now)
	}
}
