package delivery

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
)

const canary = "canary-0123456789abcdef"

// fillIn sets every text in a value of a card.
func fillIn(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillIn(v.Index(i), text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem(), text)
	}
}

// A secret is redacted in every part of a card. Values that come back with a press are ours and must not change;
// neither must labels of buttons.
func TestNoPartOfACardShowsASecret(t *testing.T) {
	t.Parallel()
	known := redact.NewKnown([]string{canary})
	for _, live := range []bool{false, true} {
		var c chat.Card
		fillIn(reflect.ValueOf(&c).Elem(), "it is "+canary+", you see")
		c.Live, c.Form.Last = live, true
		before := fmt.Sprintf("%+v %+v", c, *c.Form)
		got := RedactCard(c, known)
		if fmt.Sprintf("%+v %+v", c, *c.Form) != before {
			t.Error("the card itself was changed")
		}
		if !got.Form.Last {
			t.Error("the form was moved")
		}
		got.State, got.Buttons, got.Form.Buttons, got.Others = "", nil, nil, nil
		for i := range got.Form.Fields {
			f := &got.Form.Fields[i]
			f.Name, f.Kind = "", ""
			for j := range f.Options {
				f.Options[j].Value = ""
			}
		}
		if s := fmt.Sprintf("%+v %+v", got, *got.Form); strings.Contains(s, "canary") ||
			!strings.Contains(s, "[REDACTED_SECRET], you see") {
			t.Errorf("live %v: %s", live, s)
		}
	}
}

// However the agent's text is split, no part that is shown or stored ends within a secret.
func TestASecretInPiecesIsNotShown(t *testing.T) {
	t.Parallel()
	known := redact.NewKnown([]string{canary})
	text := "the key is " + canary + " and c is not"
	for n := range len(text) + 1 {
		c := RedactCard(chat.Card{Body: text[:n], Live: true}, known)
		if i := strings.Index(c.Body, "canary"); i >= 0 || strings.HasSuffix(c.Body, "ca") {
			t.Fatalf("%q is shown", c.Body)
		}
	}
	if c := RedactCard(chat.Card{Body: text}, known); c.Body != "the key is [REDACTED_SECRET] and c is not" {
		t.Errorf("%q", c.Body)
	}
}
