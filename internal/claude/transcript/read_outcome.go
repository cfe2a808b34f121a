package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// Outcome is the content of a transcript about one prompt.
//
// The CLI writes a model's message when it is complete, about 50 ms later: the last moments of a killed CLI are
// missing. So if Known and Acted are true, that is proven; if they are false, nothing is proven about a CLI that was
// killed.
//
// A CLI whose bridge has died continues alone. When it needs a permission then, it tells the model that it could not
// ask. What the model does without it does not count as the outcome: people may still be asked when the turn continues.
type Outcome struct {
	Known bool // the prompt is in the transcript
	Acted bool // a tool was called for it
	// one of the tools may have changed something, or its outcome is unknown
	Changed bool
	Alone   bool // a tool needed a permission when nobody could be asked any more
	Ended   bool // the turn ended by itself: with Text as the whole answer, or with Failure
	// the answer as the events of [claude.Process.Run] would have reported it: blocks separated by blank lines
	Text string
	// an error of the model's API, or [stream.FailAborted] if the turn was interrupted (which does not set Ended)
	Failure stream.Failure
	Model   string       // the last one that answered
	Usage   stream.Usage // of the complete messages in the transcript
	// those of the messages passed to the turn that the agent has read; see [claude.Process.Steer]
	Steered []string
}

// ReadOutcome reads the outcome of the prompt with that ID (see [claude.Process.Run]) in a session that ran in the
// folder dir. steered are the IDs of the messages that were passed to its turn, in order. A missing transcript gives an
// empty Outcome and no error. The session must not be running.
func (t Files) ReadOutcome(dir, session, id string, steered ...string) (Outcome, error) {
	return read(t, dir, session, func(f io.Reader) (Outcome, error) { return readOutcome(f, id, steered...) })
}

// read reads the transcript of a session that ran in the folder dir. A missing one gives nothing.
func read[T any](t Files, dir, session string, do func(io.Reader) (T, error)) (got T, err error) {
	path, err := t.find(dir, session)
	if err != nil || path == "" {
		return got, err
	}
	f, err := safepath.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return got, nil
	} else if err != nil {
		return got, fmt.Errorf("read a transcript: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	if got, err = do(io.LimitReader(f, maxTranscript)); err != nil {
		err = fmt.Errorf("read a transcript: %w", err)
	}
	return got, err
}

// seenLines are the lines so far: compacting a session repeats the newest ones.
type seenLines map[uuid.UUID]bool

// repeats reports whether a line was there before.
func (s seenLines) repeats(v gjson.Result) bool {
	id, err := uuid.Parse(v.Get("uuid").String())
	if err != nil || s[id] {
		return err == nil
	}
	s[id] = true
	return false
}

// readOutcome reads a transcript from its beginning. It keeps one line, the answer, and 16 bytes per line in memory.
func readOutcome(f io.Reader, id string, steered ...string) (Outcome, error) {
	r := newOutcomeReader(id, steered...)
	err := eachLine(f, func(line []byte) bool {
		r.line(line)
		return !r.over
	})
	if err != nil {
		return Outcome{}, err
	}
	return r.outcome(), nil
}

// eachLine calls do with the lines of a transcript, until it returns false. A line is valid until do returns.
func eachLine(f io.Reader, do func(line []byte) (more bool)) error {
	br := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := readLine(br)
		if line = bytes.TrimSpace(line); len(line) > 0 && !do(line) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// outcomeReader follows one turn through a transcript.
type outcomeReader struct {
	id       string   // of the prompt
	steers   []string // IDs of the messages passed to its turn that were not found yet
	seen     seenLines
	group    string // the CLI's ID for everything that belongs to the prompt; known from its line on
	out      Outcome
	blocks   []string
	messages map[string]bool // model messages so far, by id
	message  string          // the last one
	stop     string          // stop reason of the last message; empty = none, or something followed
	open     map[string]bool // its tool calls without a result
	changing map[string]bool // tool calls that may have changed something, unless they are refused
	alone    bool            // nobody could be asked for a permission: only the usage counts from here on
	over     bool            // another prompt follows
}

func newOutcomeReader(id string, steered ...string) *outcomeReader {
	return &outcomeReader{
		id: id, steers: steered, seen: seenLines{}, messages: map[string]bool{}, open: map[string]bool{},
		changing: map[string]bool{},
	}
}

// line parses one record of the transcript. Records of subagents are side chains and belong to no answer; a record that
// was written twice counts once.
func (r *outcomeReader) line(line []byte) {
	if !stream.ValidJSON(line) {
		r.truncatedLine(line)
		return
	}
	v := gjson.ParseBytes(line)
	kind := v.Get("type").String()
	if kind == "attachment" && r.out.Known && v.Get("attachment.type").String() == "queued_command" {
		r.recordSteered(v.Get("attachment.source_uuid").String(), false)
		return
	}
	if r.out.Known && r.recordHook(kind, v) {
		return
	}
	if kind != "user" && kind != "assistant" || v.Get("isSidechain").Bool() || r.seen.repeats(v) {
		return
	}
	switch {
	// The answer of a prompt follows it; earlier records belong to earlier prompts.
	case !r.out.Known:
		r.out.Known = kind == "user" && v.Get("uuid").String() == r.id
		r.group = v.Get("promptId").String()
	case kind == "assistant":
		r.assistant(v)
	default:
		r.user(v)
	}
}

// recordHook records that a hook has ended the turn, and reports whether the line is about one.
func (r *outcomeReader) recordHook(kind string, v gjson.Result) bool {
	switch at := v.Get("attachment"); {
	case kind == "system" && stream.IsHookNote(v):
		r.out.Failure = stream.FailHook
	case kind == "attachment" && at.Get("type").String() == "hook_stopped_continuation" &&
		strings.HasSuffix(at.Get("hookEvent").String(), "ToolUse"): // one at the end of a turn leaves the answer as it is
		r.out.Failure = stream.FailHookStop
	default:
		return false
	}
	return true
}

// truncatedLine handles a line that was cut by the end of the CLI, or by our limit. Its content is unknown.
func (r *outcomeReader) truncatedLine(line []byte) {
	if !r.out.Known {
		return
	}
	r.stop = ""
	acted := bytes.Contains(line, []byte(`"tool_use"`))
	r.out.Acted, r.out.Changed = r.out.Acted || acted, r.out.Changed || acted
}

// assistant parses one line of a model message: there is one per content block, and each contains the stop reason of
// the message.
func (r *outcomeReader) assistant(v gjson.Result) {
	msg := v.Get("message")
	if msg.Get("model").String() == "<synthetic>" {
		if v.Get("isApiErrorMessage").Bool() && !r.alone {
			r.out.Failure = recordedFailure(v)
		}
		return // the CLI also closes a turn that was cut off in this way, when it resumes the session
	}
	if id := msg.Get("id").String(); id != r.message || id == "" {
		r.message = id
		clear(r.open) // the model is called again only after all its tools have ended
		if !r.messages[id] {
			r.messages[id] = true
			r.out.Usage = r.out.Usage.Plus(stream.RecordedUsage(msg.Get("usage")))
		}
	}
	if r.alone {
		return
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
			if !stream.Harmless(block.Get("name").String(), []byte(block.Get("input").Raw)) {
				r.changing[block.Get("id").String()] = true
			}
		case stream.IsToolUse(kind): // its result is in the same message
			r.out.Acted, r.out.Changed = true, r.out.Changed || !stream.Harmless(block.Get("name").String(), nil)
		}
	}
}

// recordedFailure classifies an error that the CLI wrote instead of an answer.
func recordedFailure(v gjson.Result) stream.Failure {
	status := v.Get("apiErrorStatus").Int()
	if f := stream.ClassifyText(v.Get("message.content.0.text").String(), status, false); f != stream.FailUnknown {
		return f
	}
	if f := stream.FailureOf(v.Get("error").String()); f != stream.FailUnknown {
		return f
	}
	return stream.FailureOfStatus(status)
}

// interrupted is the beginning of the CLI's note about an interrupted turn.
const interrupted = "[Request interrupted by user"

// user parses input for the model: results of tools, notes of the CLI, or the next prompt.
func (r *outcomeReader) user(v gjson.Result) {
	content := v.Get("message.content")
	for _, block := range content.Array() {
		if block.Get("type").String() == "tool_result" {
			id := block.Get("tool_use_id").String()
			delete(r.open, id)
			if r.alone = r.alone || couldNotAsk(block); wasRefused(block) {
				delete(r.changing, id)
			}
		}
	}
	if r.recordSteered(v.Get("uuid").String(), true) {
		r.group = v.Get("promptId").String()
		return
	}
	if group := v.Get("promptId").String(); group != r.group && group != "" || group == "" && !isNote(v) {
		r.over = true
		return
	}
	if strings.HasPrefix(content.Get("0.text").String(), interrupted) {
		r.out.Failure = stream.FailAborted
	}
	r.stop = "" // the model has to answer this
}

// couldNotAsk reports whether a tool was refused because the CLI's input had ended before anybody decided.
func couldNotAsk(result gjson.Result) bool {
	content := result.Get("content")
	return result.Get("is_error").Bool() && strings.HasPrefix(
		cmp.Or(content.Get("0.text").String(), content.String()), "Tool permission request failed: ")
}

// wasRefused reports whether a result says that the CLI has not run the tool.
func wasRefused(result gjson.Result) bool {
	content := result.Get("content")
	text := cmp.Or(content.Get("0.text").String(), content.String())
	return stream.ToolResult{Failed: result.Get("is_error").Bool(), Text: text}.Refused()
}

// recordSteered records that the agent reads a message that was passed to the turn, and reports whether it is one.
// Those that it reads together at the end of its answer are one line with the ID of the last one: they were sent in
// this order.
func (r *outcomeReader) recordSteered(id string, together bool) bool {
	if slices.Contains(r.out.Steered, id) { // it is recorded in both forms
		return true
	}
	i := slices.Index(r.steers, id)
	if i < 0 {
		return false
	}
	from := i
	if together {
		from = 0
	}
	r.out.Steered = append(r.out.Steered, r.steers[from:i+1]...)
	r.steers = slices.Delete(slices.Clone(r.steers), from, i+1)
	r.stop = "" // the model has to answer this
	return true
}

// isNote reports whether a line with the user role was written by the CLI itself: a tool result, an interruption, the
// end of a background task, or information for the model.
func isNote(v gjson.Result) bool {
	return v.Get("isMeta").Bool() || v.Get("origin.kind").String() == "task-notification" ||
		v.Get("isCompactSummary").Bool() ||
		v.Get(`message.content.#(type=="tool_result")`).Exists() ||
		strings.HasPrefix(v.Get("message.content.0.text").String(), interrupted)
}

// outcome is the result.
func (r *outcomeReader) outcome() Outcome {
	switch r.stop {
	case "end_turn", "stop_sequence", "max_tokens":
		r.out.Ended = r.out.Failure == "" && len(r.open) == 0
	case "refusal":
		r.out.Failure = stream.FailRefused
	}
	if r.out.Failure != "" {
		r.out.Ended = r.out.Failure != stream.FailAborted
	}
	r.out.Changed, r.out.Alone = r.out.Changed || len(r.changing) > 0, r.alone
	r.out.Text = strings.Join(r.blocks, "\n\n")
	return r.out
}
