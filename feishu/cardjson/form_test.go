package cardjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
)

func TestFilledInIsBounded(t *testing.T) {
	a := &callback.CallBackAction{
		FormValue: map[string]any{"n": 1.0, "empty": "", "b": true, "long": strings.Repeat("x", 9000)},
	}
	var many []any
	for i := range 500 {
		a.FormValue[fmt.Sprint("f", i)] = "x"
		many = append(many, "y")
	}
	got := FormValues(a)
	for name, values := range got {
		if len(values) != 1 || len(values[0]) > 4*maxInput || values[0] == "" {
			t.Errorf("%s = %.20q", name, values)
		}
	}
	if len(got) == 0 || len(got) > maxFields+maxButtons {
		t.Errorf("%d fields", len(got))
	}
	press := &callback.CallBackAction{FormValue: map[string]any{"many": many}}
	if got := FormValues(press); len(got["many"]) != maxOptions {
		t.Errorf("%d values", len(got["many"]))
	}
	alone := &callback.CallBackAction{Name: "pick", Option: "a"}
	if diff := cmp.Diff(map[string][]string{"pick": {"a"}}, FormValues(alone)); diff != "" {
		t.Error(diff)
	}
}
