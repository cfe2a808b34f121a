package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	lark "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"magpie/internal/feishusim"
)

type obj = map[string]any

// silentLogger is a logger without output.
type silentLogger struct{}

func (silentLogger) Debug(context.Context, ...any) {}
func (silentLogger) Info(context.Context, ...any)  {}
func (silentLogger) Warn(context.Context, ...any)  {}
func (silentLogger) Error(context.Context, ...any) {}

// bot talks to feishusim with the official SDK. Its calls return errors, as it also runs in goroutines.
type bot struct {
	ctx    context.Context
	client *lark.Client
	calls  int
}

func newBot(t *testing.T, sim *feishusim.Server) *bot {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &bot{ctx: t.Context(), client: lark.NewClient(sim.AppID(), sim.AppSecret(), lark.WithOpenBaseUrl(sim.URL()),
		lark.WithLogger(silentLogger{}), lark.WithHttpClient(&http.Client{Transport: tr}), lark.WithReqTimeout(patience))}
}

// call makes a call and returns the ID under key in the response.
func (b *bot) call(method, path string, body obj, key string) (string, error) {
	resp, err := b.client.Do(b.ctx, &larkcore.ApiReq{HttpMethod: method, ApiPath: path, Body: body,
		SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}})
	if err != nil {
		return "", err
	}
	var answer struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
		Data obj    `json:"data"`
	}
	if err := json.Unmarshal(resp.RawBody, &answer); err != nil {
		return "", err
	}
	if answer.Code != 0 {
		return "", fmt.Errorf("%s %s: %d %s", method, path, answer.Code, answer.Msg)
	}
	id, _ := answer.Data[key].(string)
	return id, nil
}

// card creates a card and sends it as an answer to a message.
func (b *bot) card(replyTo string, streaming bool, elements ...any) (cardID, messageID string, err error) {
	cardID, err = b.call("POST", "/open-apis/cardkit/v1/cards",
		obj{"type": "card_json", "data": text(cardOf(streaming, elements...))}, "card_id")
	if err != nil {
		return "", "", err
	}
	messageID, err = b.call("POST", "/open-apis/im/v1/messages/"+replyTo+"/reply", obj{"msg_type": "interactive",
		"content": text(obj{"type": "card", "data": obj{"card_id": cardID}}), "uuid": cardID}, "message_id")
	return cardID, messageID, err
}

// stream streams text to an element of a card.
func (b *bot) stream(cardID, element, content string) error {
	b.calls++
	_, err := b.call("PUT", "/open-apis/cardkit/v1/cards/"+cardID+"/elements/"+element+"/content",
		obj{"content": content, "sequence": b.calls}, "")
	return err
}

// finish replaces a card with one that does not stream.
func (b *bot) finish(cardID string, elements ...any) error {
	b.calls++
	_, err := b.call("PUT", "/open-apis/cardkit/v1/cards/"+cardID,
		obj{"card": obj{"type": "card_json", "data": text(cardOf(false, elements...))}, "sequence": b.calls}, "")
	return err
}

func cardOf(streaming bool, elements ...any) obj {
	return obj{
		"schema": "2.0", "config": obj{"streaming_mode": streaming, "update_multi": true},
		"body": obj{"elements": elements},
	}
}

func markdown(id, md string) obj { return obj{"tag": "markdown", "element_id": id, "content": md} }

func buttons(label, do string) obj {
	return obj{"tag": "column_set", "flex_mode": "flow",
		"columns": []any{obj{"tag": "column", "width": "auto", "elements": []any{
			obj{"tag": "button", "type": "danger", "text": obj{"tag": "plain_text", "content": label},
				"behaviors": []any{obj{"type": "callback", "value": obj{"do": do, "turn": 1}}}}}}}}
}

// text is v as JSON in a string.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// connect opens the bot's websocket. Every press is answered with a toast that says what was pressed by whom, or which
// values were submitted.
func connect(t *testing.T, sim *feishusim.Server) {
	t.Helper()
	d := dispatcher.NewEventDispatcher("", "")
	d.InitConfig(larkevent.WithLogger(silentLogger{}))
	d.OnP2MessageReceiveV1(func(context.Context, *larkim.P2MessageReceiveV1) error { return nil })
	d.OnP2CardActionTrigger(func(_ context.Context,
		e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		said := fmt.Sprintf("%v %s", e.Event.Action.Value["do"], e.Event.Operator.OpenID)
		if e.Event.Action.FormValue != nil {
			said = fmt.Sprint(e.Event.Action.FormValue)
		}
		return &callback.CardActionTriggerResponse{Toast: &callback.Toast{Type: "success", Content: said}}, nil
	})
	tr := &http.Transport{}
	client := larkws.NewClient(sim.AppID(), sim.AppSecret(), larkws.WithEventHandler(d), larkws.WithDomain(sim.URL()),
		larkws.WithLogger(silentLogger{}), larkws.WithHttpClient(&http.Client{Transport: tr, Timeout: patience}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = client.Start(ctx) // returns when ctx ends
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		tr.CloseIdleConnections()
	})
	await(t, sim, "the bot's connection", func(v *feishusim.View) bool { return v.Connections() > 0 })
}
