package transcript

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// Turn is a prompt in a transcript, and what has become of it.
type Turn struct {
	Outcome

	ID      string // of the prompt
	Text    string // of the prompt, with what was said while the agent worked
	Typed   bool   // in a terminal
	Asked   time.Time
	Updated time.Time // of its last line
	Tools   []stream.Event
}

// Terminal is what the CLI calls the way in of what people type.
const Terminal = "cli"

// Turns lists the turns of a session that ran in the folder dir which came after the last of the known prompts, whoever
// asked. Without known prompts it lists all; if none of them is there, the transcript is another one, and it returns an
// empty list. What the CLI has answered by itself, as /status, is no turn. Of the last turn the end may be missing.
func (t Files) Turns(dir, session string, known []string) ([]Turn, error) {
	return t.turns(dir, session, known, false)
}

// turns is Turns, or reads only the first one.
func (t Files) turns(dir, session string, known []string, first bool) ([]Turn, error) {
	return read(t, dir, session, func(f io.Reader) ([]Turn, error) {
		r := turnsReader{known: known, found: len(known) == 0, seen: seenLines{}}
		err := eachLine(f, func(line []byte) bool {
			r.line(line)
			return !first || len(r.all) == 0
		})
		if r.end(); err != nil || !r.found {
			return nil, err
		}
		return r.all, nil
	})
}

// turnsReader follows the turns of a transcript.
type turnsReader struct {
	known []string
	found bool // one of them is there
	seen  seenLines
	all   []Turn
	now   *Turn          // the one that goes on; nil = none
	reads *outcomeReader // its outcome
	local bool           // it is a command, which the CLI may carry out by itself
}

func (r *turnsReader) line(line []byte) {
	if !stream.ValidJSON(line) {
		if r.now != nil {
			r.reads.line(line)
		}
		return
	}
	v := gjson.ParseBytes(line)
	if v.Get("isSidechain").Bool() || r.seen.repeats(v) {
		return
	}
	kind, group, said := v.Get("type").String(), v.Get("promptId").String(), ""
	if kind == "user" && !isNote(v) {
		said = textOf(v.Get("message.content"))
		if r.now == nil || group == "" || group != r.reads.group || r.isPrompt(said) || isBash(said) {
			r.begin(v, said)
			said = ""
		}
	}
	if r.now == nil {
		return
	}
	switch {
	case strings.HasPrefix(said, "<bash-stdout>"):
		text := strings.TrimSpace(tagged(said, "bash-stdout") + "\n" + tagged(said, "bash-stderr"))
		r.now.Tools = append(r.now.Tools, stream.ToolResult{ID: r.now.ID, Text: text})
	case said != "" && !r.local && !isLocalCommand(said): // CLI 2.1.197 takes prompts that have waited together for one
		r.now.Text += "\n\n" + said
	}
	r.reads.line(line)
	if at, err := time.Parse(time.RFC3339Nano, v.Get("timestamp").String()); err == nil {
		r.now.Updated = at
	}
	switch {
	case kind == "assistant":
		for _, block := range v.Get("message.content").Array() {
			if block.Get("type").String() == "tool_use" {
				r.now.Tools = append(r.now.Tools, stream.ToolUse{
					ID: block.Get("id").String(), Name: block.Get("name").String(), Input: []byte(block.Get("input").Raw),
				})
			}
		}
	case kind == "user":
		for _, block := range v.Get("message.content").Array() {
			if block.Get("type").String() == "tool_result" {
				r.now.Tools = append(r.now.Tools, stream.ToolResult{
					ID: block.Get("tool_use_id").String(), Failed: block.Get("is_error").Bool(), Text: textOf(block.Get("content")),
				})
			}
		}
	case kind == "attachment" && v.Get("attachment.type").String() == "queued_command":
		if said := textOf(v.Get("attachment.prompt")); said != "" && !isLocalCommand(said) {
			r.now.Text += "\n\n" + said
		}
	}
}

// isPrompt reports whether a line is the prompt behind a command that the CLI has carried out by itself. CLI 2.1.197 takes
// /clear and the next prompt for one.
func (r *turnsReader) isPrompt(text string) bool {
	return r.local && len(r.now.Tools) == 0 && text != "" && !isLocalCommand(text)
}

// isBash reports whether a prompt is a command behind "!", which the CLI runs by itself. A model may say something about it.
// CLI 2.1.197 takes it for a part of the prompt before.
func isBash(prompt string) bool { return strings.HasPrefix(prompt, "<bash-input>") }

// begin begins the turn of a prompt.
func (r *turnsReader) begin(v gjson.Result, text string) {
	r.end()
	id := v.Get("uuid").String()
	var tools []stream.Event
	if r.local = isLocalCommand(text); r.local {
		text = strings.TrimSpace(tagged(text, "command-name") + " " + tagged(text, "command-args"))
	} else if isBash(text) {
		command := tagged(text, "bash-input")
		input, _ := json.Marshal(map[string]string{"command": command}) // cannot fail
		text, tools = "! "+command, []stream.Event{stream.ToolUse{ID: id, Name: "Bash", Input: input}}
	}
	at, _ := time.Parse(time.RFC3339Nano, v.Get("timestamp").String())
	r.now = &Turn{ID: id, Text: text, Typed: v.Get("entrypoint").String() == Terminal, Asked: at, Updated: at, Tools: tools}
	r.reads = newOutcomeReader(id)
}

// end ends the turn that goes on.
func (r *turnsReader) end() {
	if r.now == nil {
		return
	}
	if slices.Contains(r.known, r.now.ID) {
		r.found, r.all, r.now = true, nil, nil
		return
	}
	r.now.Outcome = r.reads.outcome()
	if o := r.now.Outcome; !r.local && r.now.Text != "" || o.Text != "" || o.Acted {
		r.now.Text = cmp.Or(r.now.Text, "…") // a picture
		r.all = append(r.all, *r.now)
	}
	r.now = nil
}

// tagged is the text between the tags of that name.
func tagged(text, name string) string {
	_, after, _ := strings.Cut(text, "<"+name+">")
	inner, _, _ := strings.Cut(after, "</"+name+">")
	return strings.TrimSpace(inner)
}
