package modeldouble

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

type object = map[string]any

// player sends one answer: as server-sent events, or as one JSON body when the request wants no stream.
type player struct {
	s   *Server
	w   http.ResponseWriter
	ctx context.Context
	r   *Request

	begun  bool
	blocks []object // those of the answer so far
	kind   string   // of the block that is open; empty = none
	reason string   // stop reason; empty = the natural one
	ended  bool     // failed or cut: nothing may follow
}

// play performs the steps and ends the answer.
func (p *player) play(steps []Step) {
	for _, step := range steps {
		if !step(p) {
			break
		}
	}
	if p.ended || p.ctx.Err() != nil {
		return
	}
	select {
	case <-p.s.quit:
		return
	default:
	}
	p.finish()
}

func (p *player) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.s.update(func() { p.r.Status = http.StatusOK })
	if !p.r.Stream {
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.event("message_start", object{"message": p.message(nil, "", 1)})
}

// message is the answer as an object of the API.
func (p *player) message(content []object, reason string, output int) object {
	if content == nil {
		content = []object{}
	}
	in := len(p.r.Body) / bytesPerToken
	m := object{
		"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": p.r.Model, "content": content,
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": in / 10, "cache_read_input_tokens": in - in/10, "cache_creation_input_tokens": 0,
			"output_tokens": output, "service_tier": "standard",
		},
	}
	if reason != "" {
		m["stop_reason"] = reason
	}
	return m
}

// event sends one event of the stream at once.
func (p *player) event(name string, data object) bool {
	data["type"] = name
	line, err := json.Marshal(data)
	if err != nil {
		panic(err) // made of our own values
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, line)
	if _, err := p.w.Write(b.Bytes()); err != nil {
		return false
	}
	p.w.(http.Flusher).Flush()
	return p.ctx.Err() == nil
}

// open makes sure that a block of the kind is open.
func (p *player) open(kind string, block object) bool {
	p.begin()
	if p.kind == kind && kind != "tool_use" {
		return true
	}
	p.closeBlock()
	p.kind = kind
	p.blocks = append(p.blocks, block)
	if !p.r.Stream {
		return true
	}
	return p.event("content_block_start", object{"index": len(p.blocks) - 1, "content_block": block})
}

func (p *player) closeBlock() {
	if p.kind != "" && p.r.Stream {
		p.event("content_block_stop", object{"index": len(p.blocks) - 1})
	}
	p.kind = ""
}

func (p *player) delta(d object) bool {
	if !p.r.Stream {
		return true
	}
	return p.event("content_block_delta", object{"index": len(p.blocks) - 1, "delta": d})
}

func (p *player) text(s string) bool {
	if !p.open("text", object{"type": "text", "text": ""}) {
		return false
	}
	p.s.update(func() {
		now := time.Now()
		if p.r.FirstDelta.IsZero() {
			p.r.FirstDelta = now
		}
		p.r.LastDelta = now
		p.r.Reply += s
	})
	if !p.r.Stream {
		block := p.blocks[len(p.blocks)-1]
		block["text"] = block["text"].(string) + s
	}
	return p.delta(object{"type": "text_delta", "text": s})
}

func (p *player) tool(name string, input json.RawMessage) bool {
	block := object{"type": "tool_use", "id": "toolu_" + uuid.NewString(), "name": name, "input": object{}}
	if !p.open("tool_use", block) {
		return false
	}
	if p.reason == "" {
		p.reason = "tool_use"
	}
	if !p.r.Stream {
		block["input"] = input
	}
	return p.delta(object{"type": "input_json_delta", "partial_json": string(input)})
}

func (p *player) wait(d time.Duration) bool {
	if d <= 0 {
		return p.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
	case <-p.s.quit:
	}
	return false
}

func (p *player) fail(status int, kind, message string) {
	p.ended = true
	p.s.update(func() { p.r.Status = status })
	if p.begun && p.r.Stream {
		p.event("error", errorBody(kind, message).(object))
		return
	}
	fail(p.w, status, kind, message)
}

func (p *player) cut() {
	p.ended = true
	conn, _, err := p.w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close() // that is the point
	}
}

func (p *player) finish() {
	p.begin()
	p.closeBlock()
	reason := p.reason
	if reason == "" {
		reason = "end_turn"
	}
	output := len(p.r.Reply)/bytesPerToken + 1
	if p.r.Stream {
		usage := p.message(nil, "", output)["usage"]
		p.event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
		p.event("message_stop", object{})
		return
	}
	p.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(p.w).Encode(p.message(p.blocks, reason, output)) // the client may have gone
}
