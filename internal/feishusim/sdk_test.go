package feishusim

import (
	"encoding/json"
	"strings"
	"testing"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkcardkit "github.com/larksuite/oapi-sdk-go/v3/service/cardkit/v1"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// TestAConversationWithTheOfficialSDK goes from a user's question to a streamed card, with the SDK's typed calls.
func TestAConversationWithTheOfficialSDK(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	d, in := receiver(nil)
	listen(t, s, d)
	tom := s.AddUser("Tom")
	chat := s.Group("Birds", tom)
	asked := s.Say(chat, tom, "hello", Mention())

	ev := in.next(t, 1)[0].Event
	if *ev.Message.MessageId != asked || *ev.Message.ChatType != "group" || *ev.Sender.SenderId.OpenId != tom.OpenID {
		t.Fatalf("event %s", larkcore.Prettify(ev))
	}
	if *ev.Message.Content != `{"text":"@_user_1 hello"}` || *ev.Message.Mentions[0].Id.OpenId != s.BotOpenID() {
		t.Fatalf("event %s", larkcore.Prettify(ev))
	}
	await(t, s, "ack", func(v *View) bool { return len(v.Deliveries()) == 1 && v.Deliveries()[0].AckCode == 200 })

	root := string(mustJSON(card(true, markdown("md", ""))))
	made, err := c.Cardkit.V1.Card.Create(t.Context(), larkcardkit.NewCreateCardReqBuilder().
		Body(larkcardkit.NewCreateCardReqBodyBuilder().Type("card_json").Data(root).Build()).Build())
	if err != nil || !made.Success() {
		t.Fatalf("create card: %v %v", err, made)
	}
	id := *made.Data.CardId
	replied, err := c.Im.Message.Reply(t.Context(), larkim.NewReplyMessageReqBuilder().MessageId(asked).
		Body(larkim.NewReplyMessageReqBodyBuilder().MsgType("interactive").Uuid(newUUID()).
			Content(string(mustJSON(obj{"type": "card", "data": obj{"card_id": id}}))).Build()).Build())
	if err != nil || !replied.Success() {
		t.Fatalf("reply: %v %v", err, replied)
	}
	text := ""
	for i := 1; i <= 5; i++ {
		text += "word "
		got, err := c.Cardkit.V1.CardElement.Content(t.Context(),
			larkcardkit.NewContentCardElementReqBuilder().CardId(id).ElementId("md").
				Body(larkcardkit.NewContentCardElementReqBodyBuilder().Content(text).Sequence(i).Uuid(newUUID()).Build()).Build())
		if err != nil || !got.Success() {
			t.Fatalf("content %d: %v %v", i, err, got)
		}
	}
	ended, err := c.Cardkit.V1.Card.Settings(t.Context(), larkcardkit.NewSettingsCardReqBuilder().CardId(id).
		Body(larkcardkit.NewSettingsCardReqBodyBuilder().Settings(`{"config":{"streaming_mode":false}}`).Sequence(6).Build()).Build())
	if err != nil || !ended.Success() {
		t.Fatalf("settings: %v %v", err, ended)
	}
	checkStreamed(t, s, *replied.Data.MessageId, asked, id)
	refuteViolations(t, s)
}

func checkStreamed(t *testing.T, s *Server, id, asked, cardID string) {
	t.Helper()
	m, ok := s.Message(id)
	if !ok || !m.FromBot || m.RootID != asked || m.ParentID != asked || m.CardID != cardID {
		t.Fatalf("message %+v", m)
	}
	var ops []string
	for _, st := range m.States {
		ops = append(ops, st.Op)
		if st.Streaming != (st.Op != "settings") {
			t.Errorf("state %s: streaming %v", st.Op, st.Streaming)
		}
	}
	if got := strings.Join(ops, " "); got != "create content content content content content settings" {
		t.Errorf("states %s", got)
	}
	if m.Text() != "word word word word word " {
		t.Errorf("text %q", m.Text())
	}
	var shown obj
	if err := json.Unmarshal(m.Last().Card, &shown); err != nil || shown["schema"] != "2.0" {
		t.Errorf("card %s: %v", m.Last().Card, err)
	}
}
