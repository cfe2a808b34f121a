package feishu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// Limits of the backfill after a lost connection.
const (
	backfillChats    = 50              // the most recently active ones
	backfillMessages = 200             // the newest ones of each chat
	backfillSlack    = 5 * time.Second // messages do not always arrive in the order of their times
	backfillParallel = 4               // chats at the same time
	backfillTries    = 8               // per connection
	backfillBackoff  = 2 * time.Second // before the second attempt; doubles up to
	backfillMaxWait  = 128 * time.Second
	backfillTimeout  = time.Second // how long a new message waits for older ones of its chat
)

// backfill fetches messages for which no event arrived. Without a working connection the platform redelivers events
// only after 15 s, 5 min, 1 h and 6 h, and then gives up. So after each connect the client lists the messages of the
// recently active chats.
type backfill struct {
	eventHandler
	urgent singleflight.Group

	mu      sync.Mutex
	pending []chat.Activity // chats to list, and from which time; the most recently active first
}

// recordPending records for each active chat up to which time its messages are known. A chat that is still pending
// keeps its earlier time, since the messages after that were never fetched.
func (g *backfill) recordPending(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, g.client.waits.message)
	defer cancel()
	active, err := g.handler.ActiveChats(ctx, chat.FeishuChat("").Channel)
	// An error is not fatal: the chats that were pending before are still fetched.
	if err != nil {
		g.client.log.Warn().Err(err).Msg("feishu: active chats not available; missed messages may come late")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range active {
		if a.Since.IsZero() || slices.ContainsFunc(g.pending, func(o chat.Activity) bool { return o.Key == a.Key }) {
			continue
		}
		g.pending = append(g.pending, a)
	}
	// By milliseconds, the platform's precision: a finer order would depend on our own clock.
	slices.SortStableFunc(g.pending, func(a, b chat.Activity) int {
		return cmp.Compare(b.Since.UnixMilli(), a.Since.UnixMilli())
	})
	g.pending = g.pending[:min(len(g.pending), backfillChats)]
}

// pendingChats returns a copy, so that callers can make network calls without the lock.
func (g *backfill) pendingChats() []chat.Activity {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.pending)
}

// markDone removes a chat whose missed messages were handled, or that cannot be listed.
func (g *backfill) markDone(key chat.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(o chat.Activity) bool { return o.Key == key })
}

// run fetches missed messages until no chat is pending or ctx is done. What fails here is left to the next connection.
func (g *backfill) run(ctx context.Context) {
	before := g.client.Status().Backfilled
	wait := backoff.ExponentialBackOff{InitialInterval: backfillBackoff, MaxInterval: backfillMaxWait, Multiplier: 2}
	for try := range backfillTries {
		// Waits 2 s, 4 s, ... before each retry: about four minutes in all, after which the next connection tries
		// again.
		if try > 0 && openapi.Sleep(ctx, wait.NextBackOff()) != nil {
			return
		}
		var chats errgroup.Group
		chats.SetLimit(backfillParallel)
		for _, a := range g.pendingChats() {
			chats.Go(func() error { return g.fetchChat(ctx, a, true) })
		}
		err := chats.Wait()
		if ctx.Err() != nil {
			return
		}
		// The chats that succeeded are no longer pending, so the next round only repeats the others.
		if err != nil {
			g.client.log.Warn().Err(err).Msg("feishu: missed messages of some chats not listed; trying again")
			continue
		}
		if n := g.client.Status().Backfilled - before; n > 0 {
			g.client.log.Info().Int64("messages", n).Msg("feishu: backfilled missed messages")
		}
		return
	}
}

// runBefore fetches the missed messages of a chat before a new message of the same chat is handled, so that the History
// keeps their order. It gives up after a short timeout: a late old message does less harm than a late answer.
func (g *backfill) runBefore(ctx context.Context, key chat.Key) {
	left := g.pendingChats()
	i := slices.IndexFunc(left, func(o chat.Activity) bool { return o.Key == key })
	if i < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.client.waits.backfill)
	defer cancel()
	// Several messages of a chat may arrive at once; one list call serves them all.
	_, err, _ := g.urgent.Do(key.String(), func() (any, error) { return nil, g.fetchChat(ctx, left[i], false) })
	if err != nil {
		g.client.log.Debug().Err(err).Msg("feishu: backfill of a chat timed out; missed messages may follow new ones")
	}
}

// fetchChat fetches the missed messages of one chat. With later set, all other API calls go first.
func (g *backfill) fetchChat(ctx context.Context, a chat.Activity, later bool) error {
	c := g.client
	l := listQuery{
		chat: a.Key.ID, thread: a.Key.Thread, from: a.Since.Add(-backfillSlack), newest: true, limit: backfillMessages,
		lowPriority: later,
	}
	items, _, err := c.messages.list(ctx, l)
	// These errors do not go away by repeating, and a chat that stays pending would slow down every round.
	final := []openapi.Class{openapi.Refused, openapi.MessageGone, openapi.NoAccess}
	switch {
	case errors.As(err, new(*openapi.Error)) && slices.Contains(final, openapi.ClassOf(err)):
		// permanent: no permission, or no longer a member
		c.log.Debug().Err(err).Msg("feishu: missed messages of a chat cannot be listed")
		g.markDone(a.Key)
		return nil
	case err != nil:
		return err
	}
	for _, item := range items {
		s := fromList(item, l, a.Kind)
		in, ok := c.reader.incoming(s)
		switch {
		case !ok:
			continue
		case item.Get("deleted").Bool():
			if err := g.deliverRecall(ctx, a.Key.ID, in.ID, in.Time); err != nil {
				return fmt.Errorf("take back a message: %w", err)
			}
			continue
		// The event of this message arrived after all, so it was handled already.
		case c.known.has(in.ID):
			continue
		}
		if err := c.reader.resolveChat(ctx, s, &in); errors.Is(err, errUnknownGroupMode) {
			continue // its event arrives sooner or later, and says to which chat it belongs
		} else if err != nil {
			return err
		}
		// The topic's first message belongs to the chat, whose own backfill finds it.
		if a.Key.Thread != "" && in.Key != a.Key {
			continue
		}
		if err := g.deliver(ctx, in); err != nil {
			return fmt.Errorf("take in a message that was missed: %w", err)
		}
		if in.Time.After(a.Since) {
			c.state.update(func(now *Status) { now.Backfilled++ })
		}
	}
	g.markDone(a.Key)
	return nil
}
