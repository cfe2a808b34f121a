//go:build unix

// Command scripted is an agent for tests: it speaks the CLI's stream-json, starts in a few ms, and ends with its input.
//
// With a model at ANTHROPIC_BASE_URL it works like the CLI, as far as the bridge can see: it calls the model with the
// conversation and its tools, asks for permission before it changes anything, keeps transcripts, resumes sessions and
// can be interrupted. It does not have settings files and their rules, retries, compaction, subagents, slash commands,
// and the CLI's own rules about harmless commands. Tests of these run the real CLI.
//
// Without a model it is for tests of many turns: it answers "echo: <last line of the prompt>" at once, without tools or
// permissions.
//
// With MAGPIE_SCRIPTED_TRANSCRIPT=1 in its environment it keeps transcripts where the CLI does, so that its sessions
// can be resumed and their outcomes read. With MAGPIE_SCRIPTED_TITLES=0 it finds no titles for its sessions. Without a
// model, MAGPIE_SCRIPTED_SERVERS="name=status ..." are the MCP servers that it says it has. With
// MAGPIE_SCRIPTED_ACTS=file it works as long as it is asked to, see act. With
// MAGPIE_SCRIPTED_FAULTS=1 it misbehaves when it is asked to, see fault. With the arguments "auth login" it logs in on
// a terminal, see logIn. With "auth status" and "--version" it says what the CLI would.
//
// What a model answers does not belong here: see package modelsim.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/tidwall/gjson"
)

// version is what the CLI says of itself.
const version = "2.1.332 (Claude Code)"

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scripted:", err)
		os.Exit(1)
	}
}

// options are those of the CLI that it knows.
type options struct {
	session string
	resume  bool
	keep    bool // a transcript
	mode    string
	model   string
	system  string // replaces its own system prompt
	toolbox toolbox
	servers string // see --mcp-config
	replay  bool   // a prompt is repeated when the model gets it
	suggest bool   // see --prompt-suggestions
}

// parse parses the options that change the request to the model; all others are accepted and ignored, as most of them
// concern things that this program does not have.
func parse(args []string) options {
	o := options{keep: true}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--session-id", "--resume":
			o.session, o.resume = value, name == "--resume"
		case "--permission-mode":
			o.mode = value
		case "--no-session-persistence":
			o.keep = false
		case "--model":
			o.model = value
		case "--system-prompt":
			o.system = value
		case "--tools":
			o.toolbox.none = value == ""
		case "--allowedTools":
			o.toolbox.allowed = append(o.toolbox.allowed, value)
		case "--disallowedTools":
			o.toolbox.denied = strings.Split(value, ",")
		case "--add-dir":
			o.toolbox.folders = append(o.toolbox.folders, value)
		case "--mcp-config":
			o.servers = value
		case "--replay-user-messages":
			o.replay = true
		case "--prompt-suggestions":
			o.suggest = true
		}
	}
	return o
}

// run answers prompts one by one, while control requests are answered at once: an interrupt must reach a running turn.
func run(args []string, in io.Reader, out io.Writer) error {
	switch strings.Join(args, " ") {
	case "--version":
		_, err := fmt.Fprintln(out, version)
		return err
	case "auth status":
		return authStatus()
	case "auth login":
		return logIn(in, out)
	}
	o := parse(args)
	stream := &output{session: o.session, w: bufio.NewWriter(out)}
	var r responder
	var err error
	prompts := newInbox()
	if url := os.Getenv("ANTHROPIC_BASE_URL"); url != "" {
		// Like the CLI, it finishes its turn when nobody reads its output any more. Its tools take the signal as usual.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		r, err = newAgent(stream, o, url, prompts)
	} else {
		r, err = newEcho(stream, o)
	}
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		failed <- read(in, stream, r, prompts)
		r.inputEnded()
		prompts.close()
	}()
	for list := prompts.next(); len(list) > 0; list = prompts.next() {
		m, err := together(stream, o, list)
		if err == nil {
			err = r.prompt(m)
		}
		if err != nil {
			return err
		}
	}
	return <-failed
}

// together merges the prompts that came while another one was answered. All but the last are repeated here.
func together(out *output, o options, list []message) (message, error) {
	last := len(list) - 1
	m := list[last]
	if last == 0 {
		return m, nil
	}
	var texts []string
	for i, one := range list {
		texts = append(texts, one.Message.Content.text())
		if o.replay && i < last {
			if err := out.say(one.replayed()); err != nil {
				return m, err
			}
		}
	}
	m.Message.Content = content(encode(strings.Join(texts, "\n")))
	return m, nil
}

// responder answers messages of the input.
type responder interface {
	prompt(m message) error
	// control handles a control request while a prompt is answered, and returns the response.
	control(o order) (object, error)
	// decided handles the decision whether a tool may be used.
	decided(response gjson.Result)
	// inputEnded means that there will be no more decisions.
	inputEnded()
}

// errUnsupported means that a control request is not known.
var errUnsupported = errors.New("unsupported control request subtype")

// read passes on the prompts of the input, and handles everything else at once.
func read(in io.Reader, out *output, r responder, prompts *inbox) error {
	br := bufio.NewReader(in)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var m message
		// The real CLI exits with status 1 on a malformed line (2.1.197), and so does this one.
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("input line: %w", err)
		}
		switch m.Type {
		case "user":
			prompts.put(m)
		case "control_request":
			response, failed := r.control(m.Order)
			said := object{"subtype": "success", "request_id": m.Request, "response": response}
			if failed != nil {
				said = object{"subtype": "error", "request_id": m.Request, "error": failed.Error()}
			}
			err = out.say(object{"type": "control_response", "response": said})
		case "control_response":
			r.decided(gjson.GetBytes(line, "response"))
		}
		if err != nil {
			return err
		}
	}
}

// message is an input line: a prompt, a request or a response.
type message struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Request string `json:"request_id"`
	Order   order  `json:"request"`
	Message struct {
		Content content `json:"content"`
	} `json:"message"`
	notice bool // it reports the end of a task, and was not sent
}

// replayed is the line that reports that the model gets it.
func (m message) replayed() object {
	return object{
		"type": "user", "uuid": m.UUID, "isReplay": true, "parent_tool_use_id": nil,
		"message": object{"role": "user", "content": json.RawMessage(m.Message.Content)},
	}
}

// content is a text, or blocks.
type content json.RawMessage

func (c *content) UnmarshalJSON(data []byte) error {
	*c = slices.Clone(data)
	return nil
}

// text is all text in it.
func (c content) text() (text string) {
	if err := json.Unmarshal(c, &text); err == nil {
		return text
	}
	for _, b := range gjson.ParseBytes(c).Array() {
		text += b.Get("text").String()
	}
	return text
}

// blocks is the content as the CLI passes it on: without the space that keeps a text from being a command.
func (c content) blocks() any {
	var text string
	if err := json.Unmarshal(c, &text); err == nil {
		return []object{{"type": "text", "text": strings.TrimPrefix(text, " ")}}
	}
	return json.RawMessage(c)
}

// order is a control request.
type order struct {
	Subtype     string `json:"subtype"`
	Description string `json:"description"`
	Mode        string `json:"mode"`
	Task        string `json:"task_id"`
}
