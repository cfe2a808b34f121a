package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The conversation of the recorded sessions: prompts and answers, without what the CLI added.
func TestTalkOfRecordedSessions(t *testing.T) {
	t.Parallel()
	question := func(text string) Message { return Message{Text: text} }
	answer := func(text string) Message { return Message{Agent: true, Text: text} }
	begin := []Message{question("我叫小明"), answer("好的，小明，我记住了。"), question("go on")}
	end := []Message{question("我叫什么名字？"), answer("你叫小明。")}
	session := func(answers ...Message) []Message { return slices.Concat(begin, answers, end) }
	for name, want := range map[string][]Message{
		"blank":          session(answer("now")),
		"denied":         session(answer("not allowed")),
		"interrupt":      session(answer("one two")),
		"interrupt-tool": session(answer("let me")),
		"max-tokens":     session(answer("cut off\n\nand on")),
		"refusal":        session(answer("no")),
		"subagent":       session(answer("ask a helper\n\nall done")),
		"thinking":       session(answer("answer")),
		"two-tools":      session(answer("first\n\nsecond")),
		"killed-in-tool": {question("go on"), answer("let me")},
	} {
		f, err := os.Open(filepath.Join("testdata", "transcripts", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readTalk(f)
		if err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Message{}, "ID", "Time")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, m := range got {
			if m.ID == "" || m.Time.IsZero() {
				t.Errorf("%s: without an id or a time: %+v", name, m)
			}
		}
	}
}

func TestTalkOfInvalidSessions(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-work")
	const folder, broken = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	if err := os.MkdirAll(filepath.Join(dir, folder+".jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "{}\nnot JSON\n{\"type\":\"user\",\"uuid\":\"1\",\"message\":{\"content\":\"你好\"}}\n{\"type\":\"user\",\"mess"
	if err := os.WriteFile(filepath.Join(dir, broken+".jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := New(filepath.Join(home, ".claude", "projects"), nil, nil)
	for _, id := range []string{folder, "16fd2706-8baf-433b-82eb-8c7fada847da"} {
		if _, err := all.Talk(id); !errors.Is(err, ErrNoTranscript) {
			t.Errorf("of %s: %v", id, err)
		}
	}
	if _, err := all.Talk("../../secret"); err == nil || !strings.Contains(err.Error(), "session") {
		t.Errorf("of a path: %v", err)
	}
	if got, err := all.Talk(broken); err != nil || len(got) != 1 || got[0].Text != "你好" {
		t.Errorf("of a truncated file: %v, %v", got, err)
	}
}
