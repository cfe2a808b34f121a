package feishu

import (
	"context"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// oddIDs cannot be IDs of the platform: in a key, a path or a URL they would change its meaning.
var oddIDs = map[string]string{
	"colon": "oc:1", "key of a topic": "oc_1:thread:omt_1", "slash": "oc/1", "dots": "..", "newline": "oc_1\nx",
	"NUL": "oc_1\x00", "control": "oc_1\x1b[2J",
	"space": "oc 1", "no-break space": "oc\u00a01", "direction": "oc\u202e1", "zero width": "oc\u200b1",
	"Chinese": "oc_群", "full width": "oc：1",
	"long": strings.Repeat("o", 1000), "percent": "oc%3A1", "query": "oc?1", "quote": `oc"1`,
}

// An event with an invalid ID is acknowledged, not stored, and logged once per kind.
func TestInvalidIDsAreDropped(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	text := func(change map[string]any) map[string]any {
		m := map[string]any{
			"message_id": "om_x", "chat_id": room, "chat_type": "p2p", "message_type": "text",
			"content": `{"text":"odd"}`, "create_time": "1700000000123",
		}
		for k, v := range change {
			m[k] = v
		}
		return map[string]any{
			"sender":  map[string]any{"sender_id": map[string]any{"open_id": ann.OpenID}, "sender_type": "user"},
			"message": m,
		}
	}
	sent := 0
	emit := func(kind string, body any) { p.Emit(kind, body); sent++ }
	for _, id := range oddIDs {
		emit("im.message.receive_v1", text(map[string]any{"chat_id": id}))
		emit("im.message.receive_v1", text(map[string]any{"thread_id": id}))
		emit("im.message.receive_v1", text(map[string]any{"message_id": id}))
		emit("im.message.updated_v1", text(map[string]any{"chat_id": id}))
		emit("im.message.recalled_v1", map[string]any{
			"message_id": "om_x", "chat_id": id, "recall_time": "1700000000123",
		})
		emit("im.message.recalled_v1", map[string]any{
			"message_id": id, "chat_id": room, "recall_time": "1700000000123",
		})
		for kind := range membershipEvents {
			emit(kind, map[string]any{
				"chat_id": id, "operator_id": map[string]any{"open_id": ann.OpenID}, "name": "odd",
			})
		}
	}
	p.await("all acknowledged at once", func(v *feishusim.View) bool {
		acked := 0
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 && d.Attempt == 1 {
				acked++
			}
		}
		return acked == sent
	})
	id := p.Say(room, ann, "hello")
	if m := next(t, rec.messages); m.ID != id {
		t.Errorf("handed over: %+v", m)
	}
	if n := len(rec.changes) + len(rec.recalls) + len(rec.edits); n != 0 {
		t.Errorf("%d others were handed over", n)
	}
	if n := strings.Count(p.log.String(), "with an invalid ID"); n != 3 {
		t.Errorf("logged %d times:\n%s", n, p.log)
	}
	p.clean()
}

func TestInvalidIDsOnCards(t *testing.T) {
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger)
	never := pressFunc(func(context.Context, chat.Press) (string, error) {
		t.Error("a press was handed over")
		return "", nil
	})
	for name, id := range oddIDs {
		e := aPress()
		e.Event.Context.OpenChatID = id
		if r := (eventHandler{c, never}).press(t.Context(), e); r.Toast == nil || r.Toast.Type != "error" {
			t.Errorf("%s: answered with %+v", name, r)
		}
		if wellFormed(id) {
			t.Errorf("%s: %q passes", name, id)
		}
	}
	for _, id := range []string{
		"oc_a0553eda9014c201e6969b478895c230", "om_dc13264520392913993dd051dba21dcf", "omt_1", "ou_1", "cli_a1",
		"a-b=c+d@e",
	} {
		if !wellFormed(id) {
			t.Errorf("%q is refused", id)
		}
	}
}
