package modelsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// answer builds one message: event by event if the client wants a stream, otherwise in one piece at the end.
type answer struct {
	w      http.ResponseWriter
	req    *Request
	call   *call
	usage  usage
	blocks []content // finished ones and, when open, the last
	open   bool      // the last block can grow
	begun  bool      // message_start was sent
	stop   string    // the stop reason; empty = the usual one
}

// content is a block of the answer.
type content struct {
	kind string
	id   string // of a tool call
	name string // of a tool
	text strings.Builder
}

// object is a JSON object to send. Its keys are sorted.
type object map[string]any

func newAnswer(w http.ResponseWriter, req *Request, call *call) *answer {
	return &answer{w: w, req: req, call: call, usage: newUsage(estimateTokens(req.Body))}
}

// play runs the steps and ends the message. An error means that the answer is incomplete.
func (a *answer) play(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		if err := s.do(ctx, a); err != nil {
			if errors.Is(err, errEnded) {
				return nil
			}
			return err
		}
	}
	// Without streaming the answer is one JSON document; the CLI asks for it after a cut stream (2.1.197).
	if !a.req.Stream {
		return a.whole()
	}
	if err := a.closeBlock(); err != nil {
		return err
	}
	if err := a.writeStart(); err != nil {
		return err
	}
	delta := object{"stop_reason": a.stopReason(), "stop_sequence": nil}
	return errors.Join(
		a.event("message_delta", object{"delta": delta, "usage": a.usage.object(a.outputTokens())}),
		a.event("message_stop", object{}),
	)
}

// whole sends the complete message to a client that wants no stream.
func (a *answer) whole() error {
	a.open = false
	m := a.message()
	m["content"], m["stop_reason"], m["usage"] = a.contents(), a.stopReason(), a.usage.object(a.outputTokens())
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	setHeaders(a.w.Header(), requestID(a.req.ID), "application/json")
	a.call.status(http.StatusOK)
	_, err = a.w.Write(body)
	return err
}

// message is the message without content, as in message_start.
func (a *answer) message() object {
	return object{
		"id": fmt.Sprintf("msg_sim%09d", a.req.ID), "type": "message", "role": "assistant", "model": a.req.Model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": a.usage.object(1),
	}
}

func (a *answer) contents() []object {
	list := make([]object, 0, len(a.blocks))
	for i := range a.blocks {
		b := &a.blocks[i]
		o := b.start()
		switch b.kind {
		case "text":
			o["text"] = b.text.String()
		case "thinking":
			o["thinking"], o["signature"] = b.text.String(), signature
		case "tool_use":
			o["input"] = json.RawMessage(b.text.String())
		}
		list = append(list, o)
	}
	return list
}

// stopReason follows from the content, as in the real API, unless a script sets another one.
func (a *answer) stopReason() string {
	if a.stop != "" {
		return a.stop
	}
	for i := range a.blocks {
		if a.blocks[i].kind == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

func (a *answer) outputTokens() int {
	n := 0
	for i := range a.blocks {
		n += estimateTokens([]byte(a.blocks[i].text.String()))
	}
	return max(n, 1)
}

// text, thinking and tool add to the message.

func (a *answer) text(s string) error {
	if err := a.openBlock(content{kind: "text"}); err != nil || s == "" {
		return err
	}
	return a.delta(s, object{"type": "text_delta", "text": s})
}

func (a *answer) thinking(s string) error {
	if err := a.openBlock(content{kind: "thinking"}); err != nil || s == "" {
		return err
	}
	return a.delta(s, object{"type": "thinking_delta", "thinking": s})
}

// tool sends its input in two pieces, so that a client that parses each delta by itself fails.
func (a *answer) tool(name, input string) error {
	id := fmt.Sprintf("toolu_sim%06d_%02d", a.req.ID, len(a.blocks))
	if err := a.openBlock(content{kind: "tool_use", id: id, name: name}); err != nil {
		return err
	}
	for _, part := range halves(input) {
		if err := a.delta(part, object{"type": "input_json_delta", "partial_json": part}); err != nil {
			return err
		}
	}
	return a.closeBlock()
}

// halves cuts s in two, because no client may rely on the input of a tool being in one piece.
func halves(s string) []string {
	r := []rune(s)
	return []string{string(r[:len(r)/2]), string(r[len(r)/2:])}
}

// fail ends the message with an error.
func (a *answer) fail(e *apiError) error {
	a.call.status(e.status)
	if !a.begun {
		writeError(a.w, requestID(a.req.ID), e)
		return errEnded
	}
	if err := a.event("error", e.object(requestID(a.req.ID))); err != nil {
		return err
	}
	return errEnded
}
