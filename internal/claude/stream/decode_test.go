package stream

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/racetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// describe is an event in one line.
func describe(ev Event) string {
	switch e := ev.(type) {
	case Text:
		op := "+"
		if e.Whole {
			op = "="
		}
		return fmt.Sprintf("text %d %s %q", e.Block, op, clip(e.Text))
	case Thinking:
		return fmt.Sprintf("thinking + %q", clip(e.Text))
	case ToolUse:
		return fmt.Sprintf("tool %s %s %s", e.ID, e.Name, clip(string(e.Input)))
	case ToolResult:
		return fmt.Sprintf("ToolResult {ID:%s Failed:%v} %q", e.ID, e.Failed, clip(e.Text))
	case Result:
		return fmt.Sprintf("result failure=%q text=%q cost=%.4f usage=%+v model=%s window=%d errors=%d",
			e.Failure, clip(e.Text), e.CostUSD, e.Usage, e.Model, e.Window, len(e.Errors))
	default:
		return strings.TrimPrefix(fmt.Sprintf("%T %+v", ev, ev), "stream.")
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}

// Each recording of the real CLI is decoded into the events of the .golden file beside it.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			var d Decoder
			w := &LineWriter{Emit: func(line []byte) {
				if q, ok := ReadToolAsk(line); ok {
					fmt.Fprintf(&got, "asks %s\n", q.Name)
				}
				for _, ev := range d.Decode(line) {
					fmt.Fprintln(&got, describe(ev))
				}
			}}
			for len(data) > 0 { // in pieces of any length, as from a pipe
				n := min(len(data), 4093)
				_, _ = w.Write(data[:n])
				data = data[n:]
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The text events add up to the answer at the end of the recording.
func TestBlocksGiveTheAnswer(t *testing.T) {
	for name, want := range map[string]string{
		"01-stream-json-partial":     "echo: hello there, please stream several chunks of text",
		"06-disconnect-once":         "this will be cut in the middle of the stream",
		"06-sse-error-once":          "this will be cut in the middle of the stream",
		"abandoned-blocks":           "a whole answer",
		"01-utf-split":               "",
		"06-cut-stream-and-fallback": "",
	} {
		data, err := os.ReadFile("testdata/recordings/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var blocks []string
		var last string
		var d Decoder
		for line := range bytes.Lines(data) {
			for _, ev := range d.Decode(line) {
				switch e := ev.(type) {
				case Rewind:
					blocks = blocks[:e.Block]
				case Text:
					for len(blocks) <= e.Block {
						blocks = append(blocks, "")
					}
					if e.Whole {
						blocks[e.Block] = ""
					}
					blocks[e.Block] += e.Text
				case Result:
					last = e.Text
				}
			}
		}
		if want == "" {
			want = last
		}
		if got := strings.Join(blocks, "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestLongLinesAreDroppedAndTheRestIsRead(t *testing.T) {
	racetest.Skip(t)
	var got []string
	w := &LineWriter{Emit: func(line []byte) { got = append(got, fmt.Sprint(len(line))) }}
	piece := bytes.Repeat([]byte("x"), 1<<20)
	write := func(pieces int) {
		for range pieces {
			_, _ = w.Write(piece)
		}
		_, _ = w.Write([]byte("\n"))
	}
	write(16)
	write(64)
	_, _ = w.Write([]byte("a\n\nbc\n"))
	if want := "16777216 1 2"; strings.Join(got, " ") != want {
		t.Errorf("lengths %v, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/recordings/0[16]*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"type":"assistant","message":{"content":7}}` + "\n[]\n\"x\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Decoder
		blocks := 0
		for line := range bytes.Lines(data) {
			for _, ev := range d.Decode(line) {
				switch e := ev.(type) {
				case Text:
					if e.Block < 0 || e.Block > blocks {
						t.Fatalf("block %d of %d", e.Block, blocks)
					}
					blocks = max(blocks, e.Block+1)
				case Rewind:
					if e.Block < 0 || e.Block > blocks {
						t.Fatalf("rewind to %d of %d", e.Block, blocks)
					}
					blocks = e.Block
				}
			}
		}
	})
}

// A tool is announced once, when its block starts, whether the CLI or the model's server runs it.
func TestAToolIsAnnouncedBeforeItsInput(t *testing.T) {
	var got []string
	var d Decoder
	for _, line := range []string{
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`,
		`{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use",` +
			`"id":"t1","name":"Bash","input":{}}}}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"input_json_delta",` +
			`"partial_json":"{\"com"}}}`,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash",` +
			`"input":{"command":"ls"}}]}}`,
		`{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"server_tool_use",` +
			`"id":"s1","name":"web_search","input":{}}}}`,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"server_tool_use","id":"s1",` +
			`"name":"web_search","input":{}}]}}`,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"web_search_tool_result",` +
			`"tool_use_id":"s1","content":{"type":"web_search_tool_result_error"}}]}}`,
		// not streamed
		`{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}`,
	} {
		for _, ev := range d.Decode([]byte(line)) {
			got = append(got, describe(ev))
		}
	}
	want := []string{
		"ToolCall {ID:t1 Name:Bash}", `tool t1 Bash {"command":"ls"}`,
		"ToolCall {ID:s1 Name:web_search}", "tool s1 web_search {}", `ToolResult {ID:s1 Failed:true} ""`,
		"ToolCall {ID:t2 Name:Read}", "tool t2 Read {}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
