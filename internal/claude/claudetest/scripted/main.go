// Command scripted is an agent for load tests: it speaks the CLI's stream-json, answers "echo: <last line of the
// prompt>" at once, and ends with its input. It knows nothing of tools, permissions or models.
//
// With MAGPIE_SCRIPTED_TRANSCRIPT=1 in its environment it keeps transcripts where the CLI does, so that its sessions
// can be resumed and recalled. With MAGPIE_SCRIPTED_TITLES=0 it finds no titles for its sessions. With
// MAGPIE_SCRIPTED_FAULTS=1 it misbehaves when it is asked to, see fault. With the arguments "auth login" it logs in on
// a terminal, see logIn.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

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
	a := agent{out: bufio.NewWriter(out)}
	record := os.Getenv("MAGPIE_SCRIPTED_TRANSCRIPT") == "1"
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--session-id", "--resume":
			a.session = value
		case "--permission-mode":
			a.mode = value
		case "--no-session-persistence":
			record = false
		}
	}
	if record {
		if err := a.openTranscript(); err != nil {
			return err
		}
	}
	br := bufio.NewReader(in)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := a.take(line); err != nil {
			return err
		}
	}
}

// agent is one process of it.
type agent struct {
	session string
	mode    string
	out     *bufio.Writer
	file    io.Writer // the transcript; nil = none
	turns   int
	asked   int // titles
	input   int // tokens of all turns
	output  int
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

// message is what comes in: a prompt or a request.
type message struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Request string `json:"request_id"`
	Order   order  `json:"request"`
	Message struct {
		Content content `json:"content"`
	} `json:"message"`
}

// content is a text, or blocks of which the texts count.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*string)(c)); err == nil {
		return nil
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(data, &blocks)
	for _, b := range blocks {
		*c += content(b.Text)
	}
	return err
}

func (a *agent) take(line []byte) error {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("input line: %w", err)
	}
	switch m.Type {
	case "user":
		return a.answer(m.UUID, string(m.Message.Content))
	case "control_request":
		return a.obey(m.Request, m.Order)
	}
	return nil
}

// order is what is wanted of the agent itself.
type order struct {
	Subtype     string `json:"subtype"`
	Description string `json:"description"`
}

// obey answers a control request.
func (a *agent) obey(id string, o order) error {
	response := object{}
	switch o.Subtype {
	case "generate_session_title":
		if os.Getenv("MAGPIE_SCRIPTED_TITLES") == "0" {
			return a.say(object{"type": "control_response", "response": object{
				"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + o.Subtype}})
		}
		a.asked++
		text := strings.TrimSpace(o.Description)
		response["title"] = "title: " + text[strings.LastIndexByte(text, '\n')+1:]
	case "get_usage":
		response["session"] = object{"total_cost_usd": a.cost(), "model_usage": a.used()}
	}
	return a.say(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

// cost is what the process has cost so far, in USD.
func (a *agent) cost() float64 { return 0.001 * float64(a.turns+a.asked) }

// used is what it has used so far of each model.
func (a *agent) used() object {
	return object{model: object{"costUSD": a.cost(), "contextWindow": 200_000, "inputTokens": a.input + 7*a.asked, "outputTokens": a.output + 3*a.asked}}
}

type object = map[string]any

// answer runs one turn.
func (a *agent) answer(id, prompt string) error {
	a.turns++
	prompt = strings.TrimSpace(prompt)
	if done, err := a.fault(prompt); done || err != nil {
		return err
	}
	text := "echo: " + prompt[strings.LastIndexByte(prompt, '\n')+1:]
	usage := object{"input_tokens": len(prompt) / 4, "output_tokens": len(text) / 4}
	a.input, a.output = a.input+len(prompt)/4, a.output+len(text)/4
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
			"total_cost_usd": a.cost(), "usage": usage, "modelUsage": a.used(),
		},
	)
}

// say writes lines and sends them off together.
func (a *agent) say(lines ...object) error {
	for _, line := range lines {
		line["session_id"] = a.session
		if err := json.NewEncoder(a.out).Encode(line); err != nil {
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
