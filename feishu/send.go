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

// sendTries is how often a send is made until its outcome is known; 4 take some 3 s when the platform answers at all.
const sendTries = 4

// Reply sends a short text, Markdown, as an answer to a message, or into the chat when to names no message. A long one
// goes in several messages; messageID is the first of them. The same idem within an hour sends nothing twice.
func (c *Client) Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error) {
	return c.messages.sayAll(ctx, to, text, idem)
}

// messages reads and sends messages (pages im-v1/message).
type messages struct {
	api   *openapi.Client
	appID string // tells the bot's own from others
}

// sayAll sends a Markdown text in as many messages as it takes.
func (ms messages) sayAll(ctx context.Context, to chat.Ref, text, idem string) (first string, err error) {
	if text == "" {
		text = "…"
	}
	for i, md := range cardjson.Split(text) {
		id, err := ms.say(ctx, to, md, idem, i)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = id
		}
	}
	return first, nil
}

// say sends one message of Markdown; what the platform refuses as such it gets as plain text.
func (ms messages) say(ctx context.Context, to chat.Ref, md, idem string, part int) (id string, err error) {
	m, err := ms.send(ctx, to, "post", cardjson.Post(md), keyOf(idem, "post", part))
	if err != nil && openapi.ClassOf(err) == openapi.Refused && ctx.Err() == nil {
		m, err = ms.send(ctx, to, "text", cardjson.Text(md), keyOf(idem, "text", part))
	}
	return m.id, err
}

// message is one that was sent.
type message struct {
	id   string
	at   time.Time // by the platform's clock
	past bool      // it may have been there before, by an earlier send with the same key
}

// outgoing is the body of both ways to send.
type outgoing struct {
	ReceiveID string `json:"receive_id,omitempty"`
	Type      string `json:"msg_type"`
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	InThread  bool   `json:"reply_in_thread,omitempty"`
}

// addressed is a send whose receiver is known.
type addressed struct {
	openapi.Request
	receiver string // of what answers no message
}

// address finds out where a message goes. Into a topic there is only one way: in answer to one of its messages.
func (ms messages) address(ctx context.Context, to chat.Ref) (addressed, error) {
	r := addressed{Request: openapi.Request{
		Op: "send a message", Method: http.MethodPost, Path: "/open-apis/im/v1/messages", Tries: sendTries,
	}}
	if to.ID == "" && to.Key.Thread != "" {
		first, err := ms.firstOf(ctx, to.Key)
		if err != nil {
			return r, err
		}
		to.ID = first
	}
	switch {
	case to.ID != "":
		r.Path = openapi.Path("/open-apis/im/v1/messages/", to.ID, "/reply")
		return r, nil
	case to.Key.Kind == chat.FeishuUser("").Kind:
		r.Query = larkcore.QueryParams{"receive_id_type": {"open_id"}}
	default:
		r.Query = larkcore.QueryParams{"receive_id_type": {"chat_id"}}
	}
	r.receiver = to.Key.ID
	return r, nil
}

// send sends one (pages im-v1/message/reply and im-v1/message/create).
func (ms messages) send(ctx context.Context, to chat.Ref, kind, content, key string) (message, error) {
	r, err := ms.address(ctx, to)
	if err != nil {
		return message{}, err
	}
	r.Body = outgoing{Type: kind, Content: content, UUID: key, ReceiveID: r.receiver, InThread: to.Key.Thread != ""}
	var begun time.Time
	r.Before = func(ctx context.Context) error {
		err := ms.api.WaitForChat(ctx, to.Key.ID)
		begun = time.Now()
		return err
	}
	answer, err := ms.api.Call(ctx, r.Request)
	if err != nil {
		return message{}, err
	}
	data := answer.Get("data")
	m := message{id: openapi.String(data.Get("message_id")), at: millis(data.Get("create_time").String())}
	m.past = !ms.api.SurelyAfter(m.at, begun)
	return m, nil
}
