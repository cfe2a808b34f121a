package openapi

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits keeps the app below the platform's rate limits (pages "Frequency control", im-v1/message/create and
// cardkit-v1/card/update): the platform counts an app's calls to each API separately, and the messages of a chat.
type limits struct {
	started time.Time

	mu    sync.Mutex
	pace  float64               // multiplies the platform's rates
	share float64               // this program's part of the rates, see [Client.SetShare]
	apis  map[string]*apiLimits // by method and path, without the ids in it
	chats map[string]slots
}

// apiLimits are the limits of one API. Each limiter allows a little less than the platform does in any second,
// including its burst.
type apiLimits struct {
	second *rate.Limiter // the platform allows 50 per second
	minute *rate.Limiter // the platform allows 1000 per minute
	fifo   fifo          // the queue in front of both
	slots  slots         // as many as the platform allows per second, however long calls are on their way

	mu      sync.Mutex
	limited *Error    // the latest refusal that said when the limit is reset; nil = none
	reset   time.Time // when that is
}

// noteRefusal records that the platform takes no calls before it resets a limit.
func (l *apiLimits) noteRefusal(err error) {
	var e *Error
	if ClassOf(err) != RateLimited || !errors.As(err, &e) || e.wait == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limited, l.reset = e, time.Now().Add(e.wait)
}

// untilReset is how long the platform takes no calls, and why.
func (l *apiLimits) untilReset() (time.Duration, *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.reset), l.limited
}

// waitForReset waits until the platform takes calls again.
func (l *apiLimits) waitForReset(ctx context.Context) error {
	for {
		wait, _ := l.untilReset()
		if wait <= 0 {
			return ctx.Err()
		}
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// slots are the calls about one thing that may be in flight or have arrived within the last second. A slot is taken
// before the call and returned one second after its answer. So, however long a call takes, no more of them arrive
// within one second than there are slots; and as long as there are slots, none waits.
type slots chan struct{}

// slotSpan is how long a slot is not returned: the platform counts calls per second.
const slotSpan = time.Second

// The platform accepts 5 messages per chat and second. In its first second a process sends fewer: the previous process
// may have used all of its slots just before it ended.
const (
	chatSlots      = 3
	chatSlotsFirst = 2
)

// newSlots returns n slots, of which only so many are free at first: the others are free after a while.
func newSlots(n, free int, others time.Duration) slots {
	s := make(slots, n)
	for range n - free {
		s <- struct{}{}
		time.AfterFunc(others, func() { <-s })
	}
	return s
}

// acquire waits for a slot. The caller calls answered when the outcome of the call is known.
func (s slots) acquire(ctx context.Context) (answered func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { time.AfterFunc(slotSpan, func() { <-s }) }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fifo lets one caller at a time wait for the limiters, with the others in a queue. If all waited in parallel, each
// with its own due time, all whose time passed while the machine was suspended would go at once.
type fifo chan struct{}

func newFIFO() fifo { return make(fifo, 1) }

// wait waits in the queue, and then until each limiter allows one event.
func (t fifo) wait(ctx context.Context, limiters ...*rate.Limiter) error {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t }()
	for _, l := range limiters {
		if err := wait(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// newLimits returns the limits of an app; pace multiplies the platform's rates.
func newLimits(pace float64) limits {
	return limits{pace: pace, share: 1, started: time.Now(), apis: map[string]*apiLimits{}, chats: map[string]slots{}}
}

// setShare changes the rates of all APIs, also for the calls that wait.
func (l *limits) setShare(share float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share = share
	for _, api := range l.apis {
		api.setPace(l.pace * share)
	}
}

// limiterFor returns the limits of the API to which a call goes.
func (l *limits) limiterFor(method, path string) *apiLimits {
	name := method + " " + pathTemplate(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.apis[name] == nil {
		l.apis[name] = newAPILimits(l.pace, l.share)
	}
	return l.apis[name]
}

// apiSlots is how many calls of an app to one API the platform accepts per second. The limiters allow fewer, but calls
// that they let go one after another arrive together if they are held up on their way, as all are that wait for one
// token. Only the limiters are divided among several programs of the app.
const apiSlots = 50

func newAPILimits(pace, share float64) *apiLimits {
	second, burst := perSecond(pace * share)
	minute, longBurst := perMinute(pace * share)
	return &apiLimits{
		second: rate.NewLimiter(second, burst), minute: rate.NewLimiter(minute, longBurst), fifo: newFIFO(),
		slots: make(slots, max(1, int(apiSlots*pace))),
	}
}

func perSecond(pace float64) (rate.Limit, int) {
	return rate.Limit(40 * pace), int(math.Ceil(8 * pace))
}
func perMinute(pace float64) (rate.Limit, int) {
	return rate.Limit(14 * pace), int(math.Ceil(120 * pace))
}

func (l *apiLimits) setPace(pace float64) {
	set := func(l *rate.Limiter, limit rate.Limit, burst int) {
		l.SetLimit(limit)
		l.SetBurst(burst)
	}
	second, burst := perSecond(pace)
	set(l.second, second, burst)
	minute, burst := perMinute(pace)
	set(l.minute, minute, burst)
}

// pathTemplate is a path without the IDs in it. After the service and its version, names and IDs alternate:
// /open-apis/im/v1/messages/om_1/reactions/r_1.
func pathTemplate(path string) string {
	parts := strings.Split(path, "/")
	const first = 4 // the first name, after "", "open-apis", the service and the version
	for i := first + 1; i < len(parts); i += 2 {
		parts[i] = ":id"
	}
	return strings.Join(parts, "/")
}

// wait waits until the app may make a call. The caller takes one of the slots then.
func (l *apiLimits) wait(ctx context.Context) error {
	if err := l.waitForReset(ctx); err != nil {
		return err
	}
	return l.fifo.wait(ctx, l.minute, l.second)
}

// waitUntilReady waits until a call would not have to wait.
func (l *apiLimits) waitUntilReady(ctx context.Context) error {
	if err := l.waitForReset(ctx); err != nil {
		return err
	}
	if err := waitForRoom(ctx, l.minute, 1); err != nil {
		return err
	}
	return waitForRoom(ctx, l.second, 1)
}

// waitForSpare waits until half of the burst is free, so that a call of low priority leaves room for urgent ones.
func (l *apiLimits) waitForSpare(ctx context.Context) error {
	if err := waitForRoom(ctx, l.minute, l.minute.Burst()/2); err != nil {
		return err
	}
	return waitForRoom(ctx, l.second, l.second.Burst()/2)
}

// slots returns the slots of a chat. When many chats are known, those without messages in flight are dropped.
func (l *limits) slots(chat string) slots {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.chats[chat]; ok {
		return s
	}
	if len(l.chats) >= 1000 {
		maps.DeleteFunc(l.chats, func(_ string, s slots) bool { return len(s) == 0 })
	}
	free, left := chatSlots, slotSpan-time.Since(l.started)
	if left > 0 { // still in the first second
		free = chatSlotsFirst
	}
	l.chats[chat] = newSlots(chatSlots, free, left)
	return l.chats[chat]
}

// Pace limits the operations on one card. The platform's rule is a window: an operation after a quiet second waits for
// nothing. A card that still changes is drawn at a steady rate, which leaves room in the window for its last drawing.
type Pace struct {
	slots slots
	live  *rate.Limiter
}

// CardPace is the pace of a card entity: the platform accepts 10 operations per second. On a card that is not new,
// another process may have made most of them just before it ended.
func CardPace(isNew bool) *Pace {
	const slots, first = 10, 5
	free := first
	if isNew {
		free = slots
	}
	return &Pace{newSlots(slots, free, slotSpan), rate.NewLimiter(8, 2)}
}

// PatchPace is the pace of a card that is part of its message: the platform accepts 5 updates per second, but clients
// redraw the whole card each time.
func PatchPace() *Pace {
	return &Pace{newSlots(4, 2, slotSpan), rate.NewLimiter(patchRate, 1)}
}

var patchRate = rate.Every(1200 * time.Millisecond)

// Slow makes a card entity be drawn as seldom as a card that is part of its message.
func (p *Pace) Slow() {
	p.live.SetLimit(patchRate)
	p.live.SetBurst(1)
}

// Ready waits until a card that still changes may be drawn again.
func (p *Pace) Ready(ctx context.Context) error { return waitForRoom(ctx, p.live, 1) }

// wait waits until the limiter allows one event. Unlike [rate.Limiter.Wait] it does not fail when the deadline of ctx
// is too early.
func wait(ctx context.Context, l *rate.Limiter) error {
	r := l.Reserve()
	if d := r.Delay(); d > 0 {
		if err := Sleep(ctx, d); err != nil {
			r.Cancel()
			return err
		}
	}
	return ctx.Err()
}

// waitForRoom waits until the limiter would allow that many events, or its burst if that has become smaller, without
// taking them. Its only error is ctx's. (A reservation that is canceled at once would not work: once its time has come, it
// keeps its token.)
func waitForRoom(ctx context.Context, l *rate.Limiter, room int) error {
	for {
		missing := float64(min(room, l.Burst())) - l.Tokens()
		if missing <= 0 {
			return ctx.Err()
		}
		wait := time.Duration(missing / float64(l.Limit()) * float64(time.Second))
		if err := Sleep(ctx, max(wait, time.Millisecond)); err != nil {
			return err
		}
	}
}
