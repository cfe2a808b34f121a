package feishu

import (
	"context"
	"net/http"
	"strings"
	"sync"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// The reactions that signals are (page im-v1/message-reaction/emojis-introduce).
const (
	emojiWorking  = "Typing"
	emojiFinished = "DONE"
	emojiFailed   = "CrossMark"
)

// Signal shows a signal on a message in place of an earlier one of [chat.Working]. It lets all other calls go first.
func (c *Client) Signal(ctx context.Context, to chat.Ref, s chat.Signal) error {
	if !strings.HasPrefix(to.ID, "om_") {
		return nil // not a message that people see, such as the press of a button
	}
	switch s {
	case chat.Working:
		return c.signals.work(ctx, to.ID)
	case chat.Finished:
		return c.signals.end(ctx, to.ID, emojiFinished)
	case chat.Failed:
		return c.signals.end(ctx, to.ID, emojiFailed)
	}
	return c.signals.end(ctx, to.ID, "")
}

// signals are reactions to messages (pages im-v1/message-reaction/create, list and delete).
type signals struct {
	api *openapi.Client
	app string // our own id

	mu      sync.Mutex
	working map[string]string // reactions of this process that are to be taken back, by message
}

// mostSignals bounds what is remembered; the rest is looked for when it is needed.
const mostSignals = 1000

func (ss *signals) work(ctx context.Context, message string) error {
	id, err := ss.react(ctx, message, emojiWorking)
	if err != nil {
		return err
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.working == nil || len(ss.working) >= mostSignals {
		ss.working = make(map[string]string)
	}
	ss.working[message] = id
	return nil
}

// end takes back that somebody works on the message, after something else is shown in its place.
func (ss *signals) end(ctx context.Context, message, emoji string) error {
	if emoji != "" {
		if _, err := ss.react(ctx, message, emoji); err != nil {
			return err
		}
	}
	ids, err := ss.ours(ctx, message)
	for _, id := range ids {
		if err == nil {
			_, err = ss.call(ctx, http.MethodDelete, openapi.Path("/open-apis/im/v1/messages/", message, "/reactions/", id), nil, nil)
		}
	}
	return err
}

// ours are the reactions that say that we work on the message. Those of an earlier process are looked for.
func (ss *signals) ours(ctx context.Context, message string) ([]string, error) {
	ss.mu.Lock()
	id := ss.working[message]
	delete(ss.working, message)
	ss.mu.Unlock()
	if id != "" {
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

func (ss *signals) react(ctx context.Context, message, emoji string) (id string, err error) {
	body := map[string]any{"reaction_type": map[string]string{"emoji_type": emoji}}
	answer, err := ss.call(ctx, http.MethodPost, openapi.Path("/open-apis/im/v1/messages/", message, "/reactions"), nil, body)
	return openapi.String(answer.Get("data.reaction_id")), err
}

func (ss *signals) call(ctx context.Context, method, where string, query larkcore.QueryParams, body any) (gjson.Result, error) {
	return ss.api.Call(ctx, openapi.Request{
		Op: "react to a message", Method: method, Path: where, Query: query, Body: body, Later: true, Tries: liveTries,
	})
}
