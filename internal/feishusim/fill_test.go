package feishusim

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
)

func TestSubmit(t *testing.T) {
	s := start(t, Config{})
	d := newDispatcher()
	heard := make(chan *callback.CallBackAction, 1)
	d.OnP2CardActionTrigger(func(_ context.Context,
		e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		heard <- e.Event.Action
		return &callback.CardActionTriggerResponse{}, nil
	})
	listen(t, s, d)
	tom := s.AddUser("Tom")
	options := []any{}
	for _, v := range []string{"a", "b", "c"} {
		options = append(options, obj{"text": obj{"tag": "plain_text", "content": "option " + v}, "value": v})
	}
	submit := button("Send", obj{"do": "send"})
	submit["name"], submit["form_action_type"] = "send", "submit"
	form := obj{"tag": "form", "name": "f", "elements": []any{
		obj{"tag": "select_static", "name": "one", "required": true, "options": options},
		obj{"tag": "multi_select_static", "name": "many", "options": options},
		obj{"tag": "input", "name": "words", "max_length": 5},
		obj{"tag": "column_set", "columns": []any{obj{"tag": "column", "elements": []any{submit}}}},
	}}
	id := newRest(t, s).newCard(card(false, form, button("Stop", obj{"do": "stop"}))).show(s.PrivateChat(tom))

	for name, row := range map[string]struct {
		filled map[string][]string
		want   map[string]any
		err    error
	}{
		"all": {map[string][]string{"one": {"a"}, "many": {"b", "c"}, "words": {"hello"}},
			map[string]any{"one": "a", "many": []any{"b", "c"}, "words": "hello"}, nil},
		"what is required": {map[string][]string{"one": {"c"}},
			map[string]any{"one": "c", "many": []any{}, "words": ""}, nil},
		"nothing":           {nil, nil, ErrIncomplete},
		"too many":          {map[string][]string{"one": {"a", "b"}}, nil, ErrIncomplete},
		"too long":          {map[string][]string{"one": {"a"}, "words": {"hello!"}}, nil, ErrIncomplete},
		"no such option":    {map[string][]string{"one": {"d"}}, nil, ErrNoComponent},
		"no such component": {map[string][]string{"one": {"a"}, "other": {"x"}}, nil, ErrNoComponent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Submit(t.Context(), id, tom, obj{"do": "send"}, row.filled)
			if !errors.Is(err, row.err) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			if a := <-heard; a.Name != "send" || a.Value["do"] != "send" || !reflect.DeepEqual(a.FormValue, row.want) {
				t.Errorf("heard %+v", a)
			}
		})
	}
	if _, err := s.Submit(t.Context(), id, tom, obj{"do": "stop"}, map[string][]string{"one": {"a"}}); !errors.Is(err,
		ErrNoComponent) {
		t.Errorf("a button outside of the form: %v", err)
	}
	if _, err := s.Press(t.Context(), id, tom, obj{"do": "stop"}); err != nil {
		t.Error(err)
	} else if a := <-heard; a.FormValue != nil {
		t.Errorf("heard %+v", a)
	}
	refuteViolations(t, s)
}
