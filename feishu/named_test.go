package feishu

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/internal/chat"
	"magpie/internal/door"
)

// told is a handler that remembers what it was told.
type told struct {
	door.Handler
	values []any
}

func (h *told) HandleMessage(_ context.Context, m chat.Incoming) error {
	h.values = append(h.values, m)
	return nil
}
func (h *told) HandleEdit(_ context.Context, m chat.Incoming) error {
	h.values = append(h.values, m)
	return nil
}
func (h *told) HandleRecall(_ context.Context, room chat.Key, id string) error {
	h.values = append(h.values, room, id)
	return nil
}
func (h *told) HandlePress(_ context.Context, p chat.Press) (string, error) {
	h.values = append(h.values, p)
	return "", nil
}
func (h *told) HandleMembership(_ context.Context, c chat.Change) error {
	h.values = append(h.values, c)
	return nil
}
func (h *told) HandleRead(_ context.Context, key chat.Key, who chat.Actor) {
	h.values = append(h.values, key, who)
}
func (h *told) HandleNames(_ context.Context, names map[string]string) error {
	h.values = append(h.values, names)
	return nil
}
func (h *told) PrivateChat(_ context.Context, user string) (chat.Key, error) {
	h.values = append(h.values, user)
	return chat.Key{Channel: "feishu-b", Kind: "chat", ID: "oc_1"}, nil
}
func (h *told) ActiveChats(_ context.Context, channel string) ([]chat.Activity, error) {
	h.values = append(h.values, channel)
	return []chat.Activity{{Key: chat.Key{Channel: "feishu-b", Kind: "chat", ID: "oc_1"}}}, nil
}

// Nothing that comes from the door of a further app has an ID of the first one, whatever part of an event it is.
func TestWhatComesFromAFurtherAppHasItsName(t *testing.T) {
	n, got, ctx := NewNamed(New(Config{AppID: "cli_b", AppSecret: "s"}, zerolog.Nop()), "b"), &told{}, t.Context()
	h := namedHandler{got, n}
	key, who := chat.FeishuChat("oc_1"), chat.Actor{ID: "ou_1", Name: "x"}
	files := []chat.File{{Of: "om_0", Kind: chat.Quote}}
	m := chat.Incoming{Key: key, ID: "om_1", Actor: who, Files: files, Time: time.Now()}
	_ = h.HandleMessage(ctx, m)
	_ = h.HandleEdit(ctx, m)
	_ = h.HandleRecall(ctx, key, "om_1")
	_, _ = h.HandlePress(ctx, chat.Press{ID: "e_1", Key: key, Card: "om_1", Actor: who})
	_ = h.HandleMembership(ctx, chat.Change{Key: key, Actor: who})
	h.HandleRead(ctx, key, who)
	_ = h.HandleNames(ctx, map[string]string{"ou_1": "x"})
	back, err := h.PrivateChat(ctx, "ou_1")
	active, activeErr := h.ActiveChats(ctx, "feishu")
	if err != nil || back != key || activeErr != nil || len(active) != 1 || active[0].Key != key {
		t.Errorf("the client is told %v and %v", back, active)
	}
	if files[0].Of != "om_0" {
		t.Error("the client's own message has changed")
	}
	seen := 0
	for _, v := range got.values {
		eachText(reflect.ValueOf(v), func(s string) {
			switch {
			case s == "feishu-b" || strings.HasPrefix(s, "feishu-b:"):
				seen++
			case s == "feishu" || strings.HasPrefix(s, "om_") || strings.HasPrefix(s, "ou_") || strings.HasPrefix(s, "e_"):
				t.Errorf("%q in %+v", s, v)
			}
		})
	}
	if seen < 20 {
		t.Errorf("only %d IDs have the name", seen)
	}
}

// eachText calls f with all texts of a value.
func eachText(v reflect.Value, f func(string)) {
	switch v.Kind() {
	case reflect.String:
		f(v.String())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			eachText(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), f)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			eachText(it.Key(), f)
			eachText(it.Value(), f)
		}
	default:
	}
}

// Each method of a client in which something is named has its counterpart, so that no ID passes as it is.
func TestNamedHasAllMethodsWithIDs(t *testing.T) {
	data, err := os.ReadFile("named.go")
	if err != nil {
		t.Fatal(err)
	}
	plain := []string{"Age", "CircuitOpen", "Health", "SetShare", "ShutWhile", "Status", "Transcribe"} // nothing is named
	client := reflect.TypeFor[*Client]()
	for i := range client.NumMethod() {
		name := client.Method(i).Name
		if own := strings.Contains(string(data), "func (n *Named) "+name+"("); own == slices.Contains(plain, name) {
			t.Errorf("%s has a counterpart: %v", name, own)
		}
	}
}
