package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/racetest"
)

// promptsOf are the prompts of a recorded transcript, newest first.
func promptsOf(data []byte) (ids []string) {
	for line := range bytes.Lines(data) {
		id := gjson.GetBytes(line, "uuid").String()
		if gjson.GetBytes(line, "promptSource").String() == "sdk" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}

func syncState(data []byte, known ...string) (SyncState, error) {
	return verify(bytes.NewReader(data), int64(len(data)), known)
}

// Transcripts of the real CLI: tools, a subagent, a compaction, interrupts, errors, kills. Each ends with a prompt that
// was sent, and is refused if somebody else sent it.
func TestVerifyOfRecordedTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	cut := map[string]bool{"killed-before-answer": true, "killed-in-tool": true, "killed-then-resumed": true}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			data := readTranscript(t, name)
			sent := promptsOf(data)
			if got, err := syncState(data, sent...); err != nil || got.Prompt != sent[0] || got.Whole == cut[name] {
				t.Errorf("with all its prompts: %+v %v", got, err)
			}
			if got, err := syncState(data, sent[0]); err != nil || got.Prompt != sent[0] {
				t.Errorf("with its last prompt: %+v %v", got, err)
			}
			if got, err := syncState(data, uuid.NewString()); !errors.Is(err, errForeign) {
				t.Errorf("with the prompts of another chat: %+v %v", got, err)
			}
			if len(sent) > 1 {
				if got, err := syncState(data, sent[1:]...); !errors.Is(err, errForeign) {
					t.Errorf("somebody else sent the last prompt: %+v %v", got, err)
				}
			}
		})
	}
}

// A file from a backup ends earlier. Wherever it is cut, the last complete prompt counts: tested at every byte around
// the end of a line, and at some in between.
func TestVerifyOfAnEarlierTranscript(t *testing.T) {
	racetest.Skip(t)
	for _, name := range []string{"two-tools", "interrupt-tool", "compaction"} {
		data := readTranscript(t, name)
		sent := promptsOf(data)
		want, whole, ended := "", false, map[string]int{}
		for n := range data {
			if n%11 != 0 && !bytes.ContainsRune(data[max(n-8, 0):min(n+8, len(data))], '\n') {
				continue
			}
			if n > 0 && data[n-1] == '\n' {
				for line := range bytes.Lines(data[:n]) {
					if id := gjson.GetBytes(line, "uuid").String(); slices.Contains(sent, id) {
						want = id
					}
				}
				o, err := readOutcome(bytes.NewReader(data[:n]), want)
				if err != nil {
					t.Fatal(err)
				}
				whole = o.Ended || o.Failure == stream.FailAborted
				ended[want]++
			}
			got, err := syncState(data[:n], sent...)
			if err != nil {
				t.Fatalf("%s, byte %d: %v", name, n, err)
			}
			if next := bytes.IndexByte(data[n:], '\n'); next == 0 {
				continue // the line is complete before its newline
			}
			if name == "compaction" {
				got.Whole = whole // within repeated lines an old answer may look like the new one
			}
			if between := n > 0 && data[n-1] == '\n'; got.Prompt != want || between && got.Whole != whole ||
				got.Whole && !whole {
				t.Fatalf("%s, byte %d: %+v, want %s, whole %v", name, n, got, want, whole)
			}
		}
		if len(ended) < 2 {
			t.Errorf("%s: only %d prompts were compared", name, len(ended))
		}
	}
}

func TestVerifyOfOddLines(t *testing.T) {
	const first, last = "01234567-89ab-cdef-0123-456789abcdef", "11234567-89ab-cdef-0123-456789abcdef"
	said := func(id, group string) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"promptId":%q,"message":{"role":"user","content":"hi"}}`,
			id, group)
	}
	answer := func() string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"message":{"id":"m1","model":"m",`+
			`"stop_reason":"end_turn","content":[{"type":"text","text":"one"}]}}`, uuid.NewString())
	}
	whole := []string{said(first, "p"), answer(), said(last, "q"), answer()}
	for name, tc := range map[string]struct {
		lines []string
		want  SyncState
		err   error
	}{
		"nothing":            {nil, SyncState{}, nil},
		"two turns":          {whole, SyncState{last, true}, nil},
		"without its answer": {whole[:3], SyncState{last, false}, nil},
		"one turn":           {whole[:2], SyncState{first, true}, nil},
		"a torn last line": {append(slices.Clone(whole), `{"type":"user","uuid":"`),
			SyncState{last, false}, nil},
		"a torn and glued line": {append(slices.Clone(whole), `{"type":"user","uuid":"x{"type":"queue-operation"}`),
			SyncState{last, false}, nil},
		"a subagent's prompt": {append(slices.Clone(whole),
			`{"type":"user","isSidechain":true,"uuid":"x","promptId":"z","message":{"content":"do it"}}`),
			SyncState{last, true}, nil},
		"hooks and summaries": {append(slices.Clone(whole), `{"type":"system","subtype":"hook","content":"user"}`,
			`{"type":"summary","summary":"a user"}`, `{"type":"last-prompt"}`), SyncState{last, true}, nil},
		"a note of the CLI": {append(slices.Clone(whole),
			`{"type":"user","isMeta":true,"uuid":"x","promptId":"q","message":{"content":"go on"}}`),
			SyncState{last, false}, nil},
		"said by the CLI itself": {append(slices.Clone(whole), said(uuid.NewString(), "q"), answer()),
			SyncState{last, true}, nil},
		"blank lines": {append(slices.Clone(whole), "", ""), SyncState{last, true}, nil},
		"gone on with elsewhere": {append(slices.Clone(whole), said(uuid.NewString(), "z"), answer()), SyncState{},
			errForeign},
		"of a CLI without groups": {[]string{said(first, ""), answer(), said(last, ""), answer()},
			SyncState{last, true}, nil},
		"gone on without groups": {[]string{said(first, ""), answer(), said(uuid.NewString(), ""), answer()},
			SyncState{}, errForeign},
		"of another chat": {[]string{said(uuid.NewString(), "p"), answer()}, SyncState{}, errForeign},
		"a very long line": {append(slices.Clone(whole),
			`{"type":"user","promptId":"q","message":{"content":[{"type":"tool_result","content":"`+
				strings.Repeat("x", 5*tailBlock)+`"}]}}`, answer()), SyncState{last, true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := syncState([]byte(strings.Join(tc.lines, "\n")), first, last)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%+v %v, want %+v %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// However long a session is, only its last turn is read.
func TestVerifyReadsTheEndOnly(t *testing.T) {
	var long bytes.Buffer
	for range 20_000 {
		fmt.Fprintf(&long, `{"type":"user","uuid":%q,"promptId":"p","message":{"role":"user",`+
			`"content":"words words words words words"}}`+"\n", uuid.NewString())
	}
	last := uuid.NewString()
	fmt.Fprintf(&long, `{"type":"user","uuid":%q,"promptId":"q","message":{"role":"user","content":"hi"}}`+"\n", last)
	f := &countingReader{Reader: bytes.NewReader(long.Bytes())}
	if got, err := verify(f, int64(long.Len()), []string{last}); err != nil || got.Prompt != last {
		t.Fatal(got, err)
	}
	if f.read > 2*tailBlock {
		t.Errorf("%d of %d bytes were read", f.read, long.Len())
	}
}

type countingReader struct {
	*bytes.Reader
	read int
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.read += n
	return n, err
}

// If a turn is larger than what is read, the state is unknown, and not an error.
func TestVerifyGivesUp(t *testing.T) {
	racetest.Skip(t)
	id := uuid.NewString()
	prompt := fmt.Sprintf(`{"type":"user","uuid":%q,"promptId":"q","message":{"role":"user","content":"hi"}}`+"\n", id)
	huge := &sparseFile{head: []byte(prompt), size: tailLimit * 2}
	if got, err := verify(huge, huge.size, []string{id}); got != (SyncState{}) || err != nil {
		t.Errorf("%+v %v", got, err)
	}
	if huge.read > tailLimit {
		t.Errorf("%d bytes were read", huge.read)
	}
}

// sparseFile is a file whose head is followed by blank lines.
type sparseFile struct {
	head       []byte
	size, read int64
}

func (s *sparseFile) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	p[len(p)-1] = '\n'
	if at < int64(len(s.head)) {
		copy(p, s.head[at:])
	}
	s.read += int64(len(p))
	return len(p), nil
}

func TestVerifyWithoutATranscript(t *testing.T) {
	dir := t.TempDir()
	tr := New(filepath.Join(dir, ".claude", "projects"), nil, nil)
	session := uuid.NewString()
	path, err := tr.Path(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want LostCause
	}{
		{"none", func() error { return nil }, LostMissing},
		{"empty", func() error { return os.WriteFile(path, nil, 0o600) }, LostEmpty},
		{"garbage", func() error { return os.WriteFile(path, []byte("garbage\n"), 0o600) }, LostCorrupt},
		{"another chat's", func() error { return os.WriteFile(path, readTranscript(t, "cut"), 0o600) }, LostForeign},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		var lost *LostError
		if got, err := tr.Verify(dir, session, []string{uuid.NewString()}); !errors.As(err, &lost) ||
			lost.Cause != step.want || got != (SyncState{}) {
			t.Errorf("%s: %+v %v", step.name, got, err)
		}
	}
	if got, err := tr.Verify(dir, session, nil); got != (SyncState{}) || err != nil {
		t.Errorf("nothing to compare with: %+v %v", got, err)
	}
}

// The CLI shortens the name of a project that is deeply nested. Its sessions are found anyway.
func TestVerifyInADeepFolder(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, strings.Repeat("deep/", 60))
	data, session := readTranscript(t, "cut"), uuid.NewString()
	path := filepath.Join(home, ".claude", "projects", "shortened-1a2b", session+".jsonl")
	for _, d := range []string{dir, filepath.Dir(path)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tr := New(filepath.Join(home, ".claude", "projects"), nil, nil)
	sent := promptsOf(data)
	if got, err := tr.Verify(dir, session, sent); err != nil || got != (SyncState{
		Prompt: sent[0], Whole: true,
	}) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := tr.Verify(dir, uuid.NewString(), sent); err != nil || got != (SyncState{}) {
		t.Errorf("no such session: %+v %v", got, err)
	}
}

func FuzzVerify(f *testing.F) {
	files, _ := filepath.Glob("testdata/transcripts/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, promptsOf(data)[0])
	}
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		got, err := syncState(data, id)
		if got.Prompt != "" && (got.Prompt != id || err != nil) {
			t.Fatalf("%+v %v", got, err)
		}
		var lines [][]byte
		for line, err := range backwards(bytes.NewReader(data), int64(len(data))) {
			if err != nil || line.at+int64(len(line.text)) > int64(len(data)) {
				t.Fatal(line.at, err)
			}
			lines = append(lines, slices.Clone(line.text))
		}
		slices.Reverse(lines)
		if joined := bytes.Join(lines, []byte("\n")); !bytes.Equal(joined, data) {
			t.Fatalf("%q became %q", data, joined)
		}
	})
}
