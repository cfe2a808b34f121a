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
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// What happens to a chat is data: it can be kept, and be decided on later or elsewhere.
func TestWhatHappensToAChatIsData(t *testing.T) {
	t.Parallel()
	for _, list := range [][]any{
		{
			commandResult{}, aheadSign{}, chat.Press{}, chat.Change{}, db.Inbound{}, db.Decision{}, db.Settling{},
			db.TurnResult{}, db.Compaction{}, db.Post{},
		},
		allThatHave(t, "apply", "../db", []any{
			db.StartConversation{}, db.RequestSummary{}, db.Happens{}, db.DecideApproval{}, db.ResumeSession{}, db.IfLast{},
			db.SetTitle{}, db.ChangeSettings{}, db.ChangeSchedules{}, db.ChangeMemory{}, db.SetAccess{}, db.RevokeRule{},
		}),
		allThatHave(t, "on", "../internal/convo", []any{
			convo.Acts{}, convo.AskedAgain{}, convo.Asks{}, convo.Begins{}, convo.Claims{}, convo.Decides{}, convo.Due{},
			convo.Ends{}, convo.Joins{}, convo.Loses{}, convo.PutBack{}, convo.Reads{}, convo.Recalls{}, convo.Settles{},
			convo.Sleeps{}, convo.Stops{}, convo.Tells{}, convo.Vanishes{}, convo.Wakes{}, convo.Wants{}, convo.WorksOn{},
		}),
		allThatHave(t, "event", "../internal/claude/stream", []any{
			claude.Started{}, claude.Text{}, claude.Rewind{}, claude.Thinking{}, claude.ToolCall{}, claude.ToolUse{},
			claude.ToolResult{}, claude.ToolAsk{}, claude.ToolAskEnd{}, claude.ToolAllowed{}, claude.ToolDenied{},
			claude.Steered{}, claude.Retrying{}, claude.Compacting{}, claude.Result{}, claude.RateLimit{},
		}),
	} {
		for _, event := range list {
			of := reflect.TypeOf(event)
			checkData(t, of, of.String(), map[reflect.Type]bool{})
		}
	}
}

// allThatHave returns list, after it has checked that these are all types of a package with that method.
func allThatHave(t *testing.T, method, dir string, list []any) []any {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	of := regexp.MustCompile(`(?m)^func \((?:\w+ )?(\w+)\) ` + method + `\(`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range of.FindAllStringSubmatch(string(data), -1) {
			want = append(want, m[1])
		}
	}
	for _, v := range list {
		got = append(got, reflect.TypeOf(v).Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s has %q, not %q", dir, want, got)
	}
	return list
}

// checkData reports what is not data in a type. An interface is none either, since anything may be in it; but the types
// of [db.Effect] and [convo.Event] are known.
func checkData(t *testing.T, of reflect.Type, where string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[of] || of == reflect.TypeFor[db.Effect]() || of == reflect.TypeFor[convo.Event]() {
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
