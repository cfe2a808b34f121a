package feishu

import (
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/feishusim"
)

func TestReadDeadlines(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		2 * time.Minute:  130 * time.Second, // the platform's: the SDK would wait for 245 s
		20 * time.Second: 25 * time.Second,
		time.Second:      2 * time.Second,
	} {
		if got, deadline := (&watchdog{}).readTimeout(2*interval + pongGrace); got != want ||
			deadline != earlyDeadline {
			t.Errorf("pings every %v: %v, want %v", interval, got, want)
		}
	}
	for _, odd := range []time.Duration{time.Second, 0, -time.Second} {
		if got, deadline := (&watchdog{}).readTimeout(odd); got != odd || deadline != noDeadline {
			t.Errorf("a deadline in %v became %v", odd, got)
		}
	}
}

// deadlines is a connection that records its read deadlines.
type deadlines struct {
	net.Conn
	cachedCard []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.cachedCard = append(d.cachedCard, t)
	return nil
}

// A connection ends when one pong is missing, well before the SDK's own timeout.
func TestAMissingPongEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &deadlines{}
		// pings every second
		watched := &deadlineConn{Conn: c, eventLimiter: &eventLimiter{}, watchdog: &watchdog{}}
		if err := watched.SetReadDeadline(time.Now().Add(2*time.Second + pongGrace)); err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Add(2 * time.Second); !slices.EqualFunc(c.cachedCard, []time.Time{want},
			time.Time.Equal) {
			t.Errorf("deadlines %v, want %v", c.cachedCard, want)
		}
	})
}

// expiredConn is a connection on which each read times out.
type expiredConn struct{ deadlines }

func (*expiredConn) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
}

// After two connections in a row that ended at the early deadline, the SDK's own timeout applies, unless a network
// error was involved. Both deadlines are counted.
func TestTheEarlyDeadlineIsUsedTwiceInARow(t *testing.T) {
	const early, closed, unreached = "early", "closed", "unreached"
	for name, tc := range map[string]struct {
		ends []string
		want SilentCounts // after one more connection without data
	}{
		"once":                              {[]string{early}, SilentCounts{Early: 2}},
		"twice":                             {[]string{early, early}, SilentCounts{Early: 2, Late: 1}},
		"with a network that was away":      {[]string{early, unreached, early}, SilentCounts{Early: 3}},
		"with a connection that was closed": {[]string{early, closed, early}, SilentCounts{Early: 3}},
		"for good": {
			[]string{early, early, closed, unreached, closed}, SilentCounts{Early: 2, Late: 1},
		},
	} {
		w := &watchdog{state: &state{}, log: nopLogger}
		silence := func() {
			c := &deadlineConn{Conn: &expiredConn{}, eventLimiter: &eventLimiter{}, watchdog: w}
			if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(nil); err == nil {
				t.Fatal("something came")
			}
		}
		for _, end := range tc.ends {
			if end == early {
				silence()
			}
			w.recordEnd(end != unreached)
		}
		if silence(); w.state.now.Silent != tc.want {
			t.Errorf("%s: %+v, want %+v", name, w.state.now.Silent, tc.want)
		}
	}
}

// If a platform does not answer every ping, Magpie reconnects twice and then keeps the connection.
func TestAConnectionWithFewPongsIsKept(t *testing.T) {
	p := newPlatform(t, feishusim.Config{PingInterval: time.Second, Reconnect: never})
	p.AnswerPings(4) // every 3 s; the SDK's timeout is 7 s, the early deadline 2 s
	p.run(newRecorder())
	p.must(awaitStatus(p, func(s Status) bool {
		return s.Connected && s.Silent.Early == maxEarlyCuts && time.Since(s.Since) > 2500*time.Millisecond
	}))
	// On a busy machine the late deadline may pass, too; it is counted separately.
	if s := p.Status(); s.Silent.Early != maxEarlyCuts {
		t.Errorf("status %+v\n%s", s, p.log)
	}
	p.clean()
}

func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	p := newPlatform(t, feishusim.Config{
		PingInterval: time.Second, Reconnect: never, AckTimeout: 5 * time.Second, Redeliver: many(time.Second),
	})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	// the SDK reports the connection slightly later than the first event may arrive
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected }))
	// a machine that is suspended for a second loses the connection as well
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

func TestAQuietConnectionIsKept(t *testing.T) {
	p := newPlatform(t, feishusim.Config{PingInterval: time.Second})
	p.run(newRecorder())
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && time.Since(s.Since) > 4*time.Second }))
	p.clean()
}

// Not parallel: it counts goroutines.
func TestReconnectingLeaksNoGoroutines(t *testing.T) {
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
