package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// chatMembership introduces the bot to new chats.
type chatMembership struct {
	chats     db.Chats
	access    *access.Authorizer
	requests  *access.Requests
	languages languages
	listening listening
	outbox    *delivery.Outbox
	ahead     *aheadStarts
	log       zerolog.Logger
}

// HandleMembership handles a change of the bot's membership in a chat.
func (b *Bridge) HandleMembership(ctx context.Context, c chat.Change) error {
	defer b.arrivals.arrived()()
	switch c.Did {
	case chat.Added:
		return b.membership.join(ctx, c)
	case chat.Removed, chat.Dissolved:
		return b.leave(ctx, c)
	case chat.Opened:
		return b.membership.open(ctx, c)
	}
	return nil
}

// HandleRead handles a read receipt for a message of the bot in a private chat. There is one for each message.
func (b *Bridge) HandleRead(_ context.Context, key chat.Key, reader chat.Actor) {
	b.membership.ahead.noteActivityOf(key, &reader)
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
		b.queues.turns.busy.halt(key, turns...)
		for _, turn := range turns {
			b.presses.approvals.EndTurnSoon(db.Turn{ID: turn, Key: key}, db.Cancelled)
		}
		b.runner.pool.Stop(key.String())
	}
	b.queues.reactions.Forget(func(to chat.Ref) bool { return to.Key.Parent() == c.Key })
	return nil
}

// join introduces the bot to a group that has access, and tells the owner about any other group.
func (p chatMembership) join(ctx context.Context, c chat.Change) error {
	who, err := p.access.Authorize(ctx, c.Key, c.Actor)
	if err != nil {
		return err
	}
	welcome := who == access.Admitted
	say := p.requests.AddedByStrangerPost(ctx, c)
	if welcome {
		greeting := p.greeting(ctx, c.Key, p.languages.OfChat(ctx, c.Key))
		say = &db.Post{Key: c.Key, Idem: fmt.Sprintf("greeting:%v:%d", c.Key, c.Time.UnixMilli()), Text: greeting}
	}
	fresh, err := p.chats.Join(ctx, c, say)
	if err != nil || !fresh {
		return err
	}
	p.log.Info().Stringer("chat", c.Key).Str("user", c.Actor.ID).Bool("welcome", welcome).Msg("added to a group")
	if say != nil {
		p.outbox.Wake(say.Key)
	}
	return nil
}

// greeting falls back to the mention rule on an error: it is the default, and a wrong hint does less harm than none.
func (p chatMembership) greeting(ctx context.Context, key chat.Key, l i18n.Lang) string {
	c, err := p.chats.Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		p.log.Error().Err(err).Stringer("chat", key).Msg("mention rule of the group not available")
	}
	if p.listening.ruleOf(c) == chat.MentionNone {
		return i18n.GreetingAll.In(l)
	}
	return i18n.GreetingMention.In(l)
}

// open introduces the bot when a user with access opens the private chat for the first time. A question is then likely
// to follow.
func (p chatMembership) open(ctx context.Context, c chat.Change) error {
	if who, err := p.access.Authorize(ctx, c.Key, c.Actor); err != nil || who != access.Admitted {
		return err
	}
	p.ahead.expectQuestion(c.Key)
	fresh, err := p.chats.RecordOpened(ctx, c, i18n.GreetingPrivate.In(p.languages.OfChat(ctx, c.Key)))
	if err == nil && fresh {
		p.outbox.Wake(c.Key)
	}
	return err
}
