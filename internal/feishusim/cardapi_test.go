package feishusim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSequenceMustIncrease(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	k := c.newCard(card(true, markdown("md", "")))
	k.content(0, "md", "a")
	k.content(0, "md", "ab")
	k.seq = 0
	k.content(codeKitSequence, "md", "old") // sequence 1 again
	k.seq = -1
	k.content(codeKitSequence, "md", "zero")
	if n := violated(s, RuleSequence); n != 2 {
		t.Errorf("%d violations", n)
	}
	k.seq = 1
	k.content(codeKitSequence, "md", "ab") // the same request as the last one that was applied
	if n := violated(s, RuleSequence); n != 2 {
		t.Error("a repeated request counts as a violation")
	}
	path := fmt.Sprintf("%s/%s/elements/md/content", pathCards, k.id)
	c.want(codeField, "PUT", path, obj{"content": "x"})
	op := obj{"content": "abc", "sequence": 10, "uuid": "u"}
	c.want(0, "PUT", path, op)
	c.want(0, "PUT", path, op)
	op["content"] = "other"
	c.want(codeKitUUID, "PUT", path, op)
	op["uuid"] = strings.Repeat("u", 65)
	c.want(codeField, "PUT", path, op)
}

// A program that ends gives up its calls. Those that arrive after the calls of the next program are not its mistake.
func TestAnAbandonedCallMayBeLate(t *testing.T) {
	s := start(t, Config{})
	k := newRest(t, s).newCard(card(true, markdown("md", "")))
	k.content(0, "md", "a")
	k.content(0, "md", "ab")
	token, _ := s.auth.issue(time.Now())
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"content": "a", "sequence": 1}`
	before := len(s.Calls())
	_, err = fmt.Fprintf(conn, "PUT %s/%s/elements/md/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", pathCards, k.id, token, len(body), body)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	await(t, s, "the late call", func(v *View) bool { return len(v.Calls()) > before })
	if got := s.Calls()[before]; got.Code != codeKitSequence || violated(s, RuleSequence) != 0 {
		t.Errorf("%+v, violations %v", got, s.Violations())
	}
}

func TestFailedOperationKeepsItsSequence(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	k := newRest(t, s).newCard(card(true, markdown("md", "")))
	k.content(codeField, "md", "")
	k.seq--
	k.content(codeKitUpdate, "none", "x")
	k.seq--
	k.content(0, "md", "x")
	if violated(s, RuleEmpty) != 1 || violated(s, RuleUnknownID) != 1 || violated(s, RuleSequence) != 0 {
		t.Errorf("violations %+v", s.Violations())
	}
}

func TestStreamingModeClosesAndReopens(t *testing.T) {
	s := start(t, Config{StreamingTTL: 20 * time.Millisecond, Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	k := c.newCard(card(false, markdown("md", "")))
	id := k.show(p)
	k.content(codeKitClosed, "md", "x")
	k.op(0, "PATCH", "/settings", obj{"settings": `{"streaming_mode":true}`}) // no config level: no effect
	k.content(codeKitClosed, "md", "x")
	if violated(s, RuleSettings) != 1 || violated(s, RuleStreaming) != 2 {
		t.Errorf("violations %+v", s.Violations())
	}
	k.op(0, "PATCH", "/settings", obj{"settings": `{"config":{"streaming_mode":true}}`})
	await(t, s, "timeout", func(v *View) bool { m, _ := v.Message(id); return m.Last().Op == "streaming_timeout" })
	k.content(codeKitTimedOut, "md", "x")
	k.content(codeKitClosed, "md", "x")
	if violated(s, RuleStreamingOn) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
	// The whole card can be replaced in any mode.
	k.op(0, "PUT", "", obj{
		"card": obj{"type": "card_json", "data": string(mustJSON(card(false, markdown("md", "final"))))},
	})
	if m, _ := s.Message(id); m.Text() != "final" || m.Last().Streaming {
		t.Errorf("state %+v", m.Last())
	}
}

func TestCardLeftStreamingIsReportedAtTheEnd(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	c.newCard(card(true, markdown("md", ""))).show(s.PrivateChat(s.AddUser("Tom")))
	c.newCard(card(true, markdown("md", ""))) // no message shows it
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if violated(s, RuleStreamingOn) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
}

func TestElements(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	panel := obj{"tag": "collapsible_panel", "element_id": "panel", "header": obj{
		"title": obj{"tag": "plain_text", "content": "p"},
	},
		"elements": []any{markdown("in", "inside")}}
	k := c.newCard(card(false, markdown("b", "b"), panel))
	id := k.show(p)
	list := func(els ...any) string { return string(mustJSON(els)) }
	add := func(code int, kind, target string, els ...any) {
		t.Helper()
		k.op(code, "POST", "/elements", obj{"type": kind, "target_element_id": target, "elements": list(els...)})
	}
	shows := func(want string) {
		t.Helper()
		m, _ := s.Message(id)
		if got := strings.ReplaceAll(m.Text(), "\n", " "); got != want {
			t.Errorf("card shows %q, want %q", got, want)
		}
	}
	add(0, "insert_before", "b", markdown("a", "a"))
	add(0, "insert_after", "b", markdown("c", "c"))
	add(0, "append", "", markdown("d", "d"))
	add(0, "append", "panel", markdown("in2", "too"))
	shows("a b c p inside too d")
	add(codeKitAdd, "append", "none", markdown("e", "e"))
	add(codeKitDuplicate, "append", "", markdown("a", "again"))
	k.op(0, "PUT", "/elements/in2", obj{"element": string(mustJSON(markdown("in2", "new")))})
	k.op(0, "PATCH", "/elements/a", obj{"partial_element": `{"content":"A"}`})
	k.op(codeKitTag, "PATCH", "/elements/a", obj{"partial_element": `{"tag":"hr"}`})
	k.op(0, "DELETE", "/elements/c", obj{})
	k.op(codeKitDelete, "DELETE", "/elements/c", obj{})
	shows("A b p inside new d")
	actions := func(last string) obj {
		return obj{"actions": string(mustJSON([]any{
			obj{
				"action": "partial_update_setting", "params": obj{
					"settings": obj{"config": obj{"streaming_mode": true}},
				},
			},
			obj{"action": "delete_elements", "params": obj{"element_ids": []string{"d"}}},
			obj{"action": "add_elements", "params": obj{"type": "append", "elements": []any{markdown("e", "e")}}},
			obj{"action": "update_element", "params": obj{"element_id": "b", "element": markdown("b", "B")}},
			obj{
				"action": "partial_update_element", "params": obj{
					"element_id": last, "partial_element": obj{"content": "x"},
				},
			},
		}))}
	}
	k.op(codeKitUpdate, "POST", "/batch_update", actions("none"))
	shows("A b p inside new d") // all or nothing
	k.op(0, "POST", "/batch_update", actions("a"))
	shows("x B p inside new e")
	k.op(codeKitParam, "POST", "/batch_update", obj{"actions": string(mustJSON([]any{obj{
		"action": "partial_update_element", "params": obj{"element": "e", "partial_element": obj{"content": "x"}, "id": "e"},
	}}))})
	k.content(0, "e", "streams")
	k.content(codeKitNotText, "panel", "x")
	k.op(0, "PATCH", "/settings", obj{"settings": `{"config":{"streaming_mode":false}}`})
	if a := c.want(0, "POST", pathCards+"/id_convert", obj{"message_id": id}); a.str("card_id") != k.id {
		t.Errorf("card id %v", a.Data)
	}
}

func TestEntityIsSentOnce(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	k := c.newCard(card(false, markdown("md", "x")))
	in := body(p, "interactive", obj{"type": "card", "data": obj{"card_id": k.id}})
	first := c.want(0, "POST", pathMessages+"?receive_id_type=chat_id", in)
	if again := c.want(0, "POST", pathMessages+"?receive_id_type=chat_id",
		in); again.str("message_id") != first.str("message_id") {
		t.Error("the same uuid sent another message")
	}
	in["uuid"] = "other"
	c.want(codeCardRefused, "POST", pathMessages+"?receive_id_type=chat_id", in)
	if violated(s, RuleSentTwice) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
	c.want(0, "PATCH", pathMessages+"/"+first.str("message_id"), obj{
		"content": string(mustJSON(card(false, markdown("md", "patched")))),
	})
	if violated(s, RulePatchEntity) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
	c.want(codeKitNone, "PUT", pathCards+"/1/elements/md/content", obj{"content": "x", "sequence": 1})
}

func TestParallelCallsOnOneCardAreAViolation(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	k := c.newCard(card(true, markdown("md", "")))
	id := k.show(s.PrivateChat(s.AddUser("Tom")))
	path := pathCards + "/" + k.id + "/elements/md/content"
	ctx, cancel := context.WithCancel(t.Context())
	s.Inject(Fault{Path: path, Times: 1, Apply: true, Delay: time.Hour})
	hanging := make(chan error)
	go func() {
		_, err := c.Put(ctx, path, obj{"content": "a", "sequence": 1}, "tenant_access_token")
		hanging <- err
	}()
	await(t, s, "the first call's effect", func(v *View) bool { m, _ := v.Message(id); return m.Text() == "a" })
	c.want(0, "PUT", path, obj{"content": "ab", "sequence": 2})
	cancel()
	if err := <-hanging; err == nil {
		t.Error("the hanging call was answered")
	}
	if violated(s, RuleParallel) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
}

// A call that its client has given up may run for a while yet, and the server may learn of it only after the next call
// has come in.
func TestAnAbandonedCallIsNotParallel(t *testing.T) {
	s := start(t, Config{})
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{rec: s.records, onCard: make(map[string][]*cardCall)}
		call := func(ctx context.Context) (leave func()) {
			r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/", nil)
			r.SetPathValue("card_id", "7")
			return g.enterCard(&request{Request: r, rec: s.records})
		}
		check := func(what string, want int) {
			t.Helper()
			if n := violated(s, RuleParallel); n != want {
				t.Errorf("%s: %d violations, want %d", what, n, want)
			}
		}
		for name, overlap := range map[string]func(giveUp, leave func()){
			"running": func(giveUp, _ func()) { giveUp() },
			"over":    func(giveUp, leave func()) { go leave(); synctest.Wait(); giveUp() },
		} {
			client, giveUp := context.WithCancel(t.Context())
			leave := sync.OnceFunc(call(client))
			go func() { call(t.Context())() }()
			synctest.Wait()
			overlap(giveUp, leave)
			synctest.Wait()
			check(name, 0)
			leave()
		}
		call(t.Context())()
		leave := call(t.Context())
		check("one after the other", 0)
		call(t.Context())()
		check("both clients wait", 1)
		leave()
		if len(g.onCard) != 0 {
			t.Errorf("%d cards are still called", len(g.onCard))
		}
	})
}

func TestCreateCardAnswersItsOwnCodes(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	for data, code := range map[string]int{
		`{"elements":[]}`: codeKitSchema,
		`not JSON`:        codeKitParam,
		`{"schema":"2.0","body":{"elements":[{"tag":"note"}]}}`: codeCardTag,
	} {
		c.want(code, "POST", pathCards, obj{"type": "card_json", "data": data})
	}
	p := s.PrivateChat(s.AddUser("Tom"))
	a := c.want(codeCardRefused, "POST", pathMessages+"?receive_id_type=chat_id",
		body(p, "interactive", card(false, obj{"tag": "note"})))
	if !strings.Contains(a.Msg, "ext=ErrCode: 200861; ErrMsg: ") {
		t.Errorf("msg %q", a.Msg)
	}
}
