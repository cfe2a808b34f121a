package feishu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// mostSearched is how many messages that follow a question are looked through for its answers.
const mostSearched = 2000

var errNoQuestion = errors.New("feishu: find answers: no message is named")

// Find tells what the bot has sent in answer to a message, oldest first. The platform knows a send's idem for an hour;
// this is how to learn later whether it happened. An error says nothing about that. A card's name serves Edit and
// Close.
//
// Inside a topic the platform calls the topic's first message the parent of all others. Nobody can tell there which
// message an answer answers, so all that was sent after the question is listed.
func (c *Client) Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	return c.messages.find(ctx, to)
}

func (ms messages) find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	if to.ID == "" {
		return nil, errNoQuestion
	}
	question, err := ms.look(ctx, to.ID)
	if err != nil {
		return nil, err
	}
	items, err := ms.after(ctx, to.Key.ID, question)
	if err != nil {
		return nil, err
	}
	var found []chat.Sent
	for _, item := range items {
		if item.Get("sender.id").String() != ms.appID || !answers(item, question) || item.Get("deleted").Bool() {
			continue
		}
		s := chat.Sent{
			ID: item.Get("message_id").String(), Time: millis(item.Get("create_time").String()),
			File: fileOf(item.Get("msg_type").String(), gjson.Parse(item.Get("body.content").String())),
		}
		if item.Get("msg_type").String() == "interactive" {
			if s.Card, err = ms.cardName(ctx, s, to); err != nil {
				return nil, err
			}
		}
		found = append(found, s)
	}
	return found, nil
}

// answers reports whether a message may be an answer to the question.
func answers(item, question gjson.Result) bool {
	if item.Get("parent_id").String() == question.Get("message_id").String() {
		return true
	}
	topic, first := question.Get("thread_id").String(), question.Get("root_id").String()
	return topic != "" && first != "" && item.Get("thread_id").String() == topic && item.Get("root_id").String() == first &&
		item.Get("create_time").Int() >= question.Get("create_time").Int()
}

// look gives one message (page im-v1/message/get).
func (ms messages) look(ctx context.Context, id string) (gjson.Result, error) {
	answer, err := ms.api.Call(ctx, openapi.Request{
		Op: "look a message up", Method: http.MethodGet, Tries: liveTries,
		Path: openapi.Path("/open-apis/im/v1/messages/", id),
	})
	return answer.Get("data.items.0"), err
}

// after gives all messages of a chat since the question, and of the question's topic if it stands in one, oldest first.
func (ms messages) after(ctx context.Context, chatID string, question gjson.Result) ([]gjson.Result, error) {
	asked := millis(question.Get("create_time").String())
	parts := []listing{{chat: chatID, from: asked, most: mostSearched}}
	if topic := question.Get("thread_id").String(); topic != "" {
		parts = append(parts, listing{chat: chatID, thread: topic, from: asked, newest: true, most: mostSearched})
	}
	var all []gjson.Result
	for _, l := range parts {
		items, more, err := ms.list(ctx, l)
		if err == nil && more {
			err = fmt.Errorf("feishu: find answers: more than %d messages follow the question", mostSearched)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	id := func(m gjson.Result) string { return m.Get("message_id").String() }
	slices.SortFunc(all, func(a, b gjson.Result) int {
		return cmp.Or(cmp.Compare(a.Get("create_time").Int(), b.Get("create_time").Int()), cmp.Compare(id(a), id(b)))
	})
	return slices.CompactFunc(all, func(a, b gjson.Result) bool { return id(a) == id(b) }), nil
}

// cardName gives the durable name of a card that was sent.
func (ms messages) cardName(ctx context.Context, s chat.Sent, to chat.Ref) (string, error) {
	shows := cardPage{message: s.ID}
	e, err := entityOf(ctx, ms.api, s.ID, s.Time)
	switch {
	case err == nil:
		shows.entity = e
	case notAnEntity(err):
		shows.rate = openapi.PatchRate()
	default:
		return "", err
	}
	return idOf(&shows, to), nil
}
