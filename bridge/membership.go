package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// HandleMembership handles a change of the bot's membership in a chat.
func (b *Bridge) HandleMembership(ctx context.Context, c chat.Change) error {
	defer b.arrivals.arrived()()
	if err := b.checkEvent(ctx, chat.Ref{Key: c.Key}, c.Tenant, c.Actor); err != nil {
		return err
	}
	switch c.Did {
	case chat.Added:
		return b.join(ctx, c)
	case chat.Removed, chat.Dissolved:
		return b.leave(ctx, c)
	case chat.Opened:
		return b.open(ctx, c)
	}
	return nil
}

// HandleRead handles a read receipt for a message of the bot in a private chat. There is one for each message.
func (b *Bridge) HandleRead(_ context.Context, key chat.Key, reader chat.Actor) {
	if key.Owns(reader.ID) {
		b.ahead.noteActivityOf(key, &reader)
	}
}

// PrivateChat is the private chat with a person who has written there before; the zero key if there is none.
func (b *Bridge) PrivateChat(ctx context.Context, user string) (chat.Key, error) {
	key, err := b.db.Chats().PrivateChat(ctx, user)
	if errors.Is(err, db.ErrNotFound) {
		return chat.Key{}, nil
	}
	return key, err
}

// leave stops the running turns of a chat that the bot has left. Waiting turns are dropped.
func (b *Bridge) leave(ctx context.Context, c chat.Change) error {
	working, fresh, err := b.db.Chats().Leave(ctx, c)
	if err != nil || !fresh {
		return err
	}
	b.log.Info().Stringer("chat", c.Key).Str("did", string(c.Did)).Int("working", len(working)).
		Msg("not in a group any more")
	for key, turns := range working {
		b.busy.halt(key, errStopped, turns...)
		for _, turn := range turns {
			b.approvals.EndTurnSoon(db.Turn{ID: turn, Key: key}, convo.Cancelled)
		}
		b.pool.Stop(key.String())
	}
	b.reactions.Forget(func(to chat.Ref) bool { return to.Key.Parent() == c.Key })
	return nil
}

// join introduces the bot to a group that has access, and tells the owner about any other group.
func (b *Bridge) join(ctx context.Context, c chat.Change) error {
	who, err := b.access.Authorize(ctx, c.Key, c.Actor)
	if err != nil {
		return err
	}
	welcome := who == access.Admitted
	say := b.access.AddedByStrangerPost(ctx, c)
	if welcome {
		greeting := b.greeting(ctx, c.Key, b.languages.OfChat(ctx, c.Key))
		say = &db.Post{Key: c.Key, Idem: fmt.Sprintf("greeting:%v:%d", c.Key, c.Time.UnixMilli()), Text: greeting}
	}
	fresh, err := b.db.Chats().Join(ctx, c, say)
	if err != nil || !fresh {
		return err
	}
	b.log.Info().Stringer("chat", c.Key).Str("user", c.Actor.ID).Bool("welcome", welcome).Msg("added to a group")
	if say != nil {
		b.outbox.Wake(say.Key)
	}
	return nil
}

// greeting falls back to the mention rule on an error: it is the default, and a wrong hint does less harm than none.
func (b *Bridge) greeting(ctx context.Context, key chat.Key, l i18n.Lang) string {
	if b.cfg.mentionRule(b.receiver.groupOf(ctx, key)) == chat.MentionNone {
		return i18n.GreetingAll.In(l)
	}
	return i18n.GreetingMention.In(l)
}

// open introduces the bot when a user with access opens the private chat for the first time. A question is then likely
// to follow.
func (b *Bridge) open(ctx context.Context, c chat.Change) error {
	if who, err := b.access.Authorize(ctx, c.Key, c.Actor); err != nil || who != access.Admitted {
		return err
	}
	b.ahead.expectQuestion(c.Key)
	fresh, err := b.db.Chats().Join(ctx, c, &db.Post{
		Key: c.Key, Idem: fmt.Sprintf("greeting:%v:%d", c.Key, time.Now().UnixMilli()),
		Text: i18n.GreetingPrivate.In(b.languages.OfChat(ctx, c.Key)),
	})
	if err == nil && fresh {
		b.outbox.Wake(c.Key)
	}
	return err
}
