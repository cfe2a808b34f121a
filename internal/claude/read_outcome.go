package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// Outcome is what the CLI's transcript tells about one prompt.
//
// The CLI writes a model's message when it is whole, some 50 ms later: what a killed one did in its last moments is not
// there. So Known and Acted prove what they say; that they are false proves nothing about a CLI that was killed.
type Outcome struct {
	Known bool // the prompt is in the transcript
	Acted bool // a tool was called for it
	Ended bool // the turn came to its own end: with Text as the whole answer, or with Failure
	// what the agent said, as the events of [Process.Run] would have told it: blocks with a blank line between two
	Text string
	// how the turn failed: an error of the model's API, or [FailAborted] when it was interrupted (which is no end of
	// its own)
	Failure Failure
	Model   string // the last that spoke
	Usage   Usage  // of the whole messages that were written
}

// ReadOutcome reads what became of the prompt with that id (see [Process.Run]) in a session that ran in the folder dir.
// A transcript that is not there is an Outcome that knows nothing, not an error. The session must not be running.
func (t Transcripts) ReadOutcome(dir, session, id string) (Outcome, error) {
	path, err := t.find(dir, session)
	if err != nil || path == "" {
		return Outcome{}, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, nil
	} else if err != nil {
		return Outcome{}, fmt.Errorf("recall a prompt: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	o, err := recall(f, id)
	if err != nil {
		return Outcome{}, fmt.Errorf("recall a prompt: %w", err)
	}
	return o, nil
}

// recall reads a transcript from its beginning. It keeps one line, the answer, and 16 bytes for each line.
func recall(f io.Reader, id string) (Outcome, error) {
	br := bufio.NewReaderSize(f, 64<<10)
	r := reader{id: id, seen: map[uuid.UUID]bool{}, messages: map[string]bool{}, open: map[string]bool{}}
	for !r.over {
		line, err := readLine(br)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Outcome{}, err
		}
	}
	return r.outcome(), nil
}

// reader follows one turn through a transcript.
type reader struct {
	id       string             // of the prompt
	seen     map[uuid.UUID]bool // lines so far: when the CLI compacts a session, it writes the newest ones again
	group    string             // what the CLI calls all that belongs to the prompt; known from its line on
	out      Outcome
	blocks   []string
	messages map[string]bool // models' messages so far, by id
	message  string          // the last one
	stop     string          // why it ended; empty = it did not, or something came after it
	open     map[string]bool // its tools that have no result
	over     bool            // another prompt follows
}

func (r *reader) line(line []byte) {
	if !gjson.ValidBytes(line) {
		r.torn(line)
		return
	}
	v := gjson.ParseBytes(line)
	kind := v.Get("type").String()
	if kind != "user" && kind != "assistant" || v.Get("isSidechain").Bool() {
		return
	}
	if id, err := uuid.Parse(v.Get("uuid").String()); err == nil {
		if r.seen[id] {
			return
		}
		r.seen[id] = true
	}
	switch {
	case !r.out.Known:
		r.out.Known = kind == "user" && v.Get("uuid").String() == r.id
		r.group = v.Get("promptId").String()
	case kind == "assistant":
		r.assistant(v)
	default:
		r.user(v)
	}
}

// torn is a line that the end of the CLI, or our limit, has cut. What it said is open.
func (r *reader) torn(line []byte) {
	if !r.out.Known {
		return
	}
	r.stop = ""
	r.out.Acted = r.out.Acted || bytes.Contains(line, []byte(`"tool_use"`))
}

// assistant reads one line of a message: there is one per content block, and each says why the whole message ended.
func (r *reader) assistant(v gjson.Result) {
	msg := v.Get("message")
	if msg.Get("model").String() == "<synthetic>" {
		if v.Get("isApiErrorMessage").Bool() {
			r.out.Failure = recordedFailure(v)
		}
		return // anything else it says by itself closes a turn that was cut, when the session is resumed
	}
	if id := msg.Get("id").String(); id != r.message || id == "" {
		r.message = id
		clear(r.open) // the model is asked again when all of its tools have ended
		if !r.messages[id] {
			r.messages[id] = true
			r.count(msg.Get("usage"))
		}
	}
	r.stop, r.out.Failure, r.out.Model = msg.Get("stop_reason").String(), "", msg.Get("model").String()
	for _, block := range msg.Get("content").Array() {
		switch kind := block.Get("type").String(); {
		case kind == "text":
			if text := block.Get("text").String(); strings.TrimSpace(text) != "" {
				r.blocks = append(r.blocks, text)
			}
		case kind == "tool_use":
			r.out.Acted, r.open[block.Get("id").String()] = true, true
		case isToolUse(kind): // its result is in the same message
			r.out.Acted = true
		}
	}
}

func (r *reader) count(u gjson.Result) {
	r.out.Usage.Input += u.Get("input_tokens").Int()
	r.out.Usage.Output += u.Get("output_tokens").Int()
	r.out.Usage.CacheRead += u.Get("cache_read_input_tokens").Int()
	r.out.Usage.CacheNew += u.Get("cache_creation_input_tokens").Int()
}

// recordedFailure classifies an error that the CLI wrote into the place of an answer.
func recordedFailure(v gjson.Result) Failure {
	if f := classifyText(v.Get("message.content.0.text").String()); f != FailUnknown {
		return f
	}
	if f := failureOf(v.Get("error").String()); f != FailUnknown {
		return f
	}
	return failureOfStatus(v.Get("apiErrorStatus").Int())
}

// interrupted is how the CLI's note that a turn was interrupted begins.
const interrupted = "[Request interrupted by user"

// user reads what the model is told: results of tools, notes of the CLI, or the next prompt.
func (r *reader) user(v gjson.Result) {
	content := v.Get("message.content")
	for _, block := range content.Array() {
		if block.Get("type").String() == "tool_result" {
			delete(r.open, block.Get("tool_use_id").String())
		}
	}
	if group := v.Get("promptId").String(); group != r.group && group != "" || group == "" && !isNote(v) {
		r.over = true
		return
	}
	if strings.HasPrefix(content.Get("0.text").String(), interrupted) {
		r.out.Failure = FailAborted
	}
	r.stop = "" // the model is to answer this
}

// isNote reports whether the CLI itself wrote a line that the model reads as the user's: results of tools, that a turn
// was interrupted, or what it wants the model to know.
func isNote(v gjson.Result) bool {
	return v.Get("isMeta").Bool() || v.Get("isCompactSummary").Bool() ||
		v.Get(`message.content.#(type=="tool_result")`).Exists() ||
		strings.HasPrefix(v.Get("message.content.0.text").String(), interrupted)
}

// outcome is what was found out.
func (r *reader) outcome() Outcome {
	switch r.stop {
	case "end_turn", "stop_sequence", "max_tokens":
		r.out.Ended = r.out.Failure == "" && len(r.open) == 0
	case "refusal":
		r.out.Failure = FailRefused
	}
	if r.out.Failure != "" {
		r.out.Ended = r.out.Failure != FailAborted
	}
	r.out.Text = strings.Join(r.blocks, "\n\n")
	return r.out
}
