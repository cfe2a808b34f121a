// Package overheard fetches what was said in a group and not to the bot, where the platform sends no events about that.
//
// What such messages are worth to an agent is not decided here.
package overheard

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

// Groups lists messages in groups for which the bot got no event.
type Groups interface {
	// ListMessages lists the messages of users in a chat since a time, oldest first. If there are more than most, it
	// returns the newest.
	ListMessages(ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int) ([]chat.Incoming, error)
}

// Limits of the fetch of group messages. A turn waits for it.
const (
	askGroups    = 800 * time.Millisecond // the default timeout
	groupBackoff = 10 * time.Minute       // pause after a failure
	maxFetched   = 50                     // messages, including those to and from the bot
	maxFetchAge  = 24 * time.Hour         // how far back
	alive        = 10 * time.Second       // a message younger than this on arrival came by an event
	maxGroups    = 10_000                 // groups remembered
)

// Fetcher stores group messages that were not addressed to the bot and for which no event arrived. They are stored
// under their IDs, so they are fetched once, and an event that arrives later adds no duplicate.
type Fetcher struct {
	groups     Groups // nil = the platform cannot list messages
	db         *db.DB
	wait       time.Duration       // timeout of the platform's reply
	most       int                 // messages in a prompt; 0 = none
	authorizer *access.Authorizer  // decides whose messages may be read
	redact     func(string) string // redacts a text for the History
	warnOnce   sync.Once

	mu      sync.Mutex
	retryAt time.Time                           // no fetch before this time
	asked   *simplelru.LRU[chat.Key, bool]      // groups fetched before; true = an event has arrived since
	pending *simplelru.LRU[chat.Key, time.Time] // the start of a gap that could not be fetched
}

// New makes a Fetcher that waits that long for the platform, 0 = the default, and removes from messages what the History
// must not have.
func New(
	groups Groups, store *db.DB, authorizer *access.Authorizer, rules contextmgr.Config, wait time.Duration,
	redact func(string) string,
) *Fetcher {
	g := &Fetcher{
		groups: groups, db: store, wait: cmp.Or(wait, askGroups), most: rules.AutoChatContext, authorizer: authorizer,
		redact: redact,
	}
	g.asked, _ = simplelru.NewLRU[chat.Key, bool](maxGroups, nil) // fails only for sizes below 1
	g.pending, _ = simplelru.NewLRU[chat.Key, time.Time](maxGroups, nil)
	if rules.Mode == contextmgr.Resume {
		g.most = 0 // these prompts have no room for group messages
	}
	return g
}

// NoteEvent records an event for a group message that was not addressed to the bot. It shows that the app gets
// all messages of this group, so nothing needs to be fetched.
func (g *Fetcher) NoteEvent(m chat.Incoming) {
	if m.ToBot || m.Kind == chat.Private || time.Since(m.Time) > alive {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.asked.Get(m.Key); ok {
		g.asked.Add(m.Key, true)
	}
}

// shouldFetch reports whether a fetch is worth a call to the platform.
func (g *Fetcher) shouldFetch(c db.Claim) bool {
	if c.Chat.Kind == chat.Private || g.groups == nil || g.most == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	eventsArrive, _ := g.asked.Get(c.Turn.Key)
	return !eventsArrive && time.Now().After(g.retryAt)
}

// Fetch starts fetching the group's messages since the bot was last addressed. wait returns when they are stored,
// or cannot be fetched.
func (g *Fetcher) Fetch(ctx context.Context, c db.Claim) (wait func()) {
	if !g.shouldFetch(c) {
		return func() {}
	}
	// In a goroutine, so that the fetch overlaps with acquiring the agent's process.
	done := make(chan struct{})
	go func() {
		defer close(done)
		since, err := g.storeMissed(ctx, c)
		switch {
		case err == nil:
			g.markComplete(c.Turn.Key)
		case ctx.Err() != nil:
		case errors.Is(err, errNoAccessRules):
			g.markPending(c.Turn.Key, since)
		default:
			g.markPending(c.Turn.Key, since)
			// Pause after an error: asking again with every message does not bring a missing permission back.
			g.pause()
			g.warnOnce.Do(func() {
				zerolog.Ctx(ctx).Warn().Err(err).Msg("messages of groups cannot be listed; only those with events are known")
			})
		}
	}()
	return func() { <-done }
}

// markComplete records that a chat has no gaps; only new events add messages.
func (g *Fetcher) markComplete(key chat.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending.Remove(key)
	if _, ok := g.asked.Get(key); !ok {
		g.asked.Add(key, false)
	}
}

// pause stops fetching for a while.
func (g *Fetcher) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retryAt = time.Now().Add(groupBackoff)
}

// markPending records a gap, which the next question's fetch tries to fill.
func (g *Fetcher) markPending(key chat.Key, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending.Add(key, since)
}

// fetchSince is the start of the time range to fetch for a chat in which the bot was last addressed at that time.
func (g *Fetcher) fetchSince(key chat.Key, addressed time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if pending, ok := g.pending.Get(key); ok && pending.Before(addressed) {
		return pending
	}
	return addressed
}

// errNoAccessRules means that the access of some authors could not be determined.
var errNoAccessRules = errors.New("access rules not available")

// storeMissed fetches and stores the missed messages, and returns the start of the range. An error means that some are
// missing.
func (g *Fetcher) storeMissed(ctx context.Context, c db.Claim) (since time.Time, err error) {
	key := c.Turn.Key
	addressed, overheard, err := g.db.Messages().LastAddressed(ctx, key, c.Turn.ID)
	since = g.fetchSince(key, addressed)
	if err != nil || overheard >= g.most {
		return since, err
	}
	if oldest := time.Now().Add(-maxFetchAge); since.Before(oldest) {
		since = oldest
	}
	asking, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	said, err := g.groups.ListMessages(asking, key, c.Chat.Kind, since, maxFetched)
	if err != nil {
		return since, err
	}
	var list []chat.Incoming
	var unknown error
	for _, m := range said { // the first message of a topic was written in the chat, to whomever
		if m.ToBot && m.Key == key || m.Text == "" {
			continue
		}
		switch who, err := g.authorizer.Authorize(asking, key, m.Actor); {
		case err != nil:
			unknown = errors.Join(errNoAccessRules, err)
		case who == access.Admitted:
			m.Text = g.redact(m.Text)
			list = append(list, m)
		}
	}
	if len(list) > 0 {
		err = g.db.Messages().StoreOverheard(ctx, key, c.Turn.Epoch, list)
	}
	return since, errors.Join(err, unknown)
}
