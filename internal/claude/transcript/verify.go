package transcript

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// SyncState is how far a session goes, according to the end of its transcript. The zero SyncState means that nothing
// was compared.
type SyncState struct {
	Prompt string // the last known prompt in the session
	Whole  bool   // the outcome of that prompt is there as well: an answer, or the reason why there is none
}

// Verify compares a session that ran in the folder dir with the prompts that were sent to it (see [claude.Process.Run]).
// It returns a [LostError] if the transcript is missing or unreadable, or ends with an unknown prompt. Without prompts,
// or if the end of the transcript is inconclusive, the SyncState is zero. The session must not be running.
//
// It reads only the last turn, from the end, so a long transcript costs no more than a short one.
func (t Files) Verify(dir, session string, prompts []string) (SyncState, error) {
	if err := t.check(dir, session); err != nil || len(prompts) == 0 {
		return SyncState{}, err
	}
	path, err := t.find(dir, session)
	if err != nil || path == "" {
		return SyncState{}, err // check has accepted it: the CLI decides
	}
	f, err := safepath.Open(path)
	if err != nil {
		return SyncState{}, &LostError{session, LostCorrupt}
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return SyncState{}, &LostError{session, LostCorrupt}
	}
	s, err := verify(f, info.Size(), prompts)
	switch {
	case errors.Is(err, errForeign):
		return SyncState{}, &LostError{session, LostForeign}
	case err != nil:
		return SyncState{}, &LostError{session, LostCorrupt}
	}
	return s, nil
}

// errForeign means that a transcript ends with an unknown prompt.
var errForeign = errors.New("an unknown prompt")

// verify finds the last prompt of a transcript. The CLI gives a prompt and its own information about it the same group
// ID. Compacting a session repeats its newest prompts in the group of the newest. A command that somebody has typed, as
// /exit, and to which no model has said anything, is none.
func verify(f io.ReaderAt, size int64, prompts []string) (SyncState, error) {
	known := make(map[string]bool, len(prompts))
	for _, id := range prompts {
		known[id] = true
	}
	unknown, group := false, "" // an unknown prompt was found, in this group
	answered := false           // a model has said something to the line that is read next
	for line, err := range backwards(f, size) {
		if err != nil {
			return SyncState{}, err
		}
		v, ok := promptOf(line.text)
		if !ok {
			answered = answered || isAnswer(line.text)
			continue
		}
		if !answered && !known[v.Get("uuid").String()] && isLocalCommand(textOf(v.Get("message.content"))) {
			continue
		}
		answered = false
		if !known[v.Get("uuid").String()] && isBash(textOf(v.Get("message.content"))) {
			return SyncState{}, errForeign
		}
		its := v.Get("promptId").String()
		if unknown && (its != group || its == "") {
			return SyncState{}, errForeign
		}
		if id := v.Get("uuid").String(); known[id] {
			did, err := readOutcome(io.NewSectionReader(f, line.at, size-line.at), id)
			return SyncState{Prompt: id, Whole: did.Ended || did.Failure == stream.FailAborted}, err
		}
		unknown, group = true, its
	}
	if unknown {
		return SyncState{}, errForeign
	}
	return SyncState{}, nil
}

// isAnswer reports whether a line is that of a model.
func isAnswer(line []byte) bool {
	if !bytes.Contains(line, []byte(`"assistant"`)) || !stream.ValidJSON(line) {
		return false
	}
	v := gjson.ParseBytes(line)
	return v.Get("type").String() == "assistant" && v.Get("message.model").String() != "<synthetic>"
}

// promptOf parses a line that may be a prompt. Lines certainly written by the CLI itself are not prompts.
func promptOf(line []byte) (gjson.Result, bool) {
	if !bytes.Contains(line, []byte(`"user"`)) || !stream.ValidJSON(line) {
		return gjson.Result{}, false
	}
	v := gjson.ParseBytes(line)
	if v.Get("type").String() != "user" || v.Get("isSidechain").Bool() {
		return gjson.Result{}, false
	}
	return v, !isNote(v)
}

// tailBlock is how much of a transcript is read at once, and tailLimit how much at most, in bytes: more than a working
// day's turns.
const (
	tailBlock = 64 << 10
	tailLimit = 64 << 20
)

// lineAt is a line of a file and its position.
type lineAt struct {
	text []byte
	at   int64
}

// backwards yields the lines of a file, the last one first, up to tailLimit bytes. The text of a line is valid until
// the next one.
func backwards(f io.ReaderAt, size int64) iter.Seq2[lineAt, error] {
	return func(yield func(lineAt, error) bool) {
		var buf []byte // read and not yielded yet; it ends where the last yielded line begins
		for at := size; ; {
			for i := bytes.LastIndexByte(buf, '\n'); i >= 0; i = bytes.LastIndexByte(buf, '\n') {
				if !yield(lineAt{buf[i+1:], at + int64(i) + 1}, nil) {
					return
				}
				buf = buf[:i]
			}
			if at == 0 {
				yield(lineAt{buf, 0}, nil)
				return
			}
			// The block doubles each time, so that a long line is copied only a few times.
			step := min(at, max(tailBlock, int64(len(buf))))
			if size-at+step > tailLimit {
				return
			}
			grown := make([]byte, step, step+int64(len(buf)))
			if _, err := f.ReadAt(grown, at-step); err != nil {
				yield(lineAt{}, err)
				return
			}
			buf, at = append(grown, buf...), at-step
		}
	}
}
