//go:build unix

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude"
)

// model is the model name of an echo.
const model = "scripted"

// echo answers without a model.
type echo struct {
	*output
	mode string
	file io.Writer // the transcript; nil = none

	mu     sync.Mutex
	turns  int
	titles int // that were requested
	input  int // tokens of all turns
	said   int
}

// newEcho keeps a transcript only on request: most tests need none, and the real CLI's path for it must
// be computed.
func newEcho(out *output, o options) (*echo, error) {
	a := &echo{output: out, mode: o.mode}
	if !o.keep || os.Getenv("MAGPIE_SCRIPTED_TRANSCRIPT") != "1" {
		return a, nil
	}
	path, err := claude.Config{Environ: os.Environ()}.Transcripts("").Path(".", o.session)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	a.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // closed when the process ends
	return a, err
}

func (a *echo) prompt(m message) error { return a.answer(m.UUID, m.Message.Content.text()) }

func (a *echo) decided(gjson.Result) {}

func (a *echo) inputEnded() {}

func (a *echo) control(o order) (object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch o.Subtype {
	case "generate_session_title":
		if os.Getenv("MAGPIE_SCRIPTED_TITLES") == "0" {
			return nil, fmt.Errorf("%w: %s", errUnsupported, o.Subtype)
		}
		a.titles++
		text := strings.TrimSpace(o.Description)
		return object{"title": "title: " + text[strings.LastIndexByte(text, '\n')+1:]}, nil
	case "get_usage":
		return object{"session": object{"total_cost_usd": a.cost(), "model_usage": a.used()}}, nil
	}
	return object{}, nil
}

// cost is the process's cost so far, in USD. The caller holds mu, as for used.
func (a *echo) cost() float64 { return 0.001 * float64(a.turns+a.titles) }

// used is its usage so far of each model.
func (a *echo) used() object {
	return object{model: object{
		"costUSD": a.cost(), "contextWindow": 200_000,
		"inputTokens": a.input + 7*a.titles, "outputTokens": a.said + 3*a.titles,
	}}
}

// answer runs one turn.
func (a *echo) answer(id, prompt string) error {
	prompt = strings.TrimSpace(prompt)
	a.mu.Lock()
	a.turns++
	a.mu.Unlock()
	if done, err := a.fault(prompt); done || err != nil {
		return err
	}
	line, err := a.act(prompt)
	if err != nil {
		return err
	}
	line = cmp.Or(line, prompt[strings.LastIndexByte(prompt, '\n')+1:])
	text := "echo: " + line
	usage := object{"input_tokens": len(prompt) / 4, "output_tokens": len(text) / 4}
	a.mu.Lock()
	a.input, a.said = a.input+len(prompt)/4, a.said+len(text)/4
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
	// Two deltas, so that a reader that handles only whole texts fails.
	half := len("echo: ")
	return a.say(
		object{"type": "system", "subtype": "init", "model": model, "permissionMode": a.mode, "mcp_servers": servers()},
		stream(object{"type": "message_start", "message": object{"id": msg["id"]}}),
		stream(object{"type": "content_block_start", "content_block": object{"type": "text"}}),
		stream(object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": text[:half]}}),
		stream(object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": text[half:]}}),
		// Before content_block_stop, as the real CLI does (2.1.197).
		object{"type": "assistant", "message": msg},
		stream(object{"type": "content_block_stop"}),
		stream(object{"type": "message_stop"}),
		object{
			"type": "result", "subtype": "success", "is_error": false, "result": text, "num_turns": 1,
			"stop_reason":    "end_turn",
			"total_cost_usd": cost, "usage": usage, "modelUsage": used,
		},
	)
}

// servers are the MCP servers that it claims to have.
func servers() []object {
	list := []object{}
	for _, one := range strings.Fields(os.Getenv("MAGPIE_SCRIPTED_SERVERS")) {
		name, status, _ := strings.Cut(one, "=")
		list = append(list, object{"name": name, "status": status})
	}
	return list
}

// record writes one turn into the transcript.
func (a *echo) record(id, prompt string, msg object) error {
	if a.file == nil {
		return nil
	}
	w := bufio.NewWriter(a.file)
	enc := json.NewEncoder(w)
	group := uuid.NewString()
	if err := enc.Encode(object{
		"type": "user", "uuid": id, "promptId": group, "sessionId": a.session,
		"message": object{"role": "user", "content": prompt},
	}); err != nil {
		return err
	}
	if err := enc.Encode(object{
		"type": "assistant", "uuid": uuid.NewString(), "parentUuid": id, "sessionId": a.session, "message": msg,
	}); err != nil {
		return err
	}
	return w.Flush()
}
