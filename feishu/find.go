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

// maxSearched limits how many messages after a question are searched for its answers.
const maxSearched = 2000

var errNoQuestion = errors.New("feishu: find answers: no message is named")

// Find lists the bot's replies to a message, oldest first. The platform remembers the idem of a send for an hour; after
// that, Find tells whether the send took effect. An error says nothing about that. The durable ID of a card works with
// Edit and Close.
//
// Inside a topic the platform reports the topic's first message as the parent of all others. Which message a reply
// belongs to is unknown there, so everything sent after the question is listed.
func (c *Client) Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	return c.messages.find(ctx, to)
}

func (ms messages) find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	if to.ID == "" {
		return nil, errNoQuestion
	}
	question, err := ms.getMessage(ctx, to.ID)
	if err != nil {
		return nil, err
	}
	items, err := ms.listAfter(ctx, to.Key.ID, question)
	if err != nil {
		return nil, err
	}
	var found []chat.Sent
	for _, item := range items {
		if item.Get("sender.id").String() != ms.appID || !mayAnswer(item, question) || item.Get("deleted").Bool() {
			continue
		}
		s := chat.Sent{
			ID: item.Get("message_id").String(), Time: millis(item.Get("create_time").String()),
			File: fileOf(item.Get("msg_type").String(), gjson.Parse(item.Get("body.content").String())),
		}
		// A message does not contain its card, so the entity is looked up.
		if item.Get("msg_type").String() == "interactive" {
			if s.Card, err = ms.cardName(ctx, s, to); err != nil {
				return nil, err
			}
		}
		found = append(found, s)
	}
	return found, nil
}

// mayAnswer reports whether a message may be a reply to the question.
func mayAnswer(item, question gjson.Result) bool {
	if item.Get("parent_id").String() == question.Get("message_id").String() {
		return true
	}
	topic, first := question.Get("thread_id").String(), question.Get("root_id").String()
	return topic != "" && first != "" && item.Get("thread_id").String() == topic &&
		item.Get("root_id").String() == first &&
		item.Get("create_time").Int() >= question.Get("create_time").Int()
}

// getMessage fetches one message (page im-v1/message/get).
func (ms messages) getMessage(ctx context.Context, id string) (gjson.Result, error) {
	answer, err := ms.api.Call(ctx, openapi.Request{
		Op: "look a message up", Method: http.MethodGet, Tries: liveTries,
		Path: openapi.Path("/open-apis/im/v1/messages/", id),
	})
	return answer.Get("data.items.0"), err
}

// listAfter lists all messages of a chat since the question, and those of the question's topic, oldest first.
func (ms messages) listAfter(ctx context.Context, chatID string, question gjson.Result) ([]gjson.Result, error) {
	asked := millis(question.Get("create_time").String())
	parts := []listQuery{{chat: chatID, from: asked, limit: maxSearched}}
	if topic := question.Get("thread_id").String(); topic != "" {
		parts = append(parts, listQuery{chat: chatID, thread: topic, from: asked, newest: true, limit: maxSearched})
	}
	var all []gjson.Result
	for _, l := range parts {
		items, more, err := ms.list(ctx, l)
		if err == nil && more {
			err = fmt.Errorf("feishu: find answers: more than %d messages follow the question", maxSearched)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	seen := make(map[string]bool)
	all = slices.DeleteFunc(all, func(m gjson.Result) bool {
		id := m.Get("message_id").String()
		again := seen[id]
		seen[id] = true
		return again
	})
	// A stable sort keeps the platform's order within a millisecond, which is the precision of its times.
	slices.SortStableFunc(all, func(a, b gjson.Result) int {
		return cmp.Compare(a.Get("create_time").Int(), b.Get("create_time").Int())
	})
	return all, nil
}

// cardName returns the durable id of a card that was sent.
func (ms messages) cardName(ctx context.Context, s chat.Sent, to chat.Ref) (string, error) {
	shows := cardPage{message: s.ID}
	e, err := entityOf(ctx, ms, s.ID, s.Time)
	switch {
	case err == nil:
		shows.entity = e
	case notAnEntity(err):
		shows.pace = openapi.PatchPace()
	default:
		return "", err
	}
	return idOf(&shows, to), nil
}
