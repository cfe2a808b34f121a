package feishusim

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
)

// presser starts a platform with a card that has a button, and a client that answers presses with f.
func presser(t *testing.T, cfg Config, streaming bool,
	f func(*callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error)) (*Server, *kit, string, User) {
	s := start(t, cfg)
	d := newDispatcher()
	if f != nil {
		d.OnP2CardActionTrigger(func(_ context.Context,
			e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
			return f(e)
		})
	}
	listen(t, s, d)
	tom := s.AddUser("Tom")
	k := newRest(t, s).newCard(card(streaming, markdown("md", "press"), button("Go", obj{"go": 1})))
	return s, k, k.show(s.PrivateChat(tom)), tom
}

func TestPress(t *testing.T) {
	type response = callback.CardActionTriggerResponse
	next := card(false, markdown("md", "pressed"))
	s, k, id, tom := presser(t, Config{}, false, func(e *callback.CardActionTriggerEvent) (*response, error) {
		if e.Event.Action.Value["go"] != 1.0 || e.Event.Operator.OpenID == "" || e.Event.Context.OpenMessageID == "" ||
			!strings.HasPrefix(e.Event.Token, "c-") {
			return nil, errHandler
		}
		return &response{Toast: &callback.Toast{Type: "success", Content: "done"},
			Card: &callback.Card{Type: "raw", Data: next}}, nil
	})
	answer, err := s.Press(t.Context(), id, tom, obj{"go": 1})
	if err != nil || text(member(decode(t, answer), "toast", "content")) != "done" {
		t.Fatalf("press: %v %s", err, answer)
	}
	if m, _ := s.Message(id); m.Text() != "pressed" || m.Last().Op != "callback" {
		t.Errorf("state %+v", m.Last())
	}
	if _, err := s.Press(t.Context(), id, tom, obj{"go": 2}); !errors.Is(err, ErrNoComponent) {
		t.Errorf("a button that never was: %v", err)
	}
	if _, err := s.Press(t.Context(), id, tom, obj{"go": 1}); err != nil {
		t.Errorf("a button that was there a moment ago: %v", err)
	}
	k.op(0, "PUT", "/elements/md", obj{"element": string(mustJSON(markdown("md", "later")))})
	refuteViolations(t, s)
}

func decode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPressOnAStreamingCardChangesNothing(t *testing.T) {
	s, k, id, tom := presser(t, Config{}, true,
		func(*callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
			return &callback.CardActionTriggerResponse{Card: &callback.Card{Type: "raw",
				Data: card(false, markdown("md", "pressed"))}}, nil
		})
	if _, err := s.Press(t.Context(), id, tom, obj{"go": 1}); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message(id); m.Text() != "press\nGo" {
		t.Errorf("text %q", m.Text())
	}
	k.op(0, "PATCH", "/settings", obj{"settings": `{"config":{"streaming_mode":false}}`})
}

func TestPressFails(t *testing.T) {
	type response = callback.CardActionTriggerResponse
	slow := make(chan struct{})
	for name, row := range map[string]struct {
		code   int
		rule   Rule
		answer func(*callback.CardActionTriggerEvent) (*response, error)
	}{
		"handler error": {codeToastStatus, "", func(*callback.CardActionTriggerEvent) (*response, error) {
			return nil, errHandler
		}},
		"no handler": {codeToastStatus, "", nil},
		"nil answer": {codeToastNil, "", func(*callback.CardActionTriggerEvent) (*response, error) { return nil, nil }},
		"bad card": {codeToastCard, RuleCallback, func(*callback.CardActionTriggerEvent) (*response, error) {
			return &response{Card: &callback.Card{Type: "raw", Data: card(false, obj{"tag": "note"})}}, nil
		}},
		"bad toast": {codeToastBody, RuleCallback, func(*callback.CardActionTriggerEvent) (*response, error) {
			return &response{Toast: &callback.Toast{Type: "loud"}}, nil
		}},
		"too slow": {codeToastTimeout, RuleCallbackWait, func(*callback.CardActionTriggerEvent) (*response, error) {
			<-slow
			return &response{}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{}
			if name == "too slow" {
				cfg.AckTimeout = 20 * time.Millisecond
			}
			s, _, id, tom := presser(t, cfg, false, row.answer)
			_, err := s.Press(t.Context(), id, tom, obj{"go": 1})
			if name == "too slow" {
				close(slow)
			}
			var pe *PressError
			if !errors.As(err, &pe) || pe.Code != row.code {
				t.Errorf("error %v, want %d", err, row.code)
			}
			if n := len(s.Deliveries()); n != 1 {
				t.Errorf("%d deliveries; a callback is pushed once", n)
			}
			if row.rule != "" && violated(s, row.rule) != 1 {
				t.Errorf("violations %+v", s.Violations())
			}
		})
	}
}

func TestPressWithoutConnection(t *testing.T) {
	s := start(t, Config{})
	tom := s.AddUser("Tom")
	k := newRest(t, s).newCard(card(false, button("Go", obj{})))
	_, err := s.Press(t.Context(), k.show(s.PrivateChat(tom)), tom, obj{})
	var pe *PressError
	if !errors.As(err, &pe) || pe.Code != codeToastUnwired {
		t.Errorf("error %v", err)
	}
}

func TestCardIsBusyDuringAPress(t *testing.T) {
	pressed, goOn := make(chan string, 1), make(chan struct{})
	s, k, id, tom := presser(t, Config{}, false,
		func(e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
			pressed <- e.Event.Token
			<-goOn
			return &callback.CardActionTriggerResponse{}, nil
		})
	ended := make(chan error)
	go func() {
		_, err := s.Press(t.Context(), id, tom, obj{"go": 1})
		ended <- err
	}()
	token := <-pressed
	update := func(code int) {
		t.Helper()
		k.want(code, "POST", "/open-apis/interactive/v1/card/update", obj{
			"token": token, "card": card(false, markdown("md", "late")),
		})
	}
	k.op(codeKitInteracting, "PUT", "/elements/md", obj{"element": string(mustJSON(markdown("md", "x")))})
	update(codeCallbackToken)
	close(goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	k.seq--
	k.op(0, "PUT", "/elements/md", obj{"element": string(mustJSON(markdown("md", "x")))})
	update(0)
	update(0)
	update(codeCallbackToken)
	if m, _ := s.Message(id); m.Text() != "late" {
		t.Errorf("text %q", m.Text())
	}
}
