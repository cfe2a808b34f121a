package openapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/time/rate"
)

// most is the largest number of calls in any span of that length.
func most(at []time.Time, span time.Duration) int {
	n := 0
	for i := range at {
		j := i
		for j < len(at) && at[j].Sub(at[i]) <= span {
			j++
		}
		n = max(n, j-i)
	}
	return n
}

func TestLimitsAreKept(t *testing.T) {
	tests := []struct {
		name  string
		limit *rate.Limiter
		calls int
		span  time.Duration
		want  int
	}{
		{"app in a second", newAPILimits(1, 1).second, 300, time.Second, 50},
		{"app in a minute", newAPILimits(1, 1).minute, 3000, time.Minute, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				for range tt.calls {
					if err := errors.Join(waitForRoom(t.Context(), tt.limit, 1),
						wait(t.Context(), tt.limit)); err != nil {
						t.Fatal(err)
					}
					at = append(at, time.Now())
				}
				if got := most(at, tt.span); got > tt.want {
					t.Errorf("%d calls within %v, the platform takes %d", got, tt.span, tt.want)
				}
			})
		})
	}
}

// paces are the paces of cards, and what the platform accepts of each in a second.
var paces = []struct {
	name string
	make func() *Pace
	most int
}{
	{"card", func() *Pace { return CardPace(true) }, 10},
	{"card of an earlier process", func() *Pace { return CardPace(false) }, 10},
	{"card inside its message", PatchPace, 5},
}

// operate makes a call at the pace of a card. It returns when the call has reached the platform, and how long it waited
// before that.
func (c *Client) operate(t *testing.T, p *Pace, live bool, way time.Duration) (arrived time.Time, waited time.Duration) {
	t.Helper()
	began := time.Now()
	api := fmt.Sprint("/open-apis/x/v1/", way) // another each time: this is not about the limits of the app
	if err := c.retry(t.Context(), Request{Path: api, Pace: p, Live: live}, func(string) error {
		waited = time.Since(began)
		time.Sleep(way)
		arrived = time.Now()
		time.Sleep(way)
		return nil
	}); err != nil {
		t.Error(err)
	}
	return arrived, waited
}

// The last drawing of a card waits for nothing, whenever it comes after the drawings of a card that grows, and whatever
// the way to the platform takes. The platform's limit is kept all the same.
func TestTheLastDrawingWaitsForNothing(t *testing.T) {
	for _, tt := range paces {
		t.Run(tt.name, func(t *testing.T) {
			for drawings := range 40 {
				synctest.Test(t, func(t *testing.T) {
					c, p, delays := retrying(), tt.make(), rand.New(rand.NewPCG(1, uint64(drawings)))
					time.Sleep(time.Second) // what an earlier process may have done is over
					way := func() time.Duration { return time.Duration(1+delays.IntN(3)) * time.Millisecond }
					var at []time.Time
					for range drawings {
						if err := p.Ready(t.Context()); err != nil {
							t.Fatal(err)
						}
						arrived, _ := c.operate(t, p, true, way())
						at = append(at, arrived)
					}
					last, waited := c.operate(t, p, false, way())
					if waited > 15*time.Millisecond {
						t.Errorf("after %d drawings the last one waits for %v", drawings, waited)
					}
					if got := most(append(at, last), time.Second-1); got > tt.most {
						t.Errorf("%d calls within a second, the platform takes %d", got, tt.most)
					}
				})
			}
		})
	}
}

// Below the limit no operation waits; above it they wait until the platform accepts them again, also when many come at
// once and each takes its own time.
func TestOperationsOnACardFillAWindow(t *testing.T) {
	for _, tt := range paces {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := retrying(), tt.make()
				time.Sleep(time.Second) // what an earlier process may have done is over
				var (
					mu     sync.Mutex
					at     []time.Time
					atOnce int
					calls  sync.WaitGroup
				)
				for i := range 60 {
					delays := rand.New(rand.NewPCG(2, uint64(i)))
					calls.Go(func() {
						arrived, waited := c.operate(t, p, false, time.Duration(1+delays.IntN(400))*time.Millisecond)
						mu.Lock()
						defer mu.Unlock()
						at = append(at, arrived)
						if waited == 0 {
							atOnce++
						}
					})
				}
				calls.Wait()
				slices.SortFunc(at, time.Time.Compare)
				if got := most(at, time.Second-1); got > tt.most {
					t.Errorf("%d calls within a second, the platform takes %d", got, tt.most)
				}
				if atOnce != cap(p.slots) || atOnce < tt.most-1 {
					t.Errorf("%d of 60 calls wait for nothing, the platform takes %d", atOnce, tt.most)
				}
			})
		})
	}
}

// However long each message takes, no more of them arrive in one second than the platform accepts for a chat. Those
// that another process sent shortly before count as well.
func TestMessagesOfAChatAreKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu      sync.Mutex
			arrived []time.Time
		)
		send := func(l *limits, seed uint64) {
			sent, err := l.slots("a").acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			delays := rand.New(rand.NewPCG(seed, 0))
			time.Sleep(time.Duration(delays.IntN(2000)) * time.Millisecond)
			mu.Lock()
			arrived = append(arrived, time.Now())
			mu.Unlock()
			time.Sleep(time.Duration(delays.IntN(100)) * time.Millisecond)
			sent()
		}
		began := time.Now()
		for process := range 3 {
			l := newLimits(1)
			var calls sync.WaitGroup
			for i := range 100 {
				calls.Go(func() { send(&l, uint64(100*process+i)) })
			}
			calls.Wait()
		}
		if got := most(arrived, time.Second); got > 5 {
			t.Errorf("%d messages within a second, the platform takes 5", got)
		}
		if took := time.Since(began); took > 300*time.Second {
			t.Errorf("300 messages took %v", took)
		}
	})
}

// A private installation may accept higher rates than the public platform.
func TestThePaceIsAMultipleOfTheRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace, calls = 100, 5000
		began, l := time.Now(), newAPILimits(pace, 1)
		for range calls {
			if err := l.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("%d calls took %v", calls, took)
		}
	})
}

// Several programs of an app keep its limits together, also while one comes and goes.
func TestProgramsShareTheRatesOfTheirApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const path = "/open-apis/im/v1/chats"
		var (
			mu    sync.Mutex
			at    []time.Time
			calls sync.WaitGroup
		)
		ctx, cancel := context.WithCancel(t.Context())
		start := func(share float64) *limits {
			l := newLimits(1)
			l.setShare(share)
			for range 3 {
				calls.Go(func() {
					for l.limiterFor("GET", path).wait(ctx) == nil {
						mu.Lock()
						at = append(at, time.Now())
						mu.Unlock()
					}
				})
			}
			return &l
		}
		first := start(1)
		time.Sleep(2 * time.Minute)
		second := start(0.2)
		time.Sleep(5 * time.Second)
		first.setShare(0.5)
		second.setShare(0.5)
		time.Sleep(2 * time.Minute)
		made := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(at)
		}
		shared := made()
		time.Sleep(time.Minute)
		if n := made() - shared; n < 13*60 {
			t.Errorf("two programs made %d calls in a minute", n)
		}
		first.setShare(1)
		before := made()
		second.setShare(0.01)
		time.Sleep(time.Minute)
		if n := made() - before; n < 13*60 {
			t.Errorf("one that is left made %d calls in a minute", n)
		}
		cancel()
		calls.Wait()
		slices.SortFunc(at, time.Time.Compare)
		if n := most(at, time.Second); n > 50 {
			t.Errorf("%d calls within a second, the platform takes 50", n)
		}
		if n := most(at, time.Minute); n > 1000 {
			t.Errorf("%d calls within a minute, the platform takes 1000", n)
		}
	})
}

// A call of low priority that waits for room does not wait for more than there will ever be.
func TestWaitingForRoomKnowsASmallerBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1)
		api := l.limiterFor("GET", "/open-apis/im/v1/chats")
		for range api.minute.Burst() {
			if err := api.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		spare := make(chan error, 1)
		go func() { spare <- api.waitForSpare(t.Context()) }()
		synctest.Wait()
		l.setShare(0.1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(spare) != 1 {
			t.Fatal("still waiting")
		}
		if err := <-spare; err != nil {
			t.Error(err)
		}
	})
}

// After the machine was suspended, the waiting calls do not all start at once.
func TestOneCallWaitsForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newAPILimits(1, 1)
		for range l.second.Burst() {
			if err := l.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var calls sync.WaitGroup
		for range 30 {
			calls.Go(func() {
				if err := l.wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if taken := -l.second.Tokens(); taken > 1 {
			t.Errorf("%v calls may start at once", taken)
		}
		calls.Wait()
	})
}

// Calls that were let go one after another and are held up on their way, by a token or by a busy machine, arrive together.
func TestCallsThatAreHeldUpKeepTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := retrying()
		fetch := c.tokens.fetch
		c.tokens.fetch = func(ctx context.Context) (gjson.Result, error) {
			time.Sleep(2 * time.Second)
			return fetch(ctx)
		}
		var (
			mu    sync.Mutex
			at    []time.Time
			calls sync.WaitGroup
		)
		delays := rand.New(rand.NewPCG(3, 0))
		for range 300 {
			way := time.Duration(delays.IntN(500)) * time.Millisecond
			calls.Go(func() {
				if err := c.retry(t.Context(), Request{Path: "/open-apis/x/v1/y"}, func(string) error {
					time.Sleep(way)
					mu.Lock()
					defer mu.Unlock()
					at = append(at, time.Now())
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		slices.SortFunc(at, time.Time.Compare)
		if got := most(at, time.Second-1); got > 50 {
			t.Errorf("%d calls within a second, the platform takes 50", got)
		}
	})
}

func TestIdleTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := CardPace(true)
		began := time.Now()
		for range 10 {
			if err := p.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := wait(t.Context(), p.live); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("waited %v", d)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.NewLimiter(rate.Every(time.Hour), 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := wait(ctx, l); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := wait(ctx, l); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := waitForRoom(ctx, l, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("idle: %v", err)
		}
	})
}

func TestUrgentCallsDoNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newAPILimits(1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var background sync.WaitGroup
		for range 4 {
			background.Go(func() {
				for errors.Join(l.waitForSpare(ctx), l.wait(ctx)) == nil {
				}
			})
		}
		if err := Sleep(ctx, time.Minute); err != nil { // background calls have used their whole share
			t.Fatal(err)
		}
		began := time.Now()
		for range 40 {
			if err := l.wait(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 1100*time.Millisecond { // the app's own rate
			t.Errorf("40 urgent calls took %v", took)
		}
		cancel()
		background.Wait()
	})
}

// Calls to one API do not use the rate of another, whatever IDs are in their paths.
func TestEachAPIHasItsOwnLimits(t *testing.T) {
	l := newLimits(1)
	update := l.limiterFor("PUT", "/open-apis/cardkit/v1/cards/735/elements/body/content")
	if l.limiterFor("PUT", "/open-apis/cardkit/v1/cards/736/elements/status/content") != update {
		t.Error("each card has limits of its own")
	}
	for _, other := range [][2]string{
		{"POST", "/open-apis/im/v1/messages"}, {"GET", "/open-apis/im/v1/messages"}, {"GET", "/open-apis/im/v1/messages/om_1"},
		{"POST", "/open-apis/im/v1/messages/om_1/reply"}, {"PUT", "/open-apis/cardkit/v1/cards/735"},
		{"PATCH", "/open-apis/cardkit/v1/cards/735/elements/body"},
	} {
		if l.limiterFor(other[0], other[1]) == update {
			t.Errorf("%v shares its limits with another API", other)
		}
	}
	if n := len(l.apis); n != 7 {
		t.Errorf("%d APIs", n)
	}
}
