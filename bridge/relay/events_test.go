package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/internal/chat"
	"magpie/internal/door"
)

// given remembers what it was given.
type given struct {
	door.Handler

	events []any
}

func (g *given) add(e any) error { g.events = append(g.events, e); return nil }

func (g *given) HandleMessage(_ context.Context, m chat.Incoming) error { return g.add(m) }
func (g *given) HandleEdit(_ context.Context, m chat.Incoming) error    { return g.add(&m) }
func (g *given) HandleRecall(_ context.Context, room chat.Key, id string) error {
	return g.add(recalled{room, id})
}
func (g *given) HandleMembership(_ context.Context, c chat.Change) error { return g.add(c) }
func (g *given) HandleRead(_ context.Context, key chat.Key, reader chat.Actor) {
	_ = g.add(receipt{key, reader})
}
func (g *given) HandlePress(_ context.Context, p chat.Press) (string, error) {
	return "toast", g.add(p)
}

// fill gives every field of a value another content than the zero one.
func fill(t *rapid.T, v reflect.Value, path string) {
	text := rapid.StringN(1, 20, -1)
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, path), rapid.Int64Range(0, 999999999).Draw(t, path)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text.Draw(t, path))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(1, 1<<62).Draw(t, path))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(1, 3).Draw(t, path), 3))
		for i := range v.Len() {
			fill(t, v.Index(i), path)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, path)
		fill(t, value, path)
		v.SetMapIndex(key, value)
	default:
		panic(fmt.Sprintf("%s: give this test an example of a %v", path, v.Type()))
	}
}

// Nothing of an event is lost on the way to another bridge, whatever fields it gets.
func TestNothingOfAnEventIsLost(t *testing.T) {
	for k, example := range map[kind]any{
		message: chat.Incoming{}, edit: chat.Incoming{}, recall: recalled{}, press: chat.Press{}, membership: chat.Change{},
		read: receipt{},
	} {
		rapid.Check(t, func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(example)).Elem()
			fill(t, v, string(k))
			data, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			to := &given{}
			if err := handlers[k](t.Context(), to, data); err != nil || len(to.events) != 1 {
				t.Fatalf("%s: %d events, %v", k, len(to.events), err)
			}
			want := v.Interface()
			if k == edit {
				m := want.(chat.Incoming)
				want = &m
			}
			if !reflect.DeepEqual(to.events[0], want) {
				t.Fatalf("%s: %+v became %+v", k, want, to.events[0])
			}
		})
	}
	if len(handlers) != 6 {
		t.Errorf("%d kinds of events", len(handlers))
	}
}

// An event is bound to its room and its kind, and nobody without the secret can read it.
func TestASealedEvent(t *testing.T) {
	seal, err := newSeal("secret")
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSeal("another")
	if err != nil {
		t.Fatal(err)
	}
	room := chat.FeishuChat("oc_1")
	data := seal.Seal(nil, nil, []byte("code"), label(room, message))
	if got, err := seal.Open(nil, nil, data, label(room, message)); err != nil || string(got) != "code" {
		t.Errorf("%q, %v", got, err)
	}
	for what, try := range map[string]func() ([]byte, error){
		"of another room":     func() ([]byte, error) { return seal.Open(nil, nil, data, label(chat.FeishuChat("oc_2"), message)) },
		"of another kind":     func() ([]byte, error) { return seal.Open(nil, nil, data, label(room, press)) },
		"with another secret": func() ([]byte, error) { return other.Open(nil, nil, data, label(room, message)) },
	} {
		if got, err := try(); err == nil {
			t.Errorf("%s: %q", what, got)
		}
	}
}
