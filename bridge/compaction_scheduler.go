package bridge

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/bridge/workqueue"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// compactionScheduler keeps a chat's summaries and turns apart: a summary replaces the session, so no turn may be using
// it.
type compactionScheduler struct {
	jobs *workqueue.Queue
	// makes a chat's summary; see [claude.Task]
	compact func(ctx context.Context, key chat.Key, wanted <-chan struct{}) error

	mu         sync.Mutex
	chats      map[chat.Key]*chatState              // chats with a running turn or summary
	titled     map[chat.Key]int64                   // chats with a conversation whose title is being made
	memoryJobs map[chat.Key][]func(context.Context) // the waiting jobs of chats whose turns are searched
	failed     *simplelru.LRU[chat.Key, retryAfter]
}

// chatState is the current activity in one chat.
type chatState struct {
	turn   bool                    // a turn is running
	done   chan struct{}           // closed when the summary ends; nil = none is being made
	wanted func()                  // signals that a user waits for the summary
	again  bool                    // one was ordered while the summary was being made
	stop   context.CancelCauseFunc // cancels the summary
}

// retryAfter is the pause after a failed summary that no user asked for.
type retryAfter struct {
	backoff *backoff.ExponentialBackOff
	until   time.Time
}

const (
	maxFailedChats = 1000 // chats whose last summary failed; beyond that the oldest may be retried too early
	firstBackoff   = 5 * time.Minute
	maxBackoff     = 6 * time.Hour
)

// patience is how long a question waits for a running summary.
const patience = time.Minute

// errImpatient stops a summary for which a question has waited long enough.
var errImpatient = errors.New("a question has waited for it long enough")

func newCompactionScheduler(compact func(context.Context, chat.Key, <-chan struct{}) error) *compactionScheduler {
	u := &compactionScheduler{
		jobs: workqueue.New(math.MaxInt), compact: compact,
		chats: map[chat.Key]*chatState{}, titled: map[chat.Key]int64{},
		memoryJobs: map[chat.Key][]func(context.Context){},
	}
	u.failed, _ = simplelru.NewLRU[chat.Key, retryAfter](maxFailedChats, nil) // fails only for sizes below 1
	return u
}

// beforeTurn is called before a turn uses the chat's session, and prevents new summaries until afterTurn. It waits a
// limited time for a running summary, calling tell if it has to. due means that a summary should be made first.
func (u *compactionScheduler) beforeTurn(ctx context.Context, key chat.Key, due bool, tell func()) {
	for c := u.enterTurn(key, due); c.done != nil && ctx.Err() == nil; c = u.enterTurn(key, false) {
		c.wanted()
		tell()
		t := time.NewTimer(patience)
		select {
		case <-c.done:
		case <-t.C:
			// A user waits, so the summary is abandoned; it is retried later.
			c.stop(errImpatient)
			<-c.done
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// enterTurn registers a turn if no summary is running; otherwise it returns what to wait for.
func (u *compactionScheduler) enterTurn(key chat.Key, due bool) chatState {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.stateOf(key)
	if due && c.done == nil {
		u.start(key, c)
	}
	c.turn = c.done == nil
	return *c
}

// stateOf returns the state of the chat. The caller holds mu.
func (u *compactionScheduler) stateOf(key chat.Key) *chatState {
	if u.chats[key] == nil {
		u.chats[key] = &chatState{}
	}
	return u.chats[key]
}

// afterTurn registers the end of the turn.
func (u *compactionScheduler) afterTurn(key chat.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stateOf(key).turn = false
	u.removeIdle(key)
}

// removeIdle removes the state of an inactive chat. The caller holds mu.
func (u *compactionScheduler) removeIdle(key chat.Key) {
	if c := u.chats[key]; !c.turn && c.done == nil {
		delete(u.chats, key)
	}
}

// make starts the chat's summary, unless a turn is running. One that is being made may not answer whoever has ordered
// another, so what they still wait for is made after it.
func (u *compactionScheduler) make(key chat.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch c := u.stateOf(key); {
	case c.done != nil:
		c.again = true
		c.wanted()
	case !c.turn:
		u.start(key, c)
	}
}

// start starts a summary. The caller holds mu.
func (u *compactionScheduler) start(key chat.Key, c *chatState) {
	// halt stops only this summary; the queue's context ends with the program.
	halt, stop := context.WithCancelCause(context.Background())
	done, wanted := make(chan struct{}), make(chan struct{})
	c.done, c.stop, c.wanted = done, stop, sync.OnceFunc(func() { close(wanted) })
	u.jobs.Enqueue(func(ctx context.Context) {
		defer stop(nil)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		context.AfterFunc(halt, func() { cancel(context.Cause(halt)) })
		err := u.compact(ctx, key, wanted)
		for u.isWantedAgain(ctx, key, c, err) {
			err = u.compact(ctx, key, atOnce)
		}
		close(done)
	})
}

// isWantedAgain records the end of a summary. It reports whether another one is to be made at once.
func (u *compactionScheduler) isWantedAgain(ctx context.Context, key chat.Key, c *chatState, err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recordResult(key, err, time.Now())
	if c.again && ctx.Err() == nil {
		c.again = false
		return true
	}
	*c = chatState{}
	u.removeIdle(key)
	return false
}

// recordResult records whether a summary succeeded. Neither a shutdown nor a lack of time counts as a failure. The
// caller holds mu.
func (u *compactionScheduler) recordResult(key chat.Key, err error, now time.Time) {
	switch {
	case err == nil:
		u.failed.Remove(key)
	case !errors.Is(err, context.Canceled) && !errors.Is(err, claude.ErrTaskBusy):
		r, ok := u.failed.Get(key)
		if !ok {
			r.backoff = &backoff.ExponentialBackOff{
				InitialInterval: firstBackoff, MaxInterval: maxBackoff, Multiplier: 2,
			}
		}
		r.until = now.Add(r.backoff.NextBackOff())
		u.failed.Add(key, r)
	}
}

// mayRetry reports whether a summary that no user asked for may be tried.
func (u *compactionScheduler) mayRetry(key chat.Key, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, failed := u.failed.Get(key)
	return !failed || !now.Before(r.until)
}

// enqueueTitle runs f, which makes the title of the chat's conversation, unless that is already being made.
func (u *compactionScheduler) enqueueTitle(key chat.Key, epoch int64, f func(context.Context)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if of, ok := u.titled[key]; ok && of == epoch {
		return
	}
	u.titled[key] = epoch
	u.jobs.Enqueue(func(ctx context.Context) {
		f(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.titled[key] == epoch {
			delete(u.titled, key)
		}
	})
}

// maxMemoryJobs limits the turns of a chat that wait to be searched for memories.
const maxMemoryJobs = 10

// enqueueMemoryJob queues f, which searches a turn for memories, behind the chat's earlier ones. It returns false if
// too many are waiting.
func (u *compactionScheduler) enqueueMemoryJob(key chat.Key, f func(context.Context)) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	list, busy := u.memoryJobs[key]
	switch {
	case len(list) == maxMemoryJobs:
		return false
	case busy:
		u.memoryJobs[key] = append(list, f)
		return true
	}
	u.memoryJobs[key] = nil
	u.jobs.Enqueue(func(ctx context.Context) {
		// One job works off the whole list of a chat, so that its memories are made in order.
		for next := f; next != nil; next = u.nextMemoryJob(key) {
			if ctx.Err() == nil {
				next(ctx)
			}
		}
	})
	return true
}

// nextMemoryJob returns the chat's oldest waiting job, or nil.
func (u *compactionScheduler) nextMemoryJob(key chat.Key) func(context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := u.memoryJobs[key]
	if len(list) == 0 {
		delete(u.memoryJobs, key)
		return nil
	}
	u.memoryJobs[key] = list[1:]
	return list[0]
}
