package feishu

import (
	"context"
	"net/http"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// sendTries limits the attempts of a send until its outcome is known; 4 take about 3 s if the platform answers at all.
const sendTries = 4

// Reply sends Markdown as a reply to a message, or to the chat if to names no message. A long text takes several
// messages; messageID is the first of them. Within an hour the same idem sends nothing twice.
func (c *Client) Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error) {
	return c.messages.sendAllMarkdown(ctx, to, text, idem)
}

// Mention sends a short text that mentions users, as a reply to a message. Feishu notifies them; it does not when a
// card changes. Within an hour the same idem sends nothing twice.
func (c *Client) Mention(
	ctx context.Context, to chat.Ref, users []string, text, idem string,
) (messageID string, err error) {
	m, err := c.messages.send(ctx, to, "post", cardjson.Mention(users, text), keyOf(idem, "mention", 0))
	if err != nil && openapi.ClassOf(err) == openapi.Refused && ctx.Err() == nil {
		return c.messages.sendAllMarkdown(ctx, to, text, idem)
	}
	return m.id, err
}

// messages reads and sends messages (pages im-v1/message).
type messages struct {
	api   *openapi.Client
	appID string // identifies the bot's own messages

	readBacks readBacks
	updates   *partialUpdates
	sequences *sequences
	sent      seenCache // IDs of the bot's messages, including those of an earlier process that this one continues
}

// sendAllMarkdown sends a Markdown text in as many messages as it needs.
func (ms messages) sendAllMarkdown(ctx context.Context, to chat.Ref, text, idem string) (first string, err error) {
	if text == "" {
		text = "…"
	}
	for i, md := range cardjson.Split(text) {
		id, err := ms.sendMarkdown(ctx, to, md, idem, i)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = id
		}
	}
	return first, nil
}

// sendMarkdown sends one message of Markdown. If the platform refuses it as a post, it is sent as plain text.
func (ms messages) sendMarkdown(ctx context.Context, to chat.Ref, md, idem string, part int) (id string, err error) {
	m, err := ms.send(ctx, to, "post", cardjson.Post(md), keyOf(idem, "post", part))
	if err != nil && openapi.ClassOf(err) == openapi.Refused && !openapi.MissingPermission(err) && ctx.Err() == nil {
		m, err = ms.send(ctx, to, "text", cardjson.Text(md), keyOf(idem, "text", part))
	}
	return m.id, err
}

// message is a sent message.
type message struct {
	id       string
	at       time.Time // by the platform's clock
	mayBeOld bool      // an earlier send with the same key may have created it
}

// sendBody is the request body of both ways to send: create and reply.
type sendBody struct {
	ReceiveID string `json:"receive_id,omitempty"`
	Type      string `json:"msg_type"`
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	InThread  bool   `json:"reply_in_thread,omitempty"`
}

const opSend = "send a message"

// addressedRequest is a send whose receiver is known.
type addressedRequest struct {
	openapi.Request
	receiver string // empty for a reply
}

// address finds the receiver of a message. A topic can be reached only by a reply to one of its messages, so without a
// message to reply to it is the topic's first one.
func (ms messages) address(ctx context.Context, to chat.Ref) (addressedRequest, error) {
	r := addressedRequest{Request: openapi.Request{
		Op: opSend, Method: http.MethodPost, Path: "/open-apis/im/v1/messages", Tries: sendTries,
	}}
	if to.ID == "" && to.Key.Thread != "" {
		first, err := ms.firstOfTopic(ctx, to.Key)
		if err != nil {
			return r, err
		}
		to.ID = first
	}
	switch {
	case to.ID != "":
		r.Path = openapi.Path("/open-apis/im/v1/messages/", to.ID, "/reply")
		return r, nil
	case to.Key.IsPerson():
		r.Query = larkcore.QueryParams{"receive_id_type": {"open_id"}}
	default:
		r.Query = larkcore.QueryParams{"receive_id_type": {"chat_id"}}
	}
	r.receiver = to.Key.ID
	return r, nil
}

// send sends one message (pages im-v1/message/reply and im-v1/message/create).
func (ms messages) send(ctx context.Context, to chat.Ref, kind, content, key string) (message, error) {
	r, err := ms.address(ctx, to)
	if err != nil {
		return message{}, err
	}
	r.Body = sendBody{Type: kind, Content: content, UUID: key, ReceiveID: r.receiver, InThread: to.Key.Thread != ""}
	var begun time.Time
	r.Chat = to.Key.ID
	r.Before = func(context.Context) error {
		begun = time.Now()
		return nil
	}
	answer, err := ms.api.Call(ctx, r.Request)
	if err != nil {
		return message{}, err
	}
	data := answer.Get("data")
	ms.sent.markSeen(openapi.String(data.Get("message_id")))
	m := message{id: openapi.String(data.Get("message_id")), at: millis(data.Get("create_time").String())}
	m.mayBeOld = !ms.api.SurelyAfter(m.at, begun)
	return m, nil
}
