package bridge

import (
	"context"
	"errors"
	"fmt"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// chatMembership follows the bot from chat to chat.
type chatMembership struct{ b *Bridge }

// Change takes in what happened to the bot's place in a chat.
func (b *Bridge) Change(ctx context.Context, c chat.Change) error {
	switch c.Did {
	case chat.Added:
		return b.chatMembership.join(ctx, c)
	case chat.Removed, chat.Dissolved:
		return b.chatMembership.leave(ctx, c)
	case chat.Opened:
		return b.chatMembership.open(ctx, c)
	}
	return nil
}

// join introduces the bot to a group that may talk to it. Of any other only its owner learns.
func (p chatMembership) join(ctx context.Context, c chat.Change) error {
	b := p.b
	who, err := b.access.Authorize(ctx, c.Key, c.Actor)
	if err != nil {
		return err
	}
	welcome := who == access.Admitted
	say := p.toOwner(ctx, c)
	if welcome {
		greeting := p.greeting(ctx, c.Key, b.lang(ctx, c.Key, ""))
		say = &db.Post{Key: c.Key, Idem: fmt.Sprintf("greeting:%v:%d", c.Key, c.Time.UnixMilli()), Text: greeting}
	}
	fresh, err := b.db.Chats().Join(ctx, c, say)
	if err != nil || !fresh {
		return err
	}
	b.log.Info().Stringer("chat", c.Key).Str("user", c.Actor.ID).Bool("welcome", welcome).Msg("added to a group")
	if say != nil {
		b.outbox.wake(say.Key)
	}
	return nil
}

func (p chatMembership) greeting(ctx context.Context, key chat.Key, l i18n.Lang) string {
	c, err := p.b.db.Chats().Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		p.b.log.Error().Err(err).Stringer("chat", key).Msg("rule of the group is not known")
	}
	if p.b.listening.ruleOf(c) == chat.MentionNone {
		return i18n.GreetingAll.In(l)
	}
	return i18n.GreetingMention.In(l)
}

// toOwner tells the owner of a group to which the bot was added and that may not talk to it; nil = there is no owner.
func (p chatMembership) toOwner(ctx context.Context, c chat.Change) *db.Post {
	owner := p.b.access.Load().Approver()
	if owner == "" {
		return nil
	}
	text := fmt.Sprintf(i18n.AddedByStranger.In(p.b.ownLang(ctx, owner)), i18n.PersonName(c.Actor.Name, c.Actor.ID), i18n.SafeName(c.Title), c.Key.ID)
	return &db.Post{
		Key: chat.FeishuUser(owner), Idem: fmt.Sprintf("added:%s:%d", c.Key.ID, c.Time.UnixMilli()), Text: p.b.cfg.Secrets.Text(text),
	}
}

// leave stops and drops all that goes on in a chat in which the bot is not any more.
func (p chatMembership) leave(ctx context.Context, c chat.Change) error {
	running, fresh, err := p.b.db.Chats().Leave(ctx, c)
	if err != nil || !fresh {
		return err
	}
	p.b.log.Info().Stringer("chat", c.Key).Str("did", string(c.Did)).Int("running", len(running)).Msg("not in a group any more")
	for key, turn := range running {
		p.b.lanes.HaltTurns(key, turn)
	}
	p.b.reactions.forget(func(to chat.Ref) bool { return to.Key.Parent() == c.Key })
	return nil
}

// open introduces the bot to somebody who opens the private chat for the first time, and who may talk to it.
func (p chatMembership) open(ctx context.Context, c chat.Change) error {
	if who, err := p.b.access.Authorize(ctx, c.Key, c.Actor); err != nil || who != access.Admitted {
		return err
	}
	fresh, err := p.b.db.Chats().Open(ctx, c, i18n.GreetingPrivate.In(p.b.lang(ctx, c.Key, "")))
	if err == nil && fresh {
		p.b.outbox.wake(c.Key)
	}
	return err
}

// of is the chat to which a press belongs. The platform does not tell the topic; a turn knows where it stands. A turn
// that runs can be stopped without the store.
func (p chatMembership) of(ctx context.Context, press chat.Press) chat.Key {
	turn := press.Action.Turn
	if turn == 0 {
		return press.Key
	}
	key, running := p.b.lanes.ChatOf(turn)
	if !running {
		var err error
		if key, err = p.b.db.Turns().Place(ctx, turn); err != nil && !errors.Is(err, db.ErrNotFound) {
			p.b.log.Error().Err(err).Stringer("chat", press.Key).Msg("a press counts for the whole chat")
		}
	}
	if key.Parent() != press.Key.Parent() { // the value may be made up
		return press.Key
	}
	return key
}
