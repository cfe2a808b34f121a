package transcript

import (
	"io"
	"slices"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// ReadUnasked reads the outcome of the turns that the agent started by itself at the end of a session that ran in the
// folder dir, and that nobody has read. consumed are the IDs of the last model messages of such turns that were read;
// see [stream.Result.Message]. Anything before a prompt was read by the turn of that prompt at the latest. If there are
// several unread turns, the outcome is that of all of them together.
//
// For a missing transcript, and for the session, see [Files.ReadOutcome].
func (t Files) ReadUnasked(dir, session string, consumed ...string) (Outcome, error) {
	return read(t, dir, session, func(f io.Reader) (Outcome, error) { return readUnasked(f, consumed) })
}

// readUnasked reads a transcript from its beginning, as readOutcome does.
func readUnasked(f io.Reader, consumed []string) (Outcome, error) {
	r := unaskedReader{consumed: consumed, seen: seenLines{}}
	err := eachLine(f, func(line []byte) bool {
		r.line(line)
		return true
	})
	if err != nil || r.turn == nil {
		return Outcome{}, err
	}
	return r.turn.outcome(), nil
}

// unaskedReader follows the turns that the agent starts by itself through a transcript.
type unaskedReader struct {
	consumed []string
	seen     seenLines
	group    string         // promptId of the last user line
	turn     *outcomeReader // the unread turns; nil = none
}

func (r *unaskedReader) line(line []byte) {
	if !stream.ValidJSON(line) {
		if r.turn != nil {
			r.turn.line(line)
		}
		return
	}
	v := gjson.ParseBytes(line)
	kind := v.Get("type").String()
	if kind != "user" && kind != "assistant" || v.Get("isSidechain").Bool() || r.seen.repeats(v) {
		return
	}
	group := v.Get("promptId").String()
	switch {
	case kind == "assistant":
		if slices.Contains(r.consumed, v.Get("message.id").String()) {
			r.turn = nil
		}
	case group == r.group && group != "" || group == "" && isNote(v): // it belongs to the turn that began before
	default:
		r.beginTurn(v, group)
		return
	}
	if r.turn != nil {
		r.turn.line(line)
	}
}

// beginTurn handles the first line of a turn. A line that tells the agent about the end of a task is not a user's
// prompt.
func (r *unaskedReader) beginTurn(v gjson.Result, group string) {
	r.group = group
	switch {
	case v.Get("origin.kind").String() != "task-notification":
		r.turn = nil
	case r.turn == nil:
		r.turn = newOutcomeReader("")
		r.turn.out.Known, r.turn.group = true, group
	default:
		r.turn.group, r.turn.stop = group, "" // the model has to answer this
	}
}
