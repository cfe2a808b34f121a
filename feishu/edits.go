package feishu

import (
	"context"
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// messageUpdated passes on an edited message. The event is not documented (the SDK has no type for it): it looks like
// that of a new message, and a missing text or author is fetched. Returning nil acknowledges it.
func (t eventHandler) messageUpdated(run context.Context, payload gjson.Result) error {
	s, edited := fromEvent(payload.Get("event")), payload.Get("event.message.update_time").Int()
	s.edited = true
	if t.isOwn(s) || s.byBot() || t.client.reader.anyMalformed("an edited message", []string{s.id}) {
		return nil // the event comes for each update of a bot's card, too
	}
	if s.content == "" || s.chat == "" || s.senderID == "" {
		ctx, cancel := context.WithTimeout(run, t.client.waits.message)
		defer cancel()
		if !t.client.messages.readBacks.waitToRead(ctx, s.id) {
			return nil
		}
		items, err := t.client.messages.fetchMessage(ctx, s.id)
		switch v := openapi.ClassOf(err); {
		case err != nil && (v == openapi.Unknown || v == openapi.RateLimited || v == openapi.CircuitOpen):
			return err
		case err != nil:
			return nil //nolint:nilerr // permanent: the message is gone or may not be read
		}
		edited = items[0].Get("update_time").Int()
		if s = fromList(items[0], listQuery{}, s.kind); s.byBot() {
			return nil
		}
		if s.kind, err = t.kindOf(ctx, s, payload.Get("event.message.chat_type")); err != nil {
			return err
		}
	}
	in, ok := t.client.reader.incoming(s)
	if !ok {
		return nil
	}
	in.Tenant = tenantOf(payload)
	if err := t.client.reader.resolveChat(run, s, &in); err != nil && !errors.Is(err, errUnknownGroupMode) {
		return err
	}
	return t.runInOrder(run, in.Key.ID, in.Time, func(ctx context.Context) error {
		in.Actor.Name = t.client.names.lookUp(run, in.Key.ID, in.Actor.ID)
		return t.deliverEdit(ctx, in, edited)
	})
}

// maxEditTimes is the number of edited messages whose latest edit is remembered.
const maxEditTimes = 1000

func newEditTimes() *lru.Cache[string, int64] {
	times, err := lru.New[string, int64](maxEditTimes)
	if err != nil {
		panic(err) // fails only for a size that is not positive
	}
	return times
}

// deliverEdit passes on an edit that was made at the given time, in milliseconds; 0 = unknown. It drops one whose event
// is delivered again after that of a later edit. Edits of a message come one at a time.
func (t eventHandler) deliverEdit(ctx context.Context, in chat.Incoming, at int64) error {
	edits := t.client.reader.edits
	if latest, ok := edits.Get(in.ID); ok && at != 0 && at < latest {
		return nil
	}
	err := t.handler.HandleEdit(ctx, in)
	if err == nil {
		edits.Add(in.ID, at)
	}
	if errors.Is(err, chat.ErrNoChat) {
		return nil
	}
	return err
}

// kindOf is the kind of the chat of a message that was read back. If its event does not name the kind, nothing else
// does; a private chat is known from its other messages.
func (t eventHandler) kindOf(ctx context.Context, s rawMessage, named gjson.Result) (chat.Kind, error) {
	if named.Exists() || !wellFormed(s.senderID) {
		return s.kind, nil
	}
	room, err := t.privateChatWith(ctx, s.senderID)
	if err == nil && room == s.chat {
		return chat.Private, nil
	}
	return s.kind, err
}

// isOwn reports whether an event is about a message of this bot. The event may lack the sender.
func (t eventHandler) isOwn(s rawMessage) bool {
	c := t.client
	return c.messages.sent.has(s.id) || s.senderID != "" && (s.senderID == c.cfg.AppID || s.senderID == c.state.botID())
}

// messageRecalled passes on a recall (page im-v1/message/events/recalled).
func (t eventHandler) messageRecalled(run context.Context, payload gjson.Result) error {
	event := payload.Get("event")
	id, room := event.Get("message_id").String(), event.Get("chat_id").String()
	if t.client.reader.anyMalformed("a message that was taken back", []string{room, id}) {
		return nil
	}
	return t.deliverRecall(run, room, id, millis(event.Get("recall_time").String()))
}

func (t eventHandler) deliverRecall(run context.Context, room, id string, at time.Time) error {
	return t.runInOrder(run, room, at, func(ctx context.Context) error {
		return t.handler.HandleRecall(ctx, chat.FeishuChat(room), id)
	})
}
