package workspace

import (
	"reflect"
	"testing"
)

// A spare process equals the one that its turn would have started. A new field of Spec must either be listed here as
// one of the chat, or be set in spare processes.
func TestASpareHasWhatItsTurnAsksFor(t *testing.T) {
	const own, given, none = "its own", "given to it when a chat takes it", "no turn with it takes a spare process"
	different := map[string]string{
		"Session": own, "Files": own, "Tools": own, "Name": given,
		"Resume": none, "Known": none, "Budget": none, "Task": none, "Plain": none,
		"Spare": "it is one",
	}
	var wanted Spec
	v := reflect.ValueOf(&wanted).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("wanted")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Func:
		default:
			t.Fatalf("Spec.%s is a %v", v.Type().Field(i).Name, f.Kind())
		}
	}
	wanted.Plain = false
	var folder string
	wanted.Spare = func(id string) Spec { folder = id; return Spec{Files: "own", Tools: func() Tools { return Tools{} }} }
	got := wanted.WithoutChat().Unbound("folder")
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if _, ok := different[name]; ok {
			continue
		}
		if f := reflect.ValueOf(got).Field(i); !reflect.DeepEqual(f.Interface(), v.Field(i).Interface()) {
			t.Errorf("%s is %v, and the turn asks for %v", name, f, v.Field(i))
		}
	}
	if !got.Alike(wanted) {
		t.Errorf("%+v does not fit %+v", got, wanted)
	}
	if folder != "folder" || got.Session == wanted.Session || got.Files != "own" || got.Tools == nil || got.Resume ||
		got.Budget != 0 || got.Name != "" || got.Spare != nil {
		t.Errorf("it has a field of the chat: %+v", got)
	}
}
