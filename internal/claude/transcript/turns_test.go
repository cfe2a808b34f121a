package transcript

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/stream"
)

// turnsOf writes a transcript and returns the turns in it after the known prompts.
func turnsOf(t *testing.T, known []string, lines ...string) []Turn {
	t.Helper()
	root, dir, session := t.TempDir(), t.TempDir(), uuid.NewString()
	files := New(root, func(do func() error) error { return do() }, nil)
	path, err := files.Path(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := files.Turns(dir, session, known)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const (
	sent     = `{"type":"user","promptId":"g1","uuid":"00000000-0000-4000-8000-000000000001","entrypoint":"sdk-cli","timestamp":"2026-11-29T13:30:59Z","message":{"role":"user","content":"from the bridge"}}`
	answered = `{"type":"assistant","uuid":"00000000-0000-4000-8000-000000000002","message":{"id":"m1","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"one"}]}}`
	status   = `{"type":"user","promptId":"g2","uuid":"00000000-0000-4000-8000-000000000003","entrypoint":"cli","message":{"role":"user","content":"<command-name>/status</command-name><command-args></command-args>"}}`
	typed    = `{"type":"user","promptId":"g3","uuid":"00000000-0000-4000-8000-000000000004","entrypoint":"cli","timestamp":"2026-11-29T13:31:03Z","message":{"role":"user","content":"typed"}}`
	used     = `{"type":"assistant","uuid":"00000000-0000-4000-8000-000000000005","message":{"id":"m2","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`
	more     = `{"type":"attachment","uuid":"00000000-0000-4000-8000-000000000006","attachment":{"type":"queued_command","prompt":"and more"}}`
	result   = `{"type":"user","promptId":"g3","uuid":"00000000-0000-4000-8000-000000000007","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a.txt"}]}}`
	ended    = `{"type":"assistant","uuid":"00000000-0000-4000-8000-000000000008","timestamp":"2026-11-29T13:31:09Z","message":{"id":"m3","model":"m","stop_reason":"end_turn","usage":{"input_tokens":5},"content":[{"type":"text","text":"two"}]}}`
	own      = `{"type":"user","promptId":"g4","uuid":"00000000-0000-4000-8000-000000000009","entrypoint":"cli","message":{"role":"user","content":"<command-name>/review</command-name><command-args>it</command-args>"}}`
	reviewed = `{"type":"assistant","uuid":"00000000-0000-4000-8000-00000000000a","message":{"id":"m4","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"three"}]}}`
	begun    = `{"type":"user","promptId":"g5","uuid":"00000000-0000-4000-8000-00000000000b","entrypoint":"cli","message":{"role":"user","content":"going on"}}`
)

// What the CLI has carried out by itself at the end does not make a session another one; what a model has answered does.
func TestACommandOfTheCLIIsNoUnknownPrompt(t *testing.T) {
	t.Parallel()
	known := []string{"00000000-0000-4000-8000-000000000001"}
	for _, tc := range []struct {
		lines []string
		err   error
	}{
		{[]string{sent, answered, status}, nil}, {[]string{sent, answered, own, reviewed}, errForeign},
		{[]string{sent, answered, own, reviewed, status}, errForeign}, {[]string{sent, answered, status, typed, ended}, errForeign},
	} {
		text := strings.Join(tc.lines, "\n") + "\n"
		got, err := verify(strings.NewReader(text), int64(len(text)), known)
		if err != tc.err || err == nil && (got.Prompt != known[0] || !got.Whole) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestTurnsAfterTheKnownOnes(t *testing.T) {
	t.Parallel()
	all := []string{sent, answered, status, typed, used, more, result, ended, typed, own, reviewed, begun}
	got := turnsOf(t, []string{"00000000-0000-4000-8000-000000000001"}, all...)
	if len(got) != 3 {
		t.Fatalf("turns %+v", got)
	}
	first := got[0]
	if first.Text != "typed\n\nand more" || !first.Typed || !first.Ended || first.Outcome.Text != "two" || first.Usage.Input != 5 ||
		first.Asked.IsZero() || first.Updated.Sub(first.Asked).Seconds() != 6 || len(first.Tools) != 2 {
		t.Errorf("the first one: %+v", first)
	}
	if use, ok := first.Tools[0].(stream.ToolUse); !ok || use.Name != "Bash" || !bytes.Contains(use.Input, []byte("ls")) {
		t.Errorf("tool %+v", first.Tools[0])
	}
	if res, ok := first.Tools[1].(stream.ToolResult); !ok || res.ID != "t1" || res.Text != "a.txt" {
		t.Errorf("result %+v", first.Tools[1])
	}
	if got[1].Text != "/review it" || got[1].Outcome.Text != "three" || got[2].Text != "going on" || got[2].Ended {
		t.Errorf("the others: %+v", got[1:])
	}
	if got := turnsOf(t, nil, all...); len(got) != 4 || got[0].Typed {
		t.Errorf("without known prompts: %+v", got)
	}
	if got := turnsOf(t, []string{"another"}, all...); got != nil {
		t.Errorf("of another transcript: %+v", got)
	}
	if got := turnsOf(t, nil, `{`, `[1]`, `{"type":"user","message":{"content":{"x":[]}}}`, begun[:60]); len(got) != 0 {
		t.Errorf("of no transcript: %+v", got)
	}
}

// What is typed behind /clear is a prompt of its own, also if the CLI takes both for one.
func TestAPromptBehindACommandOfTheCLI(t *testing.T) {
	t.Parallel()
	line := func(id, content string) string {
		return `{"type":"user","promptId":"g","uuid":"00000000-0000-4000-8000-0000000000` + id + `","entrypoint":"cli","message":{"role":"user","content":` + content + `}}`
	}
	got := turnsOf(t, nil, line("21", `"<command-name>/clear</command-name>"`), line("22", `"<local-command-stdout>x</local-command-stdout>"`),
		line("23", `"typed after"`), used, line("24", `[{"type":"tool_result","tool_use_id":"t1","content":"a.txt"}]`), ended)
	if len(got) != 1 || got[0].Text != "typed after" || got[0].Outcome.Text != "two" || len(got[0].Tools) != 2 {
		t.Errorf("turns %+v", got)
	}
}

// A command behind "!" is a turn of its own, and prompts that have waited together are one, also as CLI 2.1.197 groups them.
func TestWhatIsTypedTogether(t *testing.T) {
	t.Parallel()
	line := func(group, id, content string) string {
		return `{"type":"user","promptId":"` + group + `","uuid":"00000000-0000-4000-8000-0000000000` + id + `","entrypoint":"cli","message":{"role":"user","content":"` + content + `"}}`
	}
	says := func(text string) string {
		return `{"type":"assistant","message":{"id":"` + text + `","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	for _, group := range []string{"g1", "g2"} { // 2.1.197, and 2.1.332
		lines := []string{line("g1", "31", "first"), says("one"), line(group, "32", "<bash-input>ls</bash-input>"),
			line(group, "33", "<bash-stdout>a.txt</bash-stdout><bash-stderr>no</bash-stderr>"), says("two")}
		got := turnsOf(t, nil, append(lines, line("g3", "34", "third"), line("g3", "35", "and more"), says("three"))...)
		if len(got) != 3 || got[0].Text != "first" || !got[0].Ended || got[1].Text != "! ls" || got[1].Outcome.Text != "two" || !got[1].Ended ||
			got[2].Text != "third\n\nand more" {
			t.Fatalf("%s: turns %+v", group, got)
		}
		for known, want := range map[string]int{"31": 2, "32": 1, "34": 0} { // what is imported is not imported again
			left := turnsOf(t, []string{"00000000-0000-4000-8000-0000000000" + known}, append(slices.Clip(lines), line("g3", "34", "third"), line("g3", "35", "and more"), says("three"))...)
			if len(left) != want {
				t.Errorf("%s: turns after %s: %+v", group, known, left)
			}
		}
		if use, result := got[1].Tools[0].(stream.ToolUse), got[1].Tools[1].(stream.ToolResult); string(use.Input) != `{"command":"ls"}` ||
			result.ID != use.ID || result.Text != "a.txt\nno" {
			t.Errorf("%s: tools %+v", group, got[1].Tools)
		}
		text := strings.Join(lines, "\n") + "\n"
		known := []string{"00000000-0000-4000-8000-000000000031"}
		if _, err := verify(strings.NewReader(text), int64(len(text)), known); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", group, err)
		}
		known = append(known, "00000000-0000-4000-8000-000000000032")
		if got, err := verify(strings.NewReader(text), int64(len(text)), known); err != nil || got.Prompt != known[1] || !got.Whole {
			t.Errorf("%s: %+v, %v", group, got, err)
		}
	}
}

// The sessions that people have begun are those of the newest transcripts; any one of them is found by its ID.
func TestSessions(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), t.TempDir()
	files := New(root, func(do func() error) error { return do() }, nil)
	oldest := ""
	for i := range 30 {
		id := uuid.NewString()
		path, err := files.Path(dir, id)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(typed+"\n"), 0o600)
		}
		day := time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)
		if err == nil {
			err = os.Chtimes(path, day, day)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			oldest = id
		}
	}
	for id, want := range map[string]int{"": 20, oldest: 1, uuid.NewString(): 0} {
		if got, err := files.Sessions(dir, id); err != nil || len(got) != want || id != "" && want == 1 && got[0].ID != id {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}
