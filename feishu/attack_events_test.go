package feishu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

// properEvent is a message event without faults. {ann}, {room} and the like stand for ids.
const properEvent = `{"schema":"2.0","header":{"event_id":"{event}","event_type":"im.message.receive_v1",` +
	`"create_time":"{told}","token":"","app_id":"{app}","tenant_key":"t"},"event":{` +
	`"sender":{"sender_id":{"open_id":"{ann}","user_id":"u"},"sender_type":"user","tenant_key":"t"},` +
	`"message":{"message_id":"om_{n}","create_time":"{now}","chat_id":"{room}","chat_type":"p2p",` +
	`"message_type":"text","content":"{\"text\":\"hi\"}"}}}`

// eventAttacks are malformed or hostile events. old is replaced by new in properEvent; an empty old means that new is
// the whole payload. ack is the expected status of the acknowledgement; got is what reaches the Handler: for a message,
// its author and text.
var eventAttacks = []struct {
	name, old, new string
	ack            int
	got            string
}{
	// Payloads that are no events.
	{"nothing but a blank", "", " ", 500, ""},
	{"no JSON", "", "hello", 500, ""},
	{"half an event", "", `{"schema":"2.0","header":{"event_type":"im.message.receive_v1"`, 500, ""},
	{"a list", "", "[]", 500, ""},
	{"null", "", "null", 500, ""},
	{"a number", "", "1e999", 500, ""},
	{"bytes that are no text", "", "\xff\xfe\x00", 500, ""},
	{"an empty object", "", "{}", 500, ""},
	{"a page", "", "<html></html>", 500, ""},
	{"very deep", "", strings.Repeat("[", 100_000), 500, ""},
	{"a challenge of another way of delivery", "", `{"challenge":"x","type":"url_verification","token":""}`, 500, ""},
	{"an encrypted event", "", `{"encrypt":"AAAA"}`, 500, ""},
	// The header.
	{"a type that there is not", `"im.message.receive_v1"`, `"im.message.received_v9"`, 500, ""},
	{"a type with a path", `"im.message.receive_v1"`, `"../../im.message.receive_v1"`, 500, ""},
	{"a type that is a number", `"im.message.receive_v1"`, `1`, 500, ""},
	{"no type", `"event_type":"im.message.receive_v1",`, ``, 500, ""},
	{"an event of another app", `"{app}"`, `"cli_other"`, 200, "Ann: hi"},
	{"an id that is a list", `"event_id":"{event}"`, `"event_id":["a"]`, 500, ""},
	{"no header", `"header":`, `"headers":`, 500, ""},
	{"an old schema", `"schema":"2.0"`, `"schema":"1.0"`, 200, "Ann: hi"},
	{"another event within", `"schema":"2.0"`, `"schema":"2.0","event":{"message":{"message_id":"om_x"}}`, 200, ""},
	// The sender.
	{"no sender", `"sender":{`, `"from":{`, 200, ": hi"},
	{"a sender that is a text", `"sender":{`, `"sender":"x","from":{`, 200, ": hi"},
	{"no id of the sender", `"open_id":"{ann}",`, ``, 200, ": hi"},
	{"the bot itself", `"sender_type":"user"`, `"sender_type":"app"`, 200, ""},
	{"a sender of no known kind", `"sender_type":"user"`, `"sender_type":"anonymous"`, 200, ""},
	{"a sender that is two", `"open_id":"{ann}"`, `"open_id":["{ann}"]`, 200, ""},
	{"a sender that nobody knows", `"{ann}"`, `"ou_nobody"`, 200, "ou_nobody: hi"},
	// The message itself.
	{"no message", `"message":{`, `"msg":{`, 200, ""},
	{"a message that is null", `"message":{`, `"message":null,"msg":{`, 200, ""},
	{"no id of the message", `"message_id":"om_{n}",`, ``, 200, ""},
	{"no chat", `"chat_id":"{room}",`, ``, 200, ""},
	{"a topic of nowhere", `"p2p"`, `"group","thread_id":"omt_no","root_id":"om_no"`, 200, "Ann, overheard: hi"},
	{"a chat that nobody knows", `"{room}"`, `"oc_nowhere"`, 200, "Ann: hi"},
	{"a kind of chat that there is not", `"p2p"`, `"channel"`, 200, "Ann, overheard: hi"},
	{"a system's notice", `"message_type":"text"`, `"message_type":"system"`, 200, ""},
	{"a form that there is not", `"message_type":"text"`, `"message_type":"hologram"`, 200, "Ann: [hologram]"},
	{"a form that is a number", `"message_type":"text"`, `"message_type":5`, 200, "Ann: [5]"},
	{"no form", `"message_type":"text",`, ``, 200, "Ann: []"},
	// The content.
	{"content that is no JSON", `"{\"text\":\"hi\"}"`, `"{\"text\":"`, 200, "Ann: "},
	{"content that is an object", `"{\"text\":\"hi\"}"`, `{"text":"hi"}`, 200, "Ann: hi"},
	{"content that is null", `"{\"text\":\"hi\"}"`, `null`, 200, "Ann: "},
	{"no content", `,"content":"{\"text\":\"hi\"}"`, ``, 200, "Ann: "},
	{"a text that is a number", `\"hi\"`, `1e999`, 200, "Ann: +Inf"},
	{"a text that is a list", `\"hi\"`, `[\"hi\"]`, 200, `Ann: ["hi"]`},
	{"half a character", `\"hi\"`, `\"\\ud800hi\"`, 200, "Ann: \ufffdhi"},
	{"a zero byte", `\"hi\"`, `\"h\\u0000i\"`, 200, "Ann: h\x00i"},
	{"very long", `\"hi\"`, `\"` + strings.Repeat("x", 1<<20) + `\"`, 200, "Ann: " + strings.Repeat("x", 1<<20)},
	{"very deep content", `"{\"text\":\"hi\"}"`, `"` + strings.Repeat("[", 100_000) + `"`, 200, "Ann: "},
	{"a very deep card", `"text","content":"{\"text\":\"hi\"}"`, `"interactive","content":"{\"user_dsl\":\"{\\\"body\\\":` +
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}\"}"`, 200, "Ann: [卡片]"},
	{"a mention of nobody", `"content":`, `"mentions":[null,{},{"key":"@_user_1"}],"content":`, 200, "Ann: hi"},
	{"mentions that are a text", `"content":`, `"mentions":"@all","content":`, 200, "Ann: hi"},
	// The time.
	{"far in the future", `"create_time":"{now}"`, `"create_time":"99999999999999"`, 200, "Ann: hi"},
	{"far in the past", `"create_time":"{now}"`, `"create_time":"-1"`, 200, "Ann: hi"},
	{"at no time", `"create_time":"{now}"`, `"create_time":"soon"`, 200, "Ann: hi"},
	{"after all numbers", `"create_time":"{now}"`, `"create_time":"99999999999999999999"`, 200, "Ann: hi"},
	// Other types of events with wrong bodies.
	{"a message taken back that is none", `"im.message.receive_v1"`, `"im.message.recalled_v1"`, 200, ""},
	{"a message edited that is none", `im.message.receive_v1`, `im.message.updated_v1`, 200, "Ann has edited: hi"},
	{"a bot added to nothing", `"im.message.receive_v1"`, `"im.chat.member.bot.added_v1"`, 200, ""},
	{"a button that nobody pressed", `"im.message.receive_v1"`, `"card.action.trigger"`, 200, ""},
	{"a button with another type", `"im.message.receive_v1"`, `"card.action.trigger","x":"y"`, 200, ""},
}

// TestAttackMalformedEvents pushes each event over a real websocket, followed by a valid message. The client must stay
// connected, acknowledge or refuse each event at once, never report another author than the event names, and receive
// the valid message.
func TestAttackMalformedEvents(t *testing.T) {
	const rows = 61
	if len(eventAttacks) != rows {
		t.Fatalf("%d events, want %d", len(eventAttacks), rows)
	}
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	for i, tc := range eventAttacks {
		payload := tc.new
		if tc.old != "" {
			if strings.Count(properEvent, tc.old) != 1 {
				t.Fatalf("%s: properEvent contains %d times %s", tc.name, strings.Count(properEvent, tc.old), tc.old)
			}
			payload = strings.Replace(properEvent, tc.old, tc.new, 1)
		}
		now := fmt.Sprint(time.Now().UnixMilli())
		ids := strings.NewReplacer("{ann}", ann.OpenID, "{room}", room, "{app}", p.AppID(), "{n}", fmt.Sprint(i),
			"{event}", fmt.Sprint("event_", i), "{told}", now, "{now}", now)
		ack := p.acknowledged(tc.name, p.EmitPayload([]byte(ids.Replace(payload))))
		got := strings.Replace(rec.got(), ann.OpenID, "Ann", 1)
		if want := strings.Replace(tc.got, "{ann}", "Ann", 1); ack != tc.ack || got != want {
			t.Errorf("%s: acknowledged with %d, want %d; %.80q, want %.80q", tc.name, ack, tc.ack, got, want)
		}
		said := fmt.Sprint("and now ", i)
		p.Say(room, ann, said)
		if m := next(t, rec.messages); m.Text != said || m.Actor.ID != ann.OpenID {
			t.Errorf("%s: the next message was %.80q from %s", tc.name, m.Text, m.Actor.ID)
		}
	}
	if n := p.Connected(); n != 1 {
		t.Errorf("the client has connected %d times", n)
	}
}

// acknowledged returns the status with which the client acknowledged an event.
func (p *platform) acknowledged(what, event string) (code int) {
	p.t.Helper()
	p.await(what, func(v *feishusim.View) bool {
		for _, d := range v.Deliveries() {
			if d.EventID == event && !d.AckedAt.IsZero() {
				code = d.AckCode
				return true
			}
		}
		return false
	})
	return code
}

// got describes the last event that reached the Handler, if any did.
func (r *recorder) got() string {
	select {
	case m := <-r.messages:
		if !m.ToBot {
			m.Actor.ID += ", overheard"
		}
		return m.Actor.ID + ": " + m.Text
	case m := <-r.edits:
		return m.Actor.ID + " has edited: " + m.Text
	case <-r.recalls:
		return "recalled"
	case <-r.presses:
		return "pressed"
	case <-r.changes:
		return "changed"
	default:
		return ""
	}
}
