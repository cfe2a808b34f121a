package feishu

import (
	"cmp"
	"context"
	_ "embed" // sdk_events.txt
	"errors"
	"strings"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// Timeouts of the Handler: the platform waits 3 s for an acknowledgement (page "Event subscription overview").
const (
	messageTimeout = 2500 * time.Millisecond // leaves half a second for sending the acknowledgement
	pressTimeout   = 2500 * time.Millisecond // a press is lost after an error: right after a start it waits long
)

// sdkEvents are the events that the SDK knows, one per line: all names in eventType2EventHandler of event/dispatcher.
// An app may be subscribed to any of them, especially one created by scanning a code. The SDK answers an event without
// a handler with code 500 (event/dispatcher/dispatcher.go, Do); the platform then redelivers it and warns the operator.
//
//go:embed sdk_events.txt
var sdkEvents string

// eventHandler passes what the platform reports to a Handler: events, and messages that were fetched because no event
// arrived.
type eventHandler struct {
	client  *Client
	handler door.Handler
}

// dispatcher routes the SDK's events. The handlers get ctx instead of the SDK's context, which ends with each
// connection: a message must be stored even if its acknowledgement cannot be sent any more.
func (t eventHandler) dispatcher(ctx context.Context, missed *backfill,
	limiter *eventLimiter) *dispatcher.EventDispatcher {
	c, d := t.client, dispatcher.NewEventDispatcher("", "") // the long connection needs neither token nor key
	d.InitConfig(larkevent.WithLogger(openapi.SDKLogger(c.log)))
	taken := map[string]bool{"app_ticket": true} // by the SDK itself
	on := func(kind string, handle func(context.Context, *larkevent.EventReq) error) {
		taken[kind] = true
		d.OnCustomizedEvent(kind, handle)
	}
	on("im.message.receive_v1", func(_ context.Context, e *larkevent.EventReq) error {
		defer limiter.enter()()
		c.state.countEvent()
		return t.receive(ctx, missed, gjson.ParseBytes(e.Body))
	})
	for kind, take := range map[string]func(context.Context, gjson.Result) error{
		"im.message.updated_v1": t.messageUpdated, "im.message.recalled_v1": t.messageRecalled,
		"im.chat.member.user.added_v1": t.membersAdded, eventMenu: t.menuChosen,
	} {
		on(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer limiter.enter()()
			c.state.countEvent()
			return take(ctx, gjson.ParseBytes(e.Body))
		})
	}
	on(eventRead, func(_ context.Context, e *larkevent.EventReq) error {
		defer limiter.enter()() // not counted: it only says that a sent message has arrived
		return t.messageRead(ctx, gjson.ParseBytes(e.Body))
	})
	for kind, did := range membershipEvents {
		on(kind, func(_ context.Context, e *larkevent.EventReq) error {
			defer limiter.enter()()
			c.state.countEvent()
			return t.membershipChanged(ctx, did, gjson.ParseBytes(e.Body))
		})
	}
	for _, kind := range strings.Fields(sdkEvents) {
		if taken[kind] {
			continue
		}
		d.OnCustomizedEvent(kind, func(context.Context, *larkevent.EventReq) error {
			limiter.enter()()
			return nil
		})
	}
	d.OnP2CardActionTrigger(func(_ context.Context,
		e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		defer limiter.enter()()
		c.state.countEvent()
		return t.press(ctx, e), nil
	})
	d.OnP2CardURLPreviewGet(func(context.Context,
		*callback.URLPreviewGetEvent) (*callback.URLPreviewGetResponse, error) {
		limiter.enter()()
		return &callback.URLPreviewGetResponse{}, nil
	})
	return d
}

// receive passes on a message event; returning nil acknowledges it. The format is on the page "Receive message"
// (im-v1/message/events/receive).
func (t eventHandler) receive(run context.Context, missed *backfill, payload gjson.Result) error {
	s := fromEvent(payload.Get("event"))
	m, ok := t.client.reader.incoming(s)
	if !ok {
		return nil // not from a person, or without an ID: there is nothing to answer
	}
	m.Tenant = tenantOf(payload)
	_ = t.client.reader.resolveChat(run, s, &m) // an event has everything, so no call can fail
	missed.runBefore(run, m.Key)
	return t.deliver(run, m)
}

// deliver passes a message to the handler when it is its turn in the chat.
func (t eventHandler) deliver(run context.Context, m chat.Incoming) error {
	err := t.runInOrder(run, m.Key.ID, m.Time, func(ctx context.Context) error {
		m.Actor.Name = t.client.names.lookUp(run, m.Key.ID, m.Actor.ID)
		err := t.handler.HandleMessage(ctx, m)
		if errors.Is(err, chat.ErrDenied) || errors.Is(err, chat.ErrNoChat) {
			return nil // people are not told
		}
		return err
	})
	if err == nil {
		t.client.known.markSeen(m.ID)
		t.client.names.publish(run) // the message may have mentioned new people
	}
	return err
}

// tenantOf is the organization for which the platform has sent an event: the one that has the app (page "Event subscription
// overview").
func tenantOf(payload gjson.Result) string { return payload.Get("header.tenant_key").String() }

// membersAdded learns the names of people who join a group (page im-v1/chat-member/events/added).
func (t eventHandler) membersAdded(run context.Context, payload gjson.Result) error {
	for _, u := range payload.Get("event.users").Array() {
		t.client.names.learn(openapi.String(u.Get("user_id.open_id")), openapi.String(u.Get("name")))
	}
	t.client.names.publish(run)
	return nil
}

// runInOrder runs f when it is its turn in the chat.
func (t eventHandler) runInOrder(run context.Context, room string, at time.Time, f func(context.Context) error) error {
	// A received message is stored even during shutdown: otherwise the platform would redeliver it only to the next
	// process, up to 6 h later.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), t.client.waits.message)
	defer cancel()
	leave, err := t.client.order.enter(ctx, room, at)
	if err != nil {
		return err
	}
	defer leave()
	return f(ctx)
}

// text is a phrase in the language of a new chat: the client does not know the language of an existing one.
func (c Config) text(p i18n.Phrase) string {
	return p.In(i18n.Lang(cmp.Or(c.Lang, c.DefaultLang())))
}

// press passes on a pressed button. The answer is never nil, which the platform would show as an error (page "Card
// callback communication", feishu-cards/card-callback-communication).
func (t eventHandler) press(ctx context.Context,
	e *callback.CardActionTriggerEvent) *callback.CardActionTriggerResponse {
	c := t.client
	ctx, cancel := context.WithTimeout(ctx, c.waits.press)
	defer cancel()
	p, ok := pressOf(e)
	if !ok || c.reader.anyMalformed("a button", []string{p.Key.ID, p.Actor.ID}, p.Card, p.ID) {
		return toastOf("error", c.cfg.text(i18n.ButtonStale))
	}
	p.Actor.Name = c.names.cached(p.Actor.ID)
	key, err := c.topics.chatOfPress(ctx, p)
	toast := ""
	if err == nil { // in the wrong chat the press would have another meaning
		p.Key = key
		toast, err = t.handler.HandlePress(ctx, p)
	}
	switch {
	case err != nil:
		zerolog.Ctx(ctx).Warn().Err(err).Str("chat", p.Key.String()).Str("do", p.Action.Do).
			Msg("feishu: press not handled")
		return toastOf("error", cmp.Or(toast, c.cfg.text(i18n.PressFailed)))
	case toast == "":
		return &callback.CardActionTriggerResponse{}
	}
	return toastOf("info", toast)
}

// pressOf reads a press event. It reports false if an essential part is missing.
func pressOf(e *callback.CardActionTriggerEvent) (chat.Press, bool) {
	if e == nil || e.Event == nil || e.Event.Action == nil || e.Event.Context == nil || e.Event.Operator == nil {
		return chat.Press{}, false
	}
	var id, tenant string
	if e.EventV2Base != nil && e.EventV2Base.Header != nil {
		id, tenant = e.EventV2Base.Header.EventID, e.EventV2Base.Header.TenantKey
	}
	value := e.Event.Action.Value
	do, _ := value["do"].(string)
	turn, _ := value["turn"].(float64)
	of, _ := value["id"].(string)
	thread, _ := value["thread"].(string)
	p := chat.Press{
		ID:     id,
		Key:    chat.FeishuChat(e.Event.Context.OpenChatID),
		Tenant: tenant,
		Card:   e.Event.Context.OpenMessageID,
		Actor:  chat.Actor{ID: e.Event.Operator.OpenID},
		Action: chat.Action{Do: do, Turn: int64(turn), ID: of, Thread: thread},
		Values: cardjson.FormValues(e.Event.Action),
	}
	return p, do != "" && p.Key.ID != "" && p.Actor.ID != ""
}

// toastOf shows a short text to the user who pressed, and changes no card.
func toastOf(kind, text string) *callback.CardActionTriggerResponse {
	return &callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: kind, Content: text}}
}
