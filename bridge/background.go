package bridge

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// Groups tells what was said in groups while nobody told the bot.
type Groups interface {
	// ListMessages lists what people have said in a chat since then, oldest first; when that is more than most, the
	// newest.
	ListMessages(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int) ([]chat.Incoming, error)
}

// How what was said in a group is asked for. A turn waits for it.
const (
	askGroups    = 800 * time.Millisecond // at most, if nothing else is configured
	groupBackoff = 10 * time.Minute       // after a failure
	mostSaid     = 50                     // messages, those to and of the bot among them
	longestSaid  = 24 * time.Hour         // ago
	alive        = 10 * time.Second       // a message that arrives so soon was told by an event
	mostGroups   = 10_000                 // remembered
)

// background stores messages of groups that were not addressed to the bot and for which no event arrived. They
// are stored under their ids, so they need not be fetched again, and count once if their event arrives after all.
type background struct {
	groups     Groups // nil = the platform cannot be asked
	db         *db.DB
	wait       time.Duration       // that the platform has to answer
	most       int                 // that a prompt takes; 0 = none are wanted
	authorizer *access.Authorizer  // who may be listened to
	kept       func(string) string // what of a text may be in the History
	warnOnce   sync.Once

	mu      sync.Mutex
	retryAt time.Time                           // until then the platform is not asked
	asked   *simplelru.LRU[chat.Key, bool]      // groups that were asked for; true = an event has told since then
	pending *simplelru.LRU[chat.Key, time.Time] // since when something may be missing that could not be had
}

func newBackground(cfg Config, store *db.DB, door *access.Authorizer) *background {
	g := &background{
		groups: cfg.Groups, db: store, wait: cmp.Or(cfg.Waits.Said, askGroups), most: cfg.Context.AutoChatContext,
		authorizer: door, kept: cfg.kept,
	}
	g.asked, _ = simplelru.NewLRU[chat.Key, bool](mostGroups, nil) // fails for sizes below 1 only
	g.pending, _ = simplelru.NewLRU[chat.Key, time.Time](mostGroups, nil)
	if cfg.Context.Mode == contextmgr.Resume {
		g.most = 0 // no prompt has room for it
	}
	return g
}

// markEventReceived records that an event arrived for a message that was not for the bot: the app gets all messages
// of this group, so nothing need be fetched there.
func (g *background) markEventReceived(m chat.Incoming) {
	if m.ToBot || m.Kind == chat.Private || time.Since(m.Time) > alive {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.asked.Get(m.Key); ok {
		g.asked.Add(m.Key, true)
	}
}

// wanted says whether the platform is worth a call.
func (g *background) wanted(c db.Claim) bool {
	if c.Chat.Kind == chat.Private || g.groups == nil || g.most == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	eventsArrive, _ := g.asked.Get(c.Turn.Key)
	return !eventsArrive && time.Now().After(g.retryAt)
}

// fetchMissed starts to fetch the messages of the group since the bot was last addressed. wait returns when
// they are stored, or cannot be fetched.
func (g *background) fetchMissed(ctx context.Context, c db.Claim) (wait func()) {
	if !g.wanted(c) {
		return func() {}
	}
	// In a goroutine: the fetch runs while the process of the agent is acquired.
	done := make(chan struct{})
	go func() {
		defer close(done)
		since, err := g.storeMissed(ctx, c)
		switch {
		case err == nil:
			g.known(c.Turn.Key)
		case ctx.Err() != nil:
		case errors.Is(err, errWhoSaid):
			g.markPending(c.Turn.Key, since)
		default:
			g.markPending(c.Turn.Key, since)
			// Fetching is paused after an error: a missing permission does not come back by asking with every message.
			g.pause()
			g.warnOnce.Do(func() {
				zerolog.Ctx(ctx).Warn().Err(err).Msg("messages of groups cannot be listed; only those with events are known")
			})
		}
	}()
	return func() { <-done }
}

// known records that nothing is missing in a chat any more, except for what future events bring.
func (g *background) known(key chat.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending.Remove(key)
	if _, ok := g.asked.Get(key); !ok {
		g.asked.Add(key, false)
	}
}

// pause asks for nothing for a while.
func (g *background) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retryAt = time.Now().Add(groupBackoff)
}

// markPending notes that the next question asks also for what could not be had this time.
func (g *background) markPending(key chat.Key, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending.Add(key, since)
}

// since is from when on is asked for what was said in a chat, in which the bot was last spoken to at that time.
func (g *background) since(key chat.Key, addressed time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if pending, ok := g.pending.Get(key); ok && pending.Before(addressed) {
		return pending
	}
	return addressed
}

// errWhoSaid means that the access of some authors could not be determined.
var errWhoSaid = errors.New("access rules not available")

// storeMissed stores what was said, and tells since when. An error says that some of it is missing.
func (g *background) storeMissed(ctx context.Context, c db.Claim) (since time.Time, err error) {
	key := c.Turn.Key
	addressed, overheard, err := g.db.Background().Addressed(ctx, key, c.Turn.ID)
	since = g.since(key, addressed)
	if err != nil || overheard >= g.most {
		return since, err
	}
	if oldest := time.Now().Add(-longestSaid); since.Before(oldest) {
		since = oldest
	}
	asking, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	said, err := g.groups.ListMessages(asking, key, c.Chat.Kind, since, mostSaid)
	if err != nil {
		return since, err
	}
	var list []chat.Incoming
	var unknown error
	for _, m := range said { // what a topic begins with was said in the chat, to whomever
		if m.ToBot && m.Key == key || m.Text == "" {
			continue
		}
		switch who, err := g.authorizer.Authorize(asking, key, m.Actor); {
		case err != nil:
			unknown = errors.Join(errWhoSaid, err)
		case who == access.Admitted:
			m.Text = g.kept(m.Text)
			list = append(list, m)
		}
	}
	if len(list) > 0 {
		err = g.db.Background().Store(ctx, key, c.Turn.Epoch, list)
	}
	return since, errors.Join(err, unknown)
}
