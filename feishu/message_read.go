package feishu

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// privateChats caches the private chat of each person, by open_id: the event of a read message names only its reader.
// Empty means that there is none.
type privateChats struct{ *lru.Cache[string, string] }

func newPrivateChats() privateChats {
	cache, err := lru.New[string, string](maxPeople)
	if err != nil {
		panic(err) // fails only for a size that is not positive
	}
	return privateChats{cache}
}

// messageRead reports that a user has read a message of the bot in a private chat (page
// im-v1/message/events/message_read). It comes for each message, so it makes no calls, and asks the handler once about a
// user who has not written since this process started.
func (t eventHandler) messageRead(run context.Context, payload gjson.Result) error {
	id := openapi.String(payload.Get("event.reader.reader_id.open_id"))
	if t.client.reader.anyMalformed("somebody who read a message", []string{id}) {
		return nil
	}
	room, err := t.privateChatWith(run, id)
	switch {
	case err != nil:
		zerolog.Ctx(run).Debug().Err(err).Str("user", id).Msg("feishu: private chat of a reader not found")
	case room != "":
		t.handler.HandleRead(run, chat.FeishuChat(room), chat.Actor{ID: id})
	}
	return nil // after an error, too: the next message is read soon
}

// privateChatWith returns the private chat with a person; empty = none is known.
func (t eventHandler) privateChatWith(ctx context.Context, id string) (room string, err error) {
	private := t.client.reader.private
	if room, ok := private.Get(id); ok {
		return room, nil
	}
	key, err := t.handler.PrivateChat(ctx, id)
	if err != nil {
		return "", err
	}
	private.ContainsOrAdd(id, key.ID) // none until they write
	return key.ID, nil
}
