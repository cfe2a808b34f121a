package feishu

import (
	"net"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/feishusim"
)

func TestPatience(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		2 * time.Minute:  130 * time.Second, // the platform's: the SDK would wait for 245 s
		20 * time.Second: 25 * time.Second,
		time.Second:      2 * time.Second,
	} {
		if got := readTimeout(2*interval + pongGrace); got != want {
			t.Errorf("pings every %v: %v, want %v", interval, got, want)
		}
	}
	for _, odd := range []time.Duration{time.Second, 0, -time.Second} {
		if got := readTimeout(odd); got != odd {
			t.Errorf("a deadline in %v became %v", odd, got)
		}
	}
}

// deadlines is a connection that keeps its read deadlines.
type deadlines struct {
	net.Conn
	cachedCard []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.cachedCard = append(d.cachedCard, t)
	return nil
}

// A connection is given up when one answer to a ping is missing, well before the SDK would.
func TestAMissingPongEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &deadlines{}
		// pings every second
		if err := (deadlineConn{c, &eventLimiter{}}).SetReadDeadline(time.Now().Add(2*time.Second +
			pongGrace)); err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Add(2 * time.Second); !slices.EqualFunc(c.cachedCard, []time.Time{want},
			time.Time.Equal) {
			t.Errorf("deadlines %v, want %v", c.cachedCard, want)
		}
	})
}

func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	p := newPlatform(t, feishusim.Config{
		PingInterval: time.Second, Reconnect: never, AckTimeout: 5 * time.Second, Redeliver: many(time.Second),
	})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	// the SDK tells a moment after the first event may come
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected }))
	// a machine that is suspended for a second costs the connection too
	before := p.Status().Reconnects
	began := time.Now()
	p.Freeze(true)
	p.must(awaitStatus(p, func(s Status) bool { return !s.Connected || s.Reconnects > before }))
	noticed := time.Since(began)
	p.Freeze(false)
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects > before }))
	t.Logf("noticed after %v, back %v later", noticed, time.Since(began)-noticed)
	p.await("the end of the dead connection", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(room, ann, "still there?")
	if m := next(t, rec.messages); m.Text != "still there?" {
		t.Errorf("got %+v", m)
	}
}

func TestQuietConnectionStands(t *testing.T) {
	p := newPlatform(t, feishusim.Config{PingInterval: time.Second})
	p.run(newRecorder())
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && time.Since(s.Since) > 4*time.Second }))
	p.clean()
}

// Not parallel: it counts goroutines.
func TestConnectingAgainLeavesNothingBehind(t *testing.T) {
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger)
	g := &backfill{eventHandler: eventHandler{c, newRecorder()}}
	l := newConnection(c, g, g.dispatcher(t.Context(), g, &eventLimiter{}), &eventLimiter{})
	before := runtime.NumGoroutine()
	for range 100 {
		if shallowCopy(l.template) == l.template {
			t.Fatal("not a copy")
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines became %d", before, after)
	}
}
