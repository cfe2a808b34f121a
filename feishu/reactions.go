package feishu

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// The emoji types of the reactions (page im-v1/message-reaction/emojis-introduce).
const (
	emojiWorking  = "Typing"
	emojiFinished = "DONE"
	emojiFailed   = "CrossMark"
)

// SetReaction sets the bot's reaction on a message, replacing the one for [chat.Working]. All other API calls go first.
func (c *Client) SetReaction(ctx context.Context, to chat.Ref, s chat.Reaction) error {
	if !strings.HasPrefix(to.ID, "om_") {
		return nil // not a visible message, for example a button press
	}
	switch s {
	case chat.Working:
		return c.reactions.setTyping(ctx, to.ID)
	case chat.Finished:
		return c.reactions.replaceTyping(ctx, to.ID, emojiFinished)
	case chat.Failed:
		return c.reactions.replaceTyping(ctx, to.ID, emojiFailed)
	}
	return c.reactions.replaceTyping(ctx, to.ID, "")
}

// reactions adds and removes reactions to messages (pages im-v1/message-reaction/create, list and delete).
type reactions struct {
	api *openapi.Client
	app string // our own id

	typing *lru.Cache[string, string] // reaction ids of this process that must be removed later, by message
}

// maxTyping limits the typing map; dropped IDs are looked up on the platform when needed.
const maxTyping = 1000

func newReactions(api *openapi.Client, app string) *reactions {
	typing, _ := lru.New[string, string](maxTyping) // fails for sizes below 1 only
	return &reactions{api: api, app: app, typing: typing}
}

// setTyping adds the Typing reaction and remembers its id, which is needed to remove it.
func (ss *reactions) setTyping(ctx context.Context, message string) error {
	id, err := ss.create(ctx, message, emojiWorking)
	if err != nil {
		return err
	}
	ss.typing.Add(message, id)
	return nil
}

// replaceTyping removes the Typing reaction. The new reaction is added first, so that the message is never without one,
// unless the platform refuses it.
func (ss *reactions) replaceTyping(ctx context.Context, message, emoji string) error {
	var refused error
	if emoji != "" {
		_, err := ss.create(ctx, message, emoji)
		if err != nil && (openapi.ClassOf(err) != openapi.Refused || ctx.Err() != nil) {
			return err
		}
		refused = err
	}
	ids, err := ss.ownTyping(ctx, message)
	for _, id := range ids {
		if err == nil {
			_, err = ss.call(ctx, http.MethodDelete,
				openapi.Path("/open-apis/im/v1/messages/", message, "/reactions/", id), nil, nil)
		}
	}
	return cmp.Or(refused, err)
}

// ownTyping returns the bot's Typing reactions to a message. Those of an earlier process are looked up on the platform.
func (ss *reactions) ownTyping(ctx context.Context, message string) ([]string, error) {
	id, _ := ss.typing.Get(message)
	if ss.typing.Remove(message) { // nobody else has removed it
		return []string{id}, nil
	}
	answer, err := ss.call(ctx, http.MethodGet, openapi.Path("/open-apis/im/v1/messages/", message, "/reactions"),
		larkcore.QueryParams{"reaction_type": {emojiWorking}}, nil)
	var ids []string
	for _, item := range answer.Get("data.items").Array() {
		if item.Get("operator.operator_type").String() == "app" && item.Get("operator.operator_id").String() == ss.app {
			ids = append(ids, item.Get("reaction_id").String())
		}
	}
	return ids, err
}

func (ss *reactions) create(ctx context.Context, message, emoji string) (id string, err error) {
	body := map[string]any{"reaction_type": map[string]string{"emoji_type": emoji}}
	answer, err := ss.call(ctx, http.MethodPost, openapi.Path("/open-apis/im/v1/messages/", message, "/reactions"), nil,
		body)
	return openapi.String(answer.Get("data.reaction_id")), err
}

func (ss *reactions) call(ctx context.Context, method, where string, query larkcore.QueryParams,
	body any) (gjson.Result, error) {
	return ss.api.Call(ctx, openapi.Request{
		Op: "react to a message", Method: method, Path: where, Query: query, Body: body, LowPriority: true,
		Tries: liveTries,
	})
}
