package feishu

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// blockingHandler is a Handler that blocks until it is released.
type blockingHandler struct {
	*recorder
	open chan struct{}
	came chan struct{} // another message is being handled

	mu              sync.Mutex
	inside, most, n int
}

func (*blockingHandler) HandleEdit(context.Context, chat.Incoming) error      { return nil }
func (*blockingHandler) HandleRecall(context.Context, chat.Key, string) error { return nil }

func (c *blockingHandler) HandleMessage(context.Context, chat.Incoming) error {
	c.count(1)
	defer c.count(-1)
	<-c.open
	return nil
}

func (c *blockingHandler) count(d int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside += d
	c.n += max(d, 0)
	c.most = max(c.most, c.inside)
	select {
	case c.came <- struct{}{}:
	default: // the waiting test has not looked at the last one yet
	}
}

func (c *blockingHandler) seen() (n, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.most
}

// However many messages arrive at once, only a limited number is handled at a time. The others wait.
func TestFewMessagesAreHandledAtATime(t *testing.T) {
	const people = 500
	p := newPlatform(t, feishusim.Config{AckTimeout: time.Minute})
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Code: 99991672}) // no names, so no calls for them
	c := &blockingHandler{recorder: newRecorder(), open: make(chan struct{}), came: make(chan struct{}, 1)}
	p.run(c)
	for i := range people {
		u := p.AddUser(fmt.Sprint("user ", i))
		p.Say(p.PrivateChat(u), u, "hello")
	}
	until := func(what string, cond func(n, most int) bool) {
		t.Helper()
		for deadline := time.After(90 * time.Second); !cond(c.seen()); {
			select {
			case <-c.came:
			case <-deadline:
				n, most := c.seen()
				t.Fatalf("waiting for %s: %d came, %d at a time", what, n, most)
			}
		}
	}
	until("a full house", func(n, _ int) bool { return n >= maxInFlight })
	time.Sleep(300 * time.Millisecond) // nothing to wait for: no further message may enter
	if _, most := c.seen(); most > maxInFlight {
		t.Errorf("%d messages are handled at a time", most)
	}
	close(c.open)
	until("everybody", func(n, _ int) bool { return n == people })
	if _, most := c.seen(); most > maxInFlight {
		t.Errorf("%d messages were handled at a time", most)
	}
}

// Frames that are no events, such as pongs, do not occupy the limiter for long.
func TestOtherFramesLeaveTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i eventLimiter
		leave := i.enter()
		began := time.Now()
		for range 10 * maxInFlight {
			i.waitForRoom()
		}
		if took := time.Since(began); took > 11*lostFramePolls*limiterPoll {
			t.Errorf("took %v", took)
		}
		leave()
		if i.inFlight != 0 || i.framesRead > maxInFlight {
			t.Errorf("%d are being handled, %d were read", i.inFlight, i.framesRead)
		}
	})
}

// Members of unknown chats are looked up for a few chats at a time.
func TestFewChatsAreAskedForNamesAtATime(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Delay: time.Hour})
	ctx, stop := context.WithCancel(p.ctx())
	var asked int
	for i := range 3 * maxAsking {
		if _, answer := p.names.requestName(ctx, fmt.Sprint("oc_", i), "ou_1"); answer != nil {
			asked++
		}
	}
	if asked != maxAsking {
		t.Errorf("%d chats are asked at the same time, want %d", asked, maxAsking)
	}
	stop()
	p.names.wait()
	if _, answer := p.names.requestName(p.ctx(), "oc_last", "ou_1"); answer == nil {
		t.Error("the look-ups end")
	}
	p.api.HTTP.CloseIdleConnections()
}

// The public platform waits 3 s for an acknowledgement; others wait as long as configured.
func TestHandlersEndBeforeThePlatformStopsWaiting(t *testing.T) {
	for wait, want := range map[time.Duration][3]time.Duration{
		0:                {2500 * time.Millisecond, 2500 * time.Millisecond, 600 * time.Millisecond},
		30 * time.Second: {25 * time.Second, 25 * time.Second, 6 * time.Second},
	} {
		c := New(Config{AckTimeout: wait}, zerolog.Nop())
		if got := [3]time.Duration{c.waits.message, c.waits.press, c.topics.timeout}; got != want {
			t.Errorf("when the platform waits for %v: %v, want %v", wait, got, want)
		}
	}
}
