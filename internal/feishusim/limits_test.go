package feishusim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRates(t *testing.T) { synctest.Test(t, testRates) }

// testRates is for a second that does not pass while the machine is busy.
func testRates(t *testing.T) {
	s := start(t, Config{
		Pipe: NewPipe(), Limits: Limits{AppPerSecond: 6, AppPerMinute: -1, ChatPerSecond: 2, CardPerSecond: 3},
	})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	path := pathMessages + "?receive_id_type=chat_id"
	for range 2 {
		c.send(p, "text", obj{"text": "x"})
	}
	c.want(codeChatFrequency, "POST", path, body(p, "text", obj{"text": "x"}))
	k := c.newCard(card(true, markdown("md", "")))
	for range 3 {
		k.content(0, "md", "x")
	}
	k.content(codeChatFrequency, "md", "x")
	var a answer
	for range 7 {
		if a = c.do("PUT", pathCards+"/x", obj{"sequence": 1}); a.Code == codeTooFrequent {
			break
		}
	}
	if a.Status != 429 || a.Header.Get(headerRateReset) != "1" {
		t.Errorf("answer %+v", a)
	}
	if violated(s, RuleRate) != 3 {
		t.Errorf("violations %+v", s.Violations())
	}
}

func TestLimiterSlides(t *testing.T) {
	l := newLimiter()
	t0 := time.Now()
	q := quota{"k", 2, time.Second}
	for i, row := range []struct {
		at   time.Duration
		ok   bool
		wait time.Duration
	}{{0, true, 0}, {600, true, 0}, {700, false, 300}, {999, false, 1}, {1000, true, 0}, {1500, false, 100},
		{1600, true, 0}} {
		wait, ok := l.allow(t0.Add(row.at*time.Millisecond), q)
		if ok != row.ok || wait != row.wait*time.Millisecond {
			t.Errorf("request %d: %v %v", i, ok, wait)
		}
	}
}
