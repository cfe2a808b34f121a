package feishu

import (
	"context"
	"errors"

	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// membershipEvents are the events about the bot's membership in a chat (pages im-v1/chat-member/events/{added,deleted},
// im-v1/chat/events/{disbanded,bot_p2p_chat_entered}).
var membershipEvents = map[string]chat.ChangeKind{
	"im.chat.member.bot.added_v1":                  chat.Added,
	"im.chat.member.bot.deleted_v1":                chat.Removed,
	"im.chat.disbanded_v1":                         chat.Dissolved,
	"im.chat.access_event.bot_p2p_chat_entered_v1": chat.Opened,
}

// membershipChanged reports a change of the bot's membership, and who made it.
func (t eventHandler) membershipChanged(run context.Context, did chat.ChangeKind, payload gjson.Result) error {
	event := payload.Get("event")
	c := chat.Change{
		Key: chat.FeishuChat(openapi.String(event.Get("chat_id"))), Kind: chat.Group, Did: did,
		Tenant: tenantOf(payload),
		Actor:  chat.Actor{ID: openapi.String(event.Get("operator_id.open_id"))}, Title: event.Get("name").String(),
		Time: millis(payload.Get("header.create_time").String()),
	}
	if t.client.reader.anyMalformed("the bot's place in a chat", []string{c.Key.ID}, c.Actor.ID) {
		return nil
	}
	if did == chat.Opened {
		c.Kind = chat.Private
		t.client.reader.private.Add(c.Actor.ID, c.Key.ID)
	}
	// Not cancelled by a shutdown: the event would be delivered again only later, to the next process.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), t.client.waits.message)
	defer cancel()
	// The members of a chat that the bot has left cannot be listed any more.
	if did != chat.Removed && did != chat.Dissolved {
		c.Actor.Name = t.client.names.lookUp(run, c.Key.ID, c.Actor.ID)
	}
	if err := t.handler.HandleMembership(ctx, c); !errors.Is(err, chat.ErrNoChat) {
		return err
	}
	return nil
}
