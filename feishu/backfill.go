package feishu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// What is asked for after a connection was lost.
const (
	gapChats    = 50              // at most, those that spoke last
	gapMessages = 200             // of each chat at most, the newest
	gapSlack    = 5 * time.Second // messages are not always known in the order of their times
	gapAtOnce   = 4               // chats
	gapTries    = 8               // while a connection stands
	gapWait     = 2 * time.Second // before the second try; doubles
	gapPatience = time.Second     // that a message waits for what was missed before it
)

// backfill finds messages that no event told of: what was said while there was no connection, or a dead one, the
// platform delivers only 15 s, 5 min, 1 h and 6 h later, and then never.
type backfill struct {
	eventHandler
	urgent singleflight.Group

	mu      sync.Mutex
	pending []chat.Activity // chats that have not been asked since these times, those that spoke last first
}

// note remembers until when each chat is known now. What is pending since before stays pending since then.
func (g *backfill) note(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, g.client.waits.message)
	defer cancel()
	active, err := g.handler.Active(ctx)
	if err != nil {
		g.client.log.Warn().Err(err).Msg("feishu: active chats not known, messages that were missed may come late")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range active {
		if a.Since.IsZero() || slices.ContainsFunc(g.pending, func(o chat.Activity) bool { return o.Key == a.Key }) {
			continue
		}
		g.pending = append(g.pending, a)
	}
	slices.SortStableFunc(g.pending, func(a, b chat.Activity) int { return cmp.Compare(b.Since.UnixMilli(), a.Since.UnixMilli()) })
	g.pending = g.pending[:min(len(g.pending), gapChats)]
}

func (g *backfill) left() []chat.Activity {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.pending)
}

func (g *backfill) done(key chat.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(o chat.Activity) bool { return o.Key == key })
}

// close hands over what was missed, until nothing is pending or ctx is done. What it cannot do is left to the next
// connection.
func (g *backfill) close(ctx context.Context) {
	before := g.client.Status().Repaired
	for try := range gapTries {
		if try > 0 && openapi.Sleep(ctx, gapWait<<(try-1)) != nil {
			return
		}
		var chats errgroup.Group
		chats.SetLimit(gapAtOnce)
		for _, a := range g.left() {
			chats.Go(func() error { return g.ask(ctx, a, true) })
		}
		err := chats.Wait()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			g.client.log.Warn().Err(err).Msg("feishu: not all chats could be asked for what was missed")
			continue
		}
		if n := g.client.Status().Repaired - before; n > 0 {
			g.client.log.Info().Int64("messages", n).Msg("feishu: took in what was missed")
		}
		return
	}
}

// before lets what was missed in a chat go before a message that has just arrived there.
func (g *backfill) before(ctx context.Context, key chat.Key) {
	left := g.left()
	i := slices.IndexFunc(left, func(o chat.Activity) bool { return o.Key == key })
	if i < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.client.waits.missed)
	defer cancel()
	_, err, _ := g.urgent.Do(key.String(), func() (any, error) { return nil, g.ask(ctx, left[i], false) })
	if err != nil {
		g.client.log.Debug().Err(err).Msg("feishu: what was missed in a chat may come after what is new")
	}
}

// ask settles one chat; later lets all other calls go first.
func (g *backfill) ask(ctx context.Context, a chat.Activity, later bool) error {
	c := g.client
	l := listing{chat: a.Key.ID, thread: a.Key.Thread, from: a.Since.Add(-gapSlack), newest: true, most: gapMessages, later: later}
	items, _, err := c.messages.list(ctx, l)
	final := []openapi.Class{openapi.Refused, openapi.MessageGone, openapi.NoAccess}
	switch {
	case errors.As(err, new(*openapi.Error)) && slices.Contains(final, openapi.ClassOf(err)):
		// no permission, or not a member any more
		c.log.Debug().Err(err).Msg("feishu: a chat cannot be asked for what was missed")
		g.done(a.Key)
		return nil
	case err != nil:
		return err
	}
	for _, item := range items {
		s := fromList(item, l, a.Kind)
		in, ok := c.incoming(s)
		switch {
		case !ok:
			continue
		case item.Get("deleted").Bool():
			if err := g.takeBack(ctx, a.Key.ID, in.ID, in.Time); err != nil {
				return fmt.Errorf("take back a message: %w", err)
			}
			continue
		case c.known.has(in.ID):
			continue
		}
		if err := c.place(ctx, s, &in); errors.Is(err, errUnknownManner) {
			continue // its event comes sooner or later, and tells
		} else if err != nil {
			return err
		}
		// the topic's first message belongs to the chat, and is asked for there
		if a.Key.Thread != "" && in.Key != a.Key {
			continue
		}
		if err := g.hand(ctx, in); err != nil {
			return fmt.Errorf("take in a message that was missed: %w", err)
		}
		if in.Time.After(a.Since) {
			c.state.change(func(now *Status) { now.Repaired++ })
		}
	}
	g.done(a.Key)
	return nil
}
