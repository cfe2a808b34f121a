package feishu

import (
	"context"
	"strconv"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/internal/chat"
)

// How long a Handler may take: the platform waits 3 s (page "Event subscription overview").
const (
	messageTimeout = 2500 * time.Millisecond
	pressTimeout   = time.Second
)

// ignored are events that an app may be subscribed to and that mean nothing to us. One without a handler is answered
// with code 500 (event/dispatcher/dispatcher.go, Do), delivered again and reported to the operator.
var ignored = []string{
	"application.bot.menu_v6",
	"im.chat.access_event.bot_p2p_chat_entered_v1",
	"im.chat.disbanded_v1",
	"im.chat.member.bot.added_v1",
	"im.chat.member.bot.deleted_v1",
	"im.chat.member.user.added_v1",
	"im.chat.member.user.deleted_v1",
	"im.chat.member.user.withdrawn_v1",
	"im.chat.updated_v1",
	"im.message.message_read_v1",
	"im.message.reaction.created_v1",
	"im.message.reaction.deleted_v1",
	"im.message.recalled_v1",
	"im.message.updated_v1",
	"p2p_chat_create",
	"vc.bot.meeting_activity_v1",
	"vc.bot.meeting_ended_v1",
	"vc.bot.meeting_invited_v1",
}

// dispatcher is what the SDK gives events to. The handler's ctx is not the SDK's, which ends with each connection:
// a message that is being stored should be stored, even though its acknowledgement will not arrive any more.
func (c *Client) dispatcher(ctx context.Context, h Handler) *dispatcher.EventDispatcher {
	d := dispatcher.NewEventDispatcher("", "") // the long connection needs neither token nor key
	d.InitConfig(larkevent.WithLogger(sdkLogger{c.log}))
	d.OnCustomizedEvent("im.message.receive_v1", func(_ context.Context, e *larkevent.EventReq) error {
		return c.receive(ctx, h, gjson.ParseBytes(e.Body))
	})
	for _, kind := range ignored {
		d.OnCustomizedEvent(kind, func(context.Context, *larkevent.EventReq) error { return nil })
	}
	d.OnP2CardActionTrigger(func(_ context.Context, e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		return c.press(ctx, h, e), nil
	})
	d.OnP2CardURLPreviewGet(func(context.Context, *callback.URLPreviewGetEvent) (*callback.URLPreviewGetResponse, error) {
		return &callback.URLPreviewGetResponse{}, nil
	})
	return d
}

// receive hands a message over; returning nil acknowledges it. Its form is on the page "Receive message"
// (im-v1/message/events/receive).
func (c *Client) receive(run context.Context, h Handler, payload gjson.Result) error {
	ctx, cancel := context.WithTimeout(run, messageTimeout)
	defer cancel()
	m, ok := c.incoming(payload.Get("event"))
	if !ok {
		return nil // not from a person, or without an id: nothing that could be answered
	}
	leave, err := c.order.enter(ctx, m.Key.ID, m.Time)
	if err != nil {
		return err
	}
	defer leave()
	m.Actor.Name = c.names.of(run, m.Key.ID, m.Actor.ID)
	return h.Message(ctx, m)
}

func (c *Client) incoming(event gjson.Result) (chat.Incoming, bool) {
	var (
		msg    = event.Get("message")
		bot    = c.state.bot()
		people = mentionsOf(msg)
		kind   = msg.Get("message_type").String()
		in     = chat.Incoming{
			Key:   chat.FeishuChat(msg.Get("chat_id").String()),
			Kind:  chat.Group,
			ID:    msg.Get("message_id").String(),
			Actor: chat.Actor{ID: event.Get("sender.sender_id.open_id").String()},
			Time:  millis(msg.Get("create_time").String()),
		}
	)
	if t := event.Get("sender.sender_type").String(); in.ID == "" || in.Key.ID == "" || (t != "user" && t != "") {
		return in, false
	}
	if msg.Get("chat_type").String() == "p2p" {
		in.Kind, in.ToBot = chat.Private, true
	}
	for _, m := range people {
		in.ToBot = in.ToBot || (m.id == bot && bot != "")
		c.names.learn(m.id, m.name)
	}
	text, ok := readable(kind, gjson.Parse(msg.Get("content").String()), people, bot)
	if !ok {
		in.Unreadable = kind
	}
	in.Text = text
	return in, true
}

func millis(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Now().UTC()
	}
	return time.UnixMilli(ms).UTC()
}

// press hands a pressed button over. The answer is never nil, which the platform would show as an error
// (page "Card callback communication", feishu-cards/card-callback-communication).
func (c *Client) press(ctx context.Context, h Handler, e *callback.CardActionTriggerEvent) *callback.CardActionTriggerResponse {
	ctx, cancel := context.WithTimeout(ctx, pressTimeout)
	defer cancel()
	p, ok := pressed(e)
	if !ok {
		return toastOf("error", "这个按钮已失效")
	}
	p.Actor.Name = c.names.known(p.Actor.ID)
	toast, err := h.Press(ctx, p)
	switch {
	case err != nil:
		zerolog.Ctx(ctx).Warn().Err(err).Str("chat", p.Key.String()).Str("do", p.Action.Do).Msg("feishu: press not handled")
		return toastOf("error", "操作没有成功，请稍后再试")
	case toast == "":
		return &callback.CardActionTriggerResponse{}
	}
	return toastOf("info", toast)
}

func pressed(e *callback.CardActionTriggerEvent) (chat.Press, bool) {
	if e == nil || e.Event == nil || e.Event.Action == nil || e.Event.Context == nil || e.Event.Operator == nil {
		return chat.Press{}, false
	}
	value := e.Event.Action.Value
	do, _ := value["do"].(string)
	turn, _ := value["turn"].(float64)
	p := chat.Press{
		Key:    chat.FeishuChat(e.Event.Context.OpenChatID),
		Card:   e.Event.Context.OpenMessageID,
		Actor:  chat.Actor{ID: e.Event.Operator.OpenID},
		Action: chat.Action{Do: do, Turn: int64(turn)},
	}
	return p, do != "" && p.Key.ID != "" && p.Actor.ID != ""
}

func toastOf(kind, text string) *callback.CardActionTriggerResponse {
	return &callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: kind, Content: text}}
}
