package bridge

import (
	"reflect"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// What happens to a chat is data: it can be kept, and be decided on later or elsewhere.
func TestWhatHappensToAChatIsData(t *testing.T) {
	t.Parallel()
	for _, event := range []any{
		db.Inbound{}, db.Decision{}, db.Settling{}, db.AskAgain{}, db.TurnResult{}, db.Compaction{}, db.Post{}, chat.Press{},
	} {
		checkData(t, reflect.TypeOf(event), reflect.TypeOf(event).String(), map[reflect.Type]bool{})
	}
}

// checkData reports what is not data in a type. An interface is none either, since anything may be in it; but the types
// of [db.Effect] are known.
func checkData(t *testing.T, of reflect.Type, where string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[of] || of == reflect.TypeFor[db.Effect]() {
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		t.Errorf("%s is a %v", where, of)
	case reflect.Struct:
		for f := range of.Fields() {
			checkData(t, f.Type, where+"."+f.Name, seen)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		checkData(t, of.Elem(), where, seen)
	default: // a value
	}
}
