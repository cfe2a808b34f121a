package feishu

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// privateChats caches the private chat of each person, by open_id: the event of a read message names only its reader.
type privateChats struct{ *lru.Cache[string, string] }

func newPrivateChats() privateChats {
	cache, err := lru.New[string, string](maxPeople)
	if err != nil {
		panic(err) // fails only for a size that is not positive
	}
	return privateChats{cache}
}

// messageRead reports that a user has read a message of the bot in a private chat (page
// im-v1/message/events/message_read). It comes for each message, so it makes no calls: a user who has not written since
// this process started is unknown.
func (t eventHandler) messageRead(run context.Context, payload gjson.Result) error {
	id := openapi.String(payload.Get("event.reader.reader_id.open_id"))
	if t.client.reader.anyMalformed("somebody who read a message", []string{id}) {
		return nil
	}
	if room, ok := t.client.reader.private.Get(id); ok {
		t.handler.HandleRead(run, chat.FeishuChat(room), chat.Actor{ID: id})
	}
	return nil
}
