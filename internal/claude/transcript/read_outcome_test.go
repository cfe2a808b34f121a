package transcript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/racetest"
)

// asked is the id of the prompt with that text.
func asked(data []byte, text string) string {
	for line := range bytes.Lines(data) {
		if gjson.GetBytes(line, "message.content").String() == text {
			return gjson.GetBytes(line, "uuid").String()
		}
	}
	return ""
}

func readTranscript(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/transcripts/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Transcripts of the real CLI, most of them with a prompt before and after the one in question.
func TestReadOutcome(t *testing.T) {
	usage := func(in, out, created, read int64) stream.Usage {
		return stream.Usage{Input: in, Output: out, CacheRead: read, CacheNew: created}
	}
	const model = "claude-opus-4-8"
	for _, tc := range []struct {
		name, prompt string
		want         Outcome
	}{
		{"thinking", "", Outcome{Ended: true, Text: "answer", Model: model, Usage: usage(2062, 3, 2060, 16486)}},
		{"two-tools", "", Outcome{
			Acted: true, Ended: true, Text: "first\n\nsecond", Model: model, Usage: usage(4135, 24, 4132, 33064),
		}},
		{"subagent", "", Outcome{
			Acted: true, Changed: true, Ended: true, Text: "ask a helper\n\nall done", Model: model,
			Usage: usage(4137, 23, 4134, 33081),
		}},
		{"denied", "", Outcome{
			Acted: true, Changed: true, Ended: true, Text: "not allowed", Model: model, Usage: usage(4130, 14, 4126, 33020),
		}},
		{"blank", "", Outcome{Ended: true, Text: "now", Model: model, Usage: usage(4126, 2, 4124, 32998)}},
		{"max-tokens", "", Outcome{
			Ended: true, Text: "cut off\n\nand on", Model: model, Usage: usage(4131, 4, 4127, 33027),
		}},
		{"cut", "", Outcome{Ended: true, Text: "a whole answer", Model: model, Usage: usage(2061, 4, 2060, 16484)}},
		{"cut-block", "", Outcome{
			Ended: true, Text: "first block", Failure: stream.FailServer, Model: model, Usage: usage(2062, 1, 2060, 16486),
		}},
		{"retried", "", Outcome{Ended: true, Text: "fine", Model: model, Usage: usage(2062, 1, 2060, 16486)}},
		{"bad-key", "", Outcome{Ended: true, Failure: stream.FailKey}},
		{"refusal", "", Outcome{
			Ended: true, Text: "no", Failure: stream.FailRefused, Model: model, Usage: usage(2062, 1, 2060, 16486),
		}},
		{"error-after-tool", "", Outcome{
			Acted: true, Ended: true, Text: "let me", Failure: stream.FailRequest, Model: model,
			Usage: usage(2062, 11, 2060, 16486),
		}},
		{"interrupt", "", Outcome{
			Text: "one two ", Failure: stream.FailAborted, Model: model, Usage: usage(2062, 1, 2060, 16486),
		}},
		{"interrupt-tool", "", Outcome{
			Acted: true, Changed: true, Text: "let me", Failure: stream.FailAborted, Model: model, Usage: usage(2062, 12, 2060, 16486),
		}},
		{"compaction", "", Outcome{
			Ended: true, Text: "after compaction", Model: model, Usage: usage(2134, 4, 2132, 17063),
		}},
		{"compaction", "我叫小明", Outcome{
			Ended: true, Text: "好的，小明，我记住了。", Model: model, Usage: usage(2058, 7, 2057, 16456),
		}},
		{"compaction", "我叫什么名字？", Outcome{
			Ended: true, Text: "我不知道你的名字。", Model: model, Usage: usage(2136, 6, 2136, 17088),
		}},
		{"killed-before-answer", "", Outcome{}},
		{"killed-in-tool", "", Outcome{Acted: true, Changed: true, Text: "let me", Model: model, Usage: usage(2057, 13, 2057, 16456)}},
		{"killed-then-resumed", "second", Outcome{}},
		{"killed-then-resumed", "third", Outcome{
			Ended: true, Text: "You said: “third”. Earlier messages: 3 in the session, 0 in the history.", Model: model,
			Usage: usage(2065, 19, 2063, 16511),
		}},
	} {
		t.Run(tc.name+" "+tc.prompt, func(t *testing.T) {
			if tc.prompt == "" {
				tc.prompt = "go on"
			}
			data := readTranscript(t, tc.name)
			tc.want.Known = true
			got, err := readOutcome(bytes.NewReader(data), asked(data, tc.prompt))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Wherever the file is cut, a turn has ended only if its last message is complete, and it never looks untouched after a
// tool call.
func TestReadOutcomeOfATruncatedTranscript(t *testing.T) {
	racetest.Skip(t)
	data := readTranscript(t, "two-tools")
	id := asked(data, "go on")
	first, last := bytes.Index(data, []byte(`"id":"toolu_`)), bytes.Index(data, []byte(`"second"`))
	end := last + bytes.IndexByte(data[last:], '\n')
	for n := range data {
		got, err := readOutcome(bytes.NewReader(data[:n]), id)
		if err != nil {
			t.Fatal(err)
		}
		if got.Ended && n < end {
			t.Fatalf("ended at byte %d of %d", n, end)
		}
		if whole := n == end || data[max(n, 1)-1] == '\n'; whole && !got.Ended && n >= end {
			t.Fatalf("the ended turn is open again at byte %d: %+v", n, got)
		}
		if name := bytes.Index(data[first:], []byte(`"tool_use"`)); n > first+name+10 && !got.Acted {
			t.Fatalf("no tool at byte %d", n)
		}
	}
}

func TestReadOutcomeOfOddLines(t *testing.T) {
	racetest.Skip(t)
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	prompt := `{"type":"user","promptId":"p","uuid":"` + id + `","message":{"role":"user","content":"hi"}}`
	block := func(uuid, message, stop, content string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"message":{"id":%q,"model":"m","stop_reason":%q,`+
			`"content":[%s],"usage":{"output_tokens":5}}}`,
			uuid, message, stop, content)
	}
	text := func(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }
	a, b := uuid.NewString(), uuid.NewString()
	for name, tc := range map[string]struct {
		lines []string
		want  Outcome
	}{
		"a line that is there twice": {
			[]string{prompt, block(a, "m1", "end_turn", text("one")), prompt, block(a, "m1", "end_turn", text("one"))},
			Outcome{Known: true, Ended: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"two blocks of a message, one of them alike": {
			[]string{prompt, block(a, "m1", "end_turn", text("one")), block(b, "m1", "end_turn", text("one"))},
			Outcome{Known: true, Ended: true, Text: "one\n\none", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"a subagent's lines": {
			[]string{
				prompt, `{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"tool_use","id":"t"}]}}`,
				`{"type":"user","isSidechain":true,"message":{"content":"do it"}}`,
				block(a, "m1", "end_turn", text("one")),
			},
			Outcome{Known: true, Ended: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"a torn line that was glued to the next": {
			[]string{
				prompt, block(a, "m1", "end_turn", text("one")), `{"type":"assistant","mess{"type":"queue-operation"}`,
				`{"type":"user","uuid":"x","promptId":"q"}`,
			},
			Outcome{Known: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"a tool of the model's server": {
			[]string{prompt, block(a, "m1", "end_turn", `{"type":"server_tool_use","id":"s"},`+text("one"))},
			Outcome{Known: true, Acted: true, Changed: true, Ended: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"an open tool": {
			[]string{prompt, block(a, "m1", "end_turn", `{"type":"tool_use","id":"t"}`)},
			Outcome{Known: true, Acted: true, Changed: true, Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"a very long line": {
			[]string{
				prompt, `{"type":"user","promptId":"p","message":{"content":"` + strings.Repeat("x", stream.MaxLine) + `"}}`,
				block(a, "m1", "end_turn", text("one")),
			},
			Outcome{Known: true, Ended: true, Text: "one", Model: "m", Usage: stream.Usage{Output: 5}},
		},
		"no such prompt": {[]string{block(a, "m1", "end_turn", text("one"))}, Outcome{}},
		"nothing":        {nil, Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readOutcome(strings.NewReader(strings.Join(tc.lines, "\n")), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadOutcomeWithoutATranscript(t *testing.T) {
	dir := t.TempDir()
	tr := New(filepath.Join(dir, ".claude", "projects"), nil, nil)
	for _, project := range []string{dir, filepath.Join(dir, "gone")} {
		if got, err := tr.ReadOutcome(project, uuid.NewString(), uuid.NewString()); err != nil ||
			!reflect.DeepEqual(got, Outcome{}) {
			t.Errorf("%+v %v", got, err)
		}
	}
	if _, err := tr.ReadOutcome(dir, "../*", uuid.NewString()); err == nil {
		t.Error("a session that is no UUID was looked for")
	}
}

func FuzzReadOutcome(f *testing.F) {
	files, _ := filepath.Glob("testdata/transcripts/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, asked(data, "go on"))
	}
	f.Add([]byte(`{"type":"user","uuid":7,"message":[]}`+"\n[]\n7\n"+`{"type":"assistant","message":{"content":{}}}`),
		"7")
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		got, err := readOutcome(bytes.NewReader(data), id)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Known && !reflect.DeepEqual(got, Outcome{}) {
			t.Fatalf("an unknown prompt has %+v", got)
		}
		if got.Ended && got.Failure == stream.FailAborted {
			t.Fatal("interrupted, and ended")
		}
	})
}
