package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// Message is a message of a session: a prompt, or the agent's answer.
type Message struct {
	ID    string // of its first line in the transcript
	Agent bool   // from the agent
	Text  string
	Time  time.Time // zero = not in the transcript
}

// maxTalk limits what [Files.Talk] reads, in bytes of text.
const maxTalk = 64 << 20

// ErrNoTranscript means that a session has no transcript on this machine.
var ErrNoTranscript = errors.New("there is no transcript of this session")

// Talk reads the conversation of a session, whoever started it: prompts, and the texts of their answers. It omits text
// of the CLI itself, tools and subagents. For a missing session it returns [ErrNoTranscript].
func (t Files) Talk(session string) ([]Message, error) {
	path, err := t.find("/", session)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, ErrNoTranscript
	}
	f, err := safepath.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safepath.ErrNotRegular) {
		return nil, ErrNoTranscript
	} else if err != nil {
		return nil, fmt.Errorf("read a transcript: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	return readTalk(io.LimitReader(f, maxTranscript))
}

func readTalk(f io.Reader) ([]Message, error) {
	r := talkReader{seen: map[string]bool{}}
	err := eachLine(f, func(line []byte) bool {
		if stream.ValidJSON(line) {
			r.line(gjson.ParseBytes(line))
		}
		return r.size <= maxTalk
	})
	if err == nil && r.size > maxTalk {
		err = fmt.Errorf("more than %d MB were said", maxTalk>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("read a transcript: %w", err)
	}
	return r.all, nil
}

// talkReader collects the conversation in a transcript.
type talkReader struct {
	all  []Message
	seen map[string]bool // lines so far: compacting a session repeats the newest ones
	size int
}

func (r *talkReader) line(v gjson.Result) {
	kind, id := v.Get("type").String(), v.Get("uuid").String()
	if kind != "user" && kind != "assistant" || v.Get("isSidechain").Bool() || r.seen[id] {
		return
	}
	r.seen[id] = id != ""
	agent := kind == "assistant"
	if agent && v.Get("message.model").String() == "<synthetic>" || !agent && isNote(v) {
		return
	}
	text := textOf(v.Get("message.content"))
	if text == "" || !agent && isLocalCommand(text) {
		return
	}
	r.size += len(text)
	// An answer is written block by block, with tool calls in between.
	if last := len(r.all) - 1; agent && last >= 0 && r.all[last].Agent {
		r.all[last].Text += "\n\n" + text
		return
	}
	at, _ := time.Parse(time.RFC3339Nano, v.Get("timestamp").String())
	r.all = append(r.all, Message{ID: id, Agent: agent, Text: text, Time: at})
}

// textOf is the text of a message, which is a string or has blocks.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return strings.TrimSpace(content.String())
	}
	var texts []string
	for _, block := range content.Array() {
		if text := strings.TrimSpace(block.Get("text").String()); block.Get("type").String() == "text" && text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// isLocalCommand reports whether a prompt is one that the CLI has handled by itself, such as /clear, or its output.
func isLocalCommand(prompt string) bool {
	return strings.HasPrefix(prompt, "<command-") || strings.HasPrefix(prompt, "<local-command-")
}
