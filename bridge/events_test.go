package bridge

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// What happens to a chat is data: it can be kept, and be decided on later or elsewhere.
func TestWhatHappensToAChatIsData(t *testing.T) {
	t.Parallel()
	for _, event := range []any{
		commandResult{}, chat.Press{}, db.Inbound{}, db.Decision{}, db.Settling{}, db.AskAgain{}, db.TurnResult{},
		db.Compaction{}, db.Post{},
	} {
		checkData(t, reflect.TypeOf(event), reflect.TypeOf(event).String(), map[reflect.Type]bool{})
	}
	var names []string
	for _, effect := range []db.Effect{
		db.StartConversation{}, db.RequestSummary{}, db.StopTurns{}, db.DropTurn{}, db.DropFollowUp{}, db.DecideApproval{},
		db.ResumeSession{}, db.IfLast{}, db.SetTitle{}, db.SetProject{}, db.SetMode{}, db.SetModel{}, db.SetEffort{},
		db.SetLang{}, db.SetMention{}, db.SetNotify{}, db.SetDigest{}, db.EndDigest{}, db.SaveMemory{}, db.ForgetMemory{},
		db.GrantAccess{}, db.RevokeAccess{}, db.RevokeRule{},
	} {
		of := reflect.TypeOf(effect)
		names = append(names, of.Name())
		checkData(t, of, of.String(), map[reflect.Type]bool{})
	}
	if all := effectsOf(t); !slices.Equal(slices.Sorted(slices.Values(names)), all) {
		t.Errorf("checked %q, but the effects are %q", names, all)
	}
}

// effectsOf lists the types of effects that package db declares.
func effectsOf(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../db/*.go")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(?m)^func \((?:\w+ )?(\w+)\) apply\(`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range method.FindAllStringSubmatch(string(data), -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
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
