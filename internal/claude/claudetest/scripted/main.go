// Command scripted is an agent for tests: it speaks the CLI's stream-json, starts in a few ms, and ends with its input.
//
// With a model at ANTHROPIC_BASE_URL it works as the CLI does, as far as the bridge can see: it asks the model, with the
// conversation so far and its tools, has people asked before it changes anything, keeps transcripts, resumes sessions
// and can be interrupted. What it does not have: settings files and their rules, retries, compaction, subagents, slash
// commands, and the CLI's own ideas of what is harmless. Tests of these run the real CLI.
//
// Without a model it is for tests of many turns: it answers "echo: <last line of the prompt>" at once, and knows nothing
// of tools or permissions.
//
// With MAGPIE_SCRIPTED_TRANSCRIPT=1 in its environment it keeps transcripts where the CLI does, so that its sessions
// can be resumed and recalled. With MAGPIE_SCRIPTED_TITLES=0 it finds no titles for its sessions. With
// MAGPIE_SCRIPTED_FAULTS=1 it misbehaves when it is asked to, see fault. With the arguments "auth login" it logs in on
// a terminal, see logIn.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude"
)

// model is the name under which it speaks.
const model = "scripted"

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scripted:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if slices.Equal(args, []string{"auth", "login"}) {
		return logIn(in, out)
	}
	a := agent{
		out: bufio.NewWriter(out), url: os.Getenv("ANTHROPIC_BASE_URL"), decisions: map[string]chan gjson.Result{},
	}
	record, resume := os.Getenv("MAGPIE_SCRIPTED_TRANSCRIPT") == "1", false
	servers := ""
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--session-id", "--resume":
			a.session, resume = value, name == "--resume"
		case "--permission-mode":
			a.mode = value
		case "--no-session-persistence":
			record = false
		case "--model":
			a.model = value
		case "--system-prompt":
			a.system = value
		case "--tools":
			a.toolbox.none = value == ""
		case "--allowedTools":
			a.toolbox.allowed = append(a.toolbox.allowed, value)
		case "--disallowedTools":
			a.toolbox.denied = strings.Split(value, ",")
		case "--add-dir":
			a.toolbox.folders = append(a.toolbox.folders, value)
		case "--mcp-config":
			servers = value
		}
	}
	var err error
	switch {
	case a.url != "":
		if a.conv, err = openSession(a.session, resume, !slices.Contains(args, "--no-session-persistence")); err == nil && servers != "" {
			err = a.toolbox.connect(servers)
		}
		if errors.Is(err, errNoConversation) {
			return a.noConversation()
		}
	case record:
		err = a.openTranscript()
	}
	if err != nil {
		return err
	}
	prompts := make(chan message, 100) // what is written meanwhile waits
	failed := make(chan error, 1)
	go func() {
		defer close(prompts)
		failed <- a.read(in, prompts)
	}()
	for m := range prompts {
		if err := a.prompt(m); err != nil {
			return err
		}
	}
	return <-failed
}

// noConversation is how the CLI ends that shall resume what is not there.
func (a *agent) noConversation() error {
	text := "No conversation found with session ID: " + a.session
	err := a.say(object{
		"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "total_cost_usd": 0,
		"usage": usage{}.object(), "modelUsage": object{}, "errors": []string{text},
	})
	return errors.Join(err, errors.New(text))
}

// read passes on the prompts of the input, and does at once what else is asked for.
func (a *agent) read(in io.Reader, prompts chan<- message) error {
	br := bufio.NewReader(in)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("input line: %w", err)
		}
		switch m.Type {
		case "user":
			prompts <- m
		case "control_request":
			err = a.control(m.Request, m.Order)
		case "control_response":
			a.decided(gjson.GetBytes(line, "response"))
		}
		if err != nil {
			return err
		}
	}
}

// prompt answers one prompt.
func (a *agent) prompt(m message) error {
	if a.conv == nil {
		return a.echo(m.UUID, m.Message.Content.text())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.mu.Lock()
	a.stop = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.stop = nil
		a.mu.Unlock()
	}()
	return a.turn(ctx, m)
}

// agent is one process of it.
type agent struct {
	session string
	writing sync.Mutex
	out     *bufio.Writer

	url     string // of the model; empty = it only echoes
	model   string // that was asked for
	system  string // instead of its own system prompt
	toolbox toolbox
	conv    *session // nil = it only echoes

	file io.Writer // the transcript of one that echoes; nil = none

	mu        sync.Mutex
	mode      string
	stop      func()                       // interrupts the turn that runs
	decisions map[string]chan gjson.Result // that are waited for, by the request's id
	spent     usage                        // by one that has a model
	turns     int                          // of one that echoes
	titles    int                          // that were asked for
	input     int                          // tokens of all turns of one that echoes
	output    int
}

func (a *agent) openTranscript() error {
	path, err := claude.Config{Environ: os.Environ()}.Transcripts("").Path(".", a.session)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	a.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // the process's end closes it
	return err
}

// message is what comes in: a prompt, a request or a response.
type message struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Request string `json:"request_id"`
	Order   order  `json:"request"`
	Message struct {
		Content content `json:"content"`
	} `json:"message"`
}

// content is a text, or blocks.
type content json.RawMessage

func (c *content) UnmarshalJSON(data []byte) error {
	*c = slices.Clone(data)
	return nil
}

// text is all that is text in it.
func (c content) text() (text string) {
	if err := json.Unmarshal(c, &text); err == nil {
		return text
	}
	for _, b := range gjson.ParseBytes(c).Array() {
		text += b.Get("text").String()
	}
	return text
}

// blocks are it as the CLI passes it on: without the space that keeps a text from being a command.
func (c content) blocks() any {
	var text string
	if err := json.Unmarshal(c, &text); err == nil {
		return []object{{"type": "text", "text": strings.TrimPrefix(text, " ")}}
	}
	return json.RawMessage(c)
}

// order is what is wanted of the agent itself.
type order struct {
	Subtype     string `json:"subtype"`
	Description string `json:"description"`
	Mode        string `json:"mode"`
}

// control answers a control request.
func (a *agent) control(id string, o order) error {
	response := object{}
	switch o.Subtype {
	case "interrupt":
		a.interrupt()
	case "set_permission_mode":
		if err := a.setMode(o.Mode); err != nil {
			return err
		}
	case "generate_session_title":
		if os.Getenv("MAGPIE_SCRIPTED_TITLES") == "0" {
			return a.say(object{"type": "control_response", "response": object{
				"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + o.Subtype}})
		}
		if a.conv != nil {
			title, err := a.title(context.Background(), o.Description)
			if err != nil {
				return err
			}
			response["title"] = title
			break
		}
		a.mu.Lock()
		a.titles++
		a.mu.Unlock()
		text := strings.TrimSpace(o.Description)
		response["title"] = "title: " + text[strings.LastIndexByte(text, '\n')+1:]
	case "get_usage":
		a.mu.Lock()
		response["session"] = object{"total_cost_usd": a.cost(), "model_usage": a.used()}
		a.mu.Unlock()
	}
	return a.say(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

// decided passes a decision on to who waits for it.
func (a *agent) decided(response gjson.Result) {
	a.mu.Lock()
	waits := a.decisions[response.Get("request_id").String()]
	a.mu.Unlock()
	if waits != nil {
		waits <- response.Get("response")
	}
}

// cost is what the process has cost so far, in USD.
func (a *agent) cost() float64 {
	if a.conv != nil {
		return a.spent.cost()
	}
	return 0.001 * float64(a.turns+a.titles)
}

// used is what it has used so far of each model.
func (a *agent) used() object {
	if a.conv != nil {
		return a.modelUsage(a.spent)
	}
	return object{model: object{
		"costUSD": a.cost(), "contextWindow": 200_000, "inputTokens": a.input + 7*a.titles, "outputTokens": a.output + 3*a.titles,
	}}
}

type object = map[string]any

// echo runs one turn without a model.
func (a *agent) echo(id, prompt string) error {
	prompt = strings.TrimSpace(prompt)
	a.mu.Lock()
	a.turns++
	a.mu.Unlock()
	if done, err := a.fault(prompt); done || err != nil {
		return err
	}
	text := "echo: " + prompt[strings.LastIndexByte(prompt, '\n')+1:]
	usage := object{"input_tokens": len(prompt) / 4, "output_tokens": len(text) / 4}
	a.mu.Lock()
	a.input, a.output = a.input+len(prompt)/4, a.output+len(text)/4
	cost, used := a.cost(), a.used()
	a.mu.Unlock()
	msg := object{
		"id": "msg_" + uuid.NewString(), "model": model, "role": "assistant", "stop_reason": "end_turn",
		"content": []object{{"type": "text", "text": text}}, "usage": usage,
	}
	if err := a.record(id, prompt, msg); err != nil {
		return err
	}
	stream := func(event object) object { return object{"type": "stream_event", "event": event} }
	half := len("echo: ")
	return a.say(
		object{"type": "system", "subtype": "init", "model": model, "permissionMode": a.mode},
		stream(object{"type": "message_start", "message": object{"id": msg["id"]}}),
		stream(object{"type": "content_block_start", "content_block": object{"type": "text"}}),
		stream(object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": text[:half]}}),
		stream(object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": text[half:]}}),
		object{"type": "assistant", "message": msg},
		stream(object{"type": "content_block_stop"}),
		stream(object{"type": "message_stop"}),
		object{
			"type": "result", "subtype": "success", "is_error": false, "result": text, "num_turns": 1, "stop_reason": "end_turn",
			"total_cost_usd": cost, "usage": usage, "modelUsage": used,
		},
	)
}

// say writes lines and sends them off together.
func (a *agent) say(lines ...object) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	for _, line := range lines {
		line["session_id"] = a.session
		if _, err := a.out.Write(append(encode(line), '\n')); err != nil {
			return err
		}
	}
	return a.out.Flush()
}

// record writes one turn into the transcript.
func (a *agent) record(id, prompt string, msg object) error {
	if a.file == nil {
		return nil
	}
	w := bufio.NewWriter(a.file)
	enc := json.NewEncoder(w)
	group := uuid.NewString()
	if err := enc.Encode(object{
		"type": "user", "uuid": id, "promptId": group, "sessionId": a.session, "message": object{"role": "user", "content": prompt},
	}); err != nil {
		return err
	}
	if err := enc.Encode(object{"type": "assistant", "uuid": uuid.NewString(), "parentUuid": id, "sessionId": a.session, "message": msg}); err != nil {
		return err
	}
	return w.Flush()
}
