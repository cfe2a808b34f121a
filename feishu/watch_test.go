package feishu

import (
	"runtime"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

func TestPatience(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		2 * time.Minute:  130 * time.Second, // the platform's: the SDK would wait for 245 s
		20 * time.Second: 25 * time.Second,
		time.Second:      2 * time.Second,
	} {
		if got := patience(2*interval + pongGrace); got != want {
			t.Errorf("pings every %v: %v, want %v", interval, got, want)
		}
	}
	for _, odd := range []time.Duration{time.Second, 0, -time.Second} {
		if got := patience(odd); got != odd {
			t.Errorf("a deadline in %v became %v", odd, got)
		}
	}
}

func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	p := newPlatform(t, feishusim.Config{PingInterval: time.Second})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected })) // the SDK tells a moment after the first event may come
	p.Say(room, ann, "one")
	next(t, rec.messages)
	began := time.Now()
	p.Freeze(true)
	p.must(awaitStatus(p, func(s Status) bool { return !s.Connected }))
	noticed := time.Since(began)
	p.Freeze(false)
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects == 1 }))
	t.Logf("noticed after %v, back %v later", noticed, time.Since(began)-noticed)
	if noticed > 6*time.Second { // the SDK: 2 pings and 5 s
		t.Errorf("noticed after %v", noticed)
	}
	if back := time.Since(began) - noticed; back > 8*time.Second {
		t.Errorf("back after %v", back)
	}
	p.Say(room, ann, "two")
	if m := next(t, rec.messages); m.Text != "two" {
		t.Errorf("got %+v", m)
	}
}

func TestQuietConnectionStands(t *testing.T) {
	p := newPlatform(t, feishusim.Config{PingInterval: time.Second})
	p.run(newRecorder())
	if err := sleep(p.ctx(), 3*time.Second); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); !s.Connected || s.Reconnects != 0 || s.LastError != nil {
		t.Errorf("status %+v", s)
	}
	p.clean()
}

// Not parallel: it counts goroutines.
func TestConnectingAgainLeavesNothingBehind(t *testing.T) {
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger)
	g := &gaps{intake: intake{c, newRecorder()}}
	l := newLine(c, g, g.dispatcher(t.Context(), g))
	before := runtime.NumGoroutine()
	for range 100 {
		if copyOf(l.template) == l.template {
			t.Fatal("not a copy")
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines became %d", before, after)
	}
}
