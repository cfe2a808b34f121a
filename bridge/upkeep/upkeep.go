// Package upkeep does for chats what nobody waits for: summaries, titles, memories, and the reset of contexts that are
// stale.
//
// It does not run turns; what a summary or a memory contains is decided in contextmgr.
package upkeep

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/budget"
	"magpie/bridge/delivery"
	"magpie/bridge/language"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// Keeper does for chats what nobody waits for. A summary replaces the session, so it is kept apart from the chat's
// turns.
type Keeper struct {
	Rules     contextmgr.Config
	DB        *db.DB
	Context   *contextmgr.Manager
	Pool      *claude.Pool
	Budget    *budget.Budget
	Outbox    *delivery.Outbox
	Out       delivery.Messenger
	Languages language.Chooser
	Clean     func(string) string // redacts what is remembered
	Jobs      *workqueue.Queue    // what nobody waits for
	Log       zerolog.Logger
	// Compact makes a chat's summary, see [claude.Errand]; nil = as MakeSummary does.
	Compact func(ctx context.Context, key chat.Key, wanted <-chan struct{}) error

	mu    sync.Mutex
	chats map[chat.Key]*chatWork // those of which something is kept in mind
}

// chatWork is what goes on in a chat, and what is kept in mind of it.
type chatWork struct {
	turn bool // a turn is running

	done   chan struct{}           // closed when the summary ends; nil = none is being made
	wanted func()                  // signals that a user waits for the summary
	stop   context.CancelCauseFunc // cancels the summary
	again  bool                    // one was ordered while the summary was being made
	pause  time.Duration           // after the last summary, which failed; 0 = it did not
	retry  time.Time               // a summary that no user asked for is not tried before

	titles   []int64                 // the conversations whose titles are being made, by epoch
	searched bool                    // a turn is being searched for memories
	waiting  []func(context.Context) // searches of further turns

	signs [2]time.Time // when a process was last started because of a sign; see noteSign
}

// The pauses after failed summaries.
const (
	firstPause = 5 * time.Minute
	maxPause   = 6 * time.Hour
)

// patience is how long a question waits for a running summary.
const patience = time.Minute

// errImpatient stops a summary for which a question has waited long enough.
var errImpatient = errors.New("a question has waited for it long enough")

// of returns what goes on in the chat. The caller holds mu.
func (u *Keeper) of(key chat.Key) *chatWork {
	if u.chats == nil {
		u.chats = map[chat.Key]*chatWork{}
	}
	if u.chats[key] == nil {
		u.chats[key] = &chatWork{}
	}
	return u.chats[key]
}

// Count is the number of chats of which something is kept in mind.
func (u *Keeper) Count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.chats)
}

// forgetIdle forgets a chat of which nothing has to be kept in mind. The caller holds mu.
func (u *Keeper) forgetIdle(key chat.Key, now time.Time) {
	c := u.of(key)
	busy := c.turn || c.done != nil || len(c.titles) > 0 || c.searched
	failed := c.pause > 0 && now.Before(c.retry.Add(maxPause))
	if !busy && !failed && !c.hasSign(now) {
		delete(u.chats, key)
	}
}

// BeforeTurn prepares the chat of a claimed turn, and prevents new summaries until afterTurn. It calls tell if the turn
// has to wait for a running summary.
func (u *Keeper) BeforeTurn(ctx context.Context, c db.Claim, tell func()) {
	restarted := u.restartContext(ctx, c)
	u.Enter(ctx, c.Turn.Key, !restarted && u.IsDue(c.Chat) && !u.works(c.Turn.Key), tell)
}

// Enter waits a limited time for a running summary, calling tell if it has to. due means that a summary should be made
// first.
func (u *Keeper) Enter(ctx context.Context, key chat.Key, due bool, tell func()) {
	for c := u.tryEnter(key, due); c.done != nil && ctx.Err() == nil; c = u.tryEnter(key, false) {
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

// tryEnter registers a turn if no summary is running; otherwise it returns what to wait for.
func (u *Keeper) tryEnter(key chat.Key, due bool) chatWork {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.of(key)
	if due && c.done == nil {
		u.start(key, c)
	}
	c.turn = c.done == nil
	return *c
}

// leave registers the end of the turn.
func (u *Keeper) leave(key chat.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of(key).turn = false
	u.forgetIdle(key, time.Now())
}

// works reports whether the chat's agent works in the background, which ends with its session.
func (u *Keeper) works(key chat.Key) bool {
	doing := u.Pool.Unasked(key.String())
	return doing != nil && doing.IsBusy()
}

// IsDue reports whether a summary should replace the session before the chat's next turn.
func (u *Keeper) IsDue(c db.Chat) bool {
	full := u.Rules.NeedsCompaction(c.Session.Tokens, c.Session.Window)
	return c.Compacting != "" || full && u.mayRetry(c.Key, time.Now())
}

// Ended is what must be known about an ended turn.
type Ended struct {
	db.Turn
	Asked      []chat.Message
	State      convo.Phase
	Answer     string
	OwnCommand bool // the turn was one of the agent's own commands
}

// said are the IDs of what was asked and answered.
func (t Ended) said() []string { return append(idsOf(t.Asked), db.AnswerID(t.ID)) }

// idsOf are the IDs of messages. What is made of them is stored only if none was recalled meanwhile.
func idsOf(list []chat.Message) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// AfterTurn does the work that is due after a turn.
func (u *Keeper) AfterTurn(ctx context.Context, t Ended) {
	u.leave(t.Key)
	if t.State == convo.Queued || ctx.Err() != nil {
		return // shutdown; what is due is found before the next turn
	}
	c, err := u.DB.Chats().Get(ctx, t.Key)
	if ctx.Err() != nil {
		return
	} else if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
		return
	}
	if u.IsDue(c) || u.isLong(ctx, c) {
		u.Summarize(t.Key)
	}
	if t.OwnCommand {
		return // nothing worth a title or a memory was said
	}
	if t.State == convo.Done {
		u.learn(c, t)
	}
	if c.Epoch != t.Epoch {
		return // after /new, the old question is no title for the new conversation
	}
	if c.Topic == "" && t.State == convo.Done && t.Answer != "" && u.Rules.Titles {
		u.enqueueTitle(t.Key, t.Epoch, func(ctx context.Context) { u.MakeTitle(ctx, t) })
	}
}

// isLong estimates whether the messages since the last summary would fill a session. It is only needed if the agent has
// not reported the size of the session, or there is none.
func (u *Keeper) isLong(ctx context.Context, c db.Chat) bool {
	if c.Session.Tokens > 0 || !u.mayRetry(c.Key, time.Now()) {
		return false
	}
	list, err := u.DB.Messages().Answered(ctx, c.Key, c.Epoch, c.ContextAfter(), maxLoaded)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("length of the chat not available")
		return false
	}
	tokens := contextmgr.EstimateTokens(c.Summary.Text)
	for _, m := range list {
		tokens += contextmgr.EstimateTokens(m.Text)
	}
	return u.Rules.NeedsCompaction(int64(u.Context.Tokens(c.Settings.Model, tokens)), 0)
}

// AfterWork does what waited for the end of what the chat's agent did in the background, which no turn will follow.
func (u *Keeper) AfterWork(ctx context.Context, key chat.Key) {
	c, err := u.DB.Chats().Get(ctx, key)
	if err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("chat not reloaded")
	} else if err == nil && u.IsDue(c) {
		u.Summarize(key)
	}
}

// Summarize starts the chat's summary, unless a turn is running or the agent works in the background: it is made after
// that. One that is being made may not answer whoever has ordered another, so what they still wait for is made after it.
func (u *Keeper) Summarize(key chat.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch c := u.of(key); {
	case c.done != nil:
		c.again = true
		c.wanted()
	case !c.turn && !u.works(key):
		u.start(key, c)
	}
}

// start starts a summary. The caller holds mu.
func (u *Keeper) start(key chat.Key, c *chatWork) {
	// halt stops only this summary; the queue's context ends with the program.
	halt, stop := context.WithCancelCause(context.Background())
	done, wanted := make(chan struct{}), make(chan struct{})
	c.done, c.stop, c.wanted = done, stop, sync.OnceFunc(func() { close(wanted) })
	u.Jobs.Enqueue(func(ctx context.Context) {
		defer stop(nil)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		context.AfterFunc(halt, func() { cancel(context.Cause(halt)) })
		compact := u.Compact
		if compact == nil {
			compact = u.MakeSummary
		}
		err := compact(ctx, key, wanted)
		for u.isWantedAgain(ctx, key, err) {
			err = compact(ctx, key, atOnce)
		}
		close(done)
	})
}

// isWantedAgain records the end of a summary. It reports whether another one is to be made at once.
func (u *Keeper) isWantedAgain(ctx context.Context, key chat.Key, err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, now := u.of(key), time.Now()
	c.recordSummary(err, now)
	if c.again && ctx.Err() == nil {
		c.again = false
		return true
	}
	c.done, c.stop, c.wanted, c.again = nil, nil, nil, false
	u.forgetIdle(key, now)
	return false
}

// recordSummary records whether a summary succeeded. Neither a shutdown nor a lack of time counts as a failure.
func (c *chatWork) recordSummary(err error, now time.Time) {
	switch {
	case err == nil:
		c.pause = 0
	case !errors.Is(err, context.Canceled) && !errors.Is(err, claude.ErrErrandBusy):
		c.pause = min(max(2*c.pause, firstPause), maxPause)
		c.retry = now.Add(c.pause)
	}
}

// mayRetry reports whether a summary that no user asked for may be tried.
func (u *Keeper) mayRetry(key chat.Key, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.chats[key]
	return c == nil || c.pause == 0 || !now.Before(c.retry)
}

// enqueueTitle runs f, which makes the title of the chat's conversation, unless that is already being made.
func (u *Keeper) enqueueTitle(key chat.Key, epoch int64, f func(context.Context)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.of(key)
	if slices.Contains(c.titles, epoch) {
		return
	}
	c.titles = append(c.titles, epoch)
	u.Jobs.Enqueue(func(ctx context.Context) {
		f(ctx)
		u.mu.Lock()
		defer u.mu.Unlock()
		c.titles = slices.DeleteFunc(c.titles, func(made int64) bool { return made == epoch })
		u.forgetIdle(key, time.Now())
	})
}

// maxSearches limits the turns of a chat that wait to be searched for memories.
const maxSearches = 10

// enqueueSearch queues f, which searches a turn for memories, behind the chat's earlier ones. It returns false if too
// many are waiting.
func (u *Keeper) enqueueSearch(key chat.Key, f func(context.Context)) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.of(key)
	switch {
	case len(c.waiting) == maxSearches:
		return false
	case c.searched:
		c.waiting = append(c.waiting, f)
		return true
	}
	c.searched = true
	u.Jobs.Enqueue(func(ctx context.Context) {
		// One job works off the whole list of a chat, so that its memories are made in order.
		for next := f; next != nil; next = u.nextSearch(key) {
			if ctx.Err() == nil {
				next(ctx)
			}
		}
	})
	return true
}

// nextSearch returns the chat's oldest waiting search, or nil.
func (u *Keeper) nextSearch(key chat.Key) (next func(context.Context)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.of(key)
	if c.searched = len(c.waiting) > 0; !c.searched {
		u.forgetIdle(key, time.Now())
		return nil
	}
	next, c.waiting = c.waiting[0], c.waiting[1:]
	return next
}

// The kinds of signs that a question is likely to come. A press counts even if another sign, which was ignored, came before.
const (
	AnySign = iota
	ByPress
)

// signPeriod is how long a sign keeps others of its kind in a chat from counting.
const signPeriod = 10 * time.Minute

// CountSign counts a sign, unless one of its kind has counted a short time ago.
func (u *Keeper) CountSign(key chat.Key, kind int, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for other := range u.chats {
		u.forgetIdle(other, now)
	}
	c := u.of(key)
	if now.Sub(c.signs[kind]) < signPeriod {
		return false
	}
	c.signs[kind] = now
	return true
}

// hasSign reports whether a sign has counted a short time ago.
func (c *chatWork) hasSign(now time.Time) bool {
	return slices.ContainsFunc(c.signs[:], func(at time.Time) bool { return now.Sub(at) < signPeriod })
}
