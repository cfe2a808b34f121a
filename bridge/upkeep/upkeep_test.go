package upkeep

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// upkept is an scheduler whose summaries take a while.
type upkept struct {
	*Keeper
	made, working atomic.Int32
	cause         atomic.Value // with which the last one was stopped
}

// emptyUpkeep looks after no chat yet, and can ask neither a store nor an agent.
func emptyUpkeep() *Keeper {
	return &Keeper{Pool: claude.NewPool(claude.Config{}), Jobs: workqueue.New(math.MaxInt), chats: map[chat.Key]*chatWork{}}
}

// keepUp has summaries made that take so long and end with err. Within a bubble of synctest.
func keepUp(t *testing.T, takes time.Duration, err error) *upkept {
	u := &upkept{}
	u.Keeper = emptyUpkeep()
	u.Compact = func(ctx context.Context, _ chat.Key, wanted <-chan struct{}) error {
		if wanted == atOnce { // nobody has ordered it
			return nil
		}
		if u.working.Add(1) > 1 {
			t.Error("two summaries of one chat")
		}
		defer u.working.Add(-1)
		u.made.Add(1)
		workqueue.Sleep(ctx, takes)
		if ctx.Err() != nil {
			u.cause.Store(context.Cause(ctx))
			return context.Cause(ctx)
		}
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); u.Jobs.Run(ctx, stop) }()
	t.Cleanup(func() { cancel(); close(stop); <-done })
	return u
}

func TestASummaryAndATurnDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := keepUp(t, 20*time.Second, nil)
		told := 0
		began := time.Now()
		u.Enter(t.Context(), room, true, func() { told++ })
		if took := time.Since(began); u.made.Load() != 1 || u.working.Load() != 0 || took != 20*time.Second ||
			told != 1 {
			t.Errorf("the turn waited %v, told %d times, for %d summaries", took, told, u.made.Load())
		}
		u.Summarize(room)
		time.Sleep(time.Minute)
		if u.made.Load() != 1 {
			t.Error("a summary began during the turn")
		}
		u.leave(room)
		u.Summarize(room)
		u.Summarize(room)
		began = time.Now()
		u.Enter(t.Context(), room, true, func() { told++ })
		if took := time.Since(began); u.made.Load() != 2 || took != 20*time.Second {
			t.Errorf("the next turn waited %v for %d summaries", took, u.made.Load())
		}
		u.leave(room)
		u.Enter(t.Context(), room, false, func() { t.Error("waits for nothing") })
		u.leave(room)
		if len(u.chats) != 0 {
			t.Errorf("%d chats are kept in mind", len(u.chats))
		}
	})
}

func TestAQuestionDoesNotWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := keepUp(t, time.Hour, nil)
		began := time.Now()
		u.Enter(t.Context(), room, true, func() {})
		if took := time.Since(began); took != patience || u.working.Load() != 0 || u.cause.Load() != errImpatient {
			t.Errorf("waited %v; the summary was stopped by %v", took, u.cause.Load())
		}
		u.leave(room)
		if u.mayRetry(room, time.Now()) {
			t.Error("the next question will wait again")
		}
	})
}

// A turn that is stopped while it waits does not run, and does not stop the summary.
func TestAStoppedTurnDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := keepUp(t, 30*time.Second, nil)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		began := time.Now()
		u.Enter(ctx, room, true, func() {})
		if took := time.Since(began); took != 10*time.Second || u.working.Load() != 1 {
			t.Errorf("waited %v", took)
		}
		u.leave(room)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if u.cause.Load() != nil || len(u.chats) != 0 {
			t.Errorf("the summary was stopped by %v", u.cause.Load())
		}
	})
}

// A failed summary is retried at growing intervals until it succeeds.
func TestFailedSummariesAreTriedLessAndLess(t *testing.T) {
	t.Parallel()
	var c chatWork
	u := emptyUpkeep()
	u.chats[room] = &c
	now := time.Now()
	var waits []time.Duration
	for range 20 {
		c.recordSummary(claude.ErrErrandTimeout, now)
		if u.mayRetry(room, c.retry.Add(-time.Second)) || !u.mayRetry(room, c.retry) {
			t.Fatalf("after %d failures it is not tried until %v", len(waits)+1, c.retry)
		}
		waits = append(waits, c.retry.Sub(now))
	}
	if waits[0] != firstPause || waits[1] != 2*firstPause || waits[19] != maxPause {
		t.Errorf("waits %v", waits)
	}
	if u.forgetIdle(room, c.retry); u.chats[room] == nil {
		t.Error("the failures are forgotten")
	}
	if u.forgetIdle(room, c.retry.Add(maxPause)); u.chats[room] != nil {
		t.Error("the failures are kept in mind for ever")
	}
	c.recordSummary(nil, now)
	if u.chats[room] = &c; !u.mayRetry(room, now) {
		t.Error("it succeeded, and is not tried again")
	}
	c.recordSummary(context.Canceled, now)
	if !u.mayRetry(room, now) {
		t.Error("the end of the program counts as a failure")
	}
}

// Signs start a process once in a while: a press also after another sign, and in each chat. Then they are forgotten.
func TestWhichSignsCount(t *testing.T) {
	t.Parallel()
	u, now := emptyUpkeep(), time.Now()
	other := chat.FeishuChat("oc_2")
	for i, sign := range []struct {
		key   chat.Key
		kind  int
		after time.Duration
		want  bool
	}{
		{room, AnySign, 0, true}, {room, AnySign, time.Second, false}, {room, ByPress, time.Second, true},
		{room, ByPress, time.Minute, false}, {other, AnySign, time.Minute, true},
		{room, AnySign, signPeriod, true}, {other, AnySign, 2*signPeriod - 1, true},
	} {
		if got := u.CountSign(sign.key, sign.kind, now.Add(sign.after)); got != sign.want {
			t.Errorf("sign %d counts: %v", i, got)
		}
	}
	if len(u.chats) != 2 {
		t.Errorf("%d chats are kept in mind", len(u.chats))
	}
	if u.CountSign(other, AnySign, now.Add(4*signPeriod)); len(u.chats) != 1 {
		t.Errorf("%d chats are kept in mind in the end", len(u.chats))
	}
}

func TestATitleIsMadeOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := keepUp(t, 0, nil)
		var made atomic.Int32
		for range 3 {
			u.enqueueTitle(room, 0, func(context.Context) { made.Add(1); time.Sleep(time.Second) })
		}
		time.Sleep(2 * time.Second)
		if made.Load() != 1 {
			t.Errorf("made %d times", made.Load())
		}
		u.enqueueTitle(room, 0, func(context.Context) { made.Add(1) })
		synctest.Wait()
		if made.Load() != 2 || len(u.chats) != 0 {
			t.Errorf("made %d times", made.Load())
		}
	})
}

// A conversation gets its title although that of the one before is still being made.
func TestTheNextConversationGetsItsTitle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, over := keepUp(t, 0, nil), make(chan struct{})
		u.enqueueTitle(room, 0, func(context.Context) { <-over })
		made := false
		u.enqueueTitle(room, 1, func(context.Context) { made = true })
		synctest.Wait()
		if close(over); !made {
			t.Error("it waits")
		}
	})
}

func TestWhenAChatIsStale(t *testing.T) {
	t.Parallel()
	const after = 48 * time.Hour
	turned := time.UnixMilli(1_000_000)
	for name, tc := range map[string]struct {
		silent time.Duration
		change func(*db.Claim)
		want   bool
	}{
		"just in time":   {silent: after},
		"too long":       {silent: after + time.Millisecond, want: true},
		"meanwhile":      {silent: -time.Second},
		"no turn so far": {silent: 1000 * time.Hour, change: func(c *db.Claim) { c.Chat.Turned = time.Time{} }},
		"before /new":    {silent: 1000 * time.Hour, change: func(c *db.Claim) { c.Chat.Epoch++ }},
	} {
		c := db.Claim{Chat: db.Chat{Turned: turned}, Turn: db.Turn{Created: turned.Add(tc.silent)},
			Asked: []chat.Message{{Seq: 9}}}
		if tc.change != nil {
			tc.change(&c)
		}
		if got := IsStale(c, after); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if IsStale(c, 0) {
			t.Errorf("%s: stale, though chats never are", name)
		}
	}
}

// The turns of a chat are looked through sequentially, those of other chats meanwhile. None is forgotten that
// need not wait behind too many.
func TestTurnsAreLookedThroughOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := keepUp(t, 0, nil)
		var working, looked, elsewhere atomic.Int32
		look := func(ctx context.Context) {
			if working.Add(1) > 1 {
				t.Error("two at a time in one chat")
			}
			time.Sleep(time.Minute)
			working.Add(-1)
			looked.Add(1)
		}
		began := 0
		for range maxSearches + 5 {
			if u.enqueueSearch(room, look) {
				began++
			}
		}
		if began != maxSearches+1 {
			t.Errorf("%d are looked through or wait", began)
		}
		u.enqueueSearch(chat.FeishuChat("oc_2"), func(context.Context) { elsewhere.Add(1) })
		synctest.Wait()
		if elsewhere.Load() != 1 {
			t.Error("another chat waits")
		}
		time.Sleep(time.Hour)
		if n := looked.Load(); int(n) != began {
			t.Errorf("%d of %d were looked through", n, began)
		}
		u.mu.Lock()
		if len(u.chats) != 0 {
			t.Errorf("%d chats are still noted", len(u.chats))
		}
		u.mu.Unlock()
		if !u.enqueueSearch(room, look) {
			t.Error("the chat is not looked after any more")
		}
		time.Sleep(time.Hour)
		if n := looked.Load(); int(n) != began+1 {
			t.Error("the last was not looked through")
		}
	})
}

// During shutdown no search begins, and waiting ones are dropped.
func TestNoTurnIsLookedThroughAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := emptyUpkeep()
		ctx, cancel := context.WithCancel(t.Context())
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { defer close(done); u.Jobs.Run(ctx, stop) }()
		var looks atomic.Int32
		for range 3 {
			u.enqueueSearch(room, func(ctx context.Context) { looks.Add(1); <-ctx.Done() })
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		u.enqueueSearch(room, func(context.Context) { looks.Add(1) })
		close(stop)
		<-done
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks, want the one that was under way", n)
		}
	})
}
