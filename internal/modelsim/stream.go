package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// signature ends a thinking block. Clients send it back and cannot read it.
const signature = "c2lnbmF0dXJl"

// writeStart sends the headers and the start of the message, once.
func (a *answer) writeStart() error {
	if a.begun || !a.req.Stream {
		return nil
	}
	a.begun = true
	h := a.w.Header()
	setHeaders(h, requestID(a.req.ID), "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	a.call.status(http.StatusOK)
	return a.event("message_start", object{"message": a.message()})
}

// event sends one event and flushes it.
func (a *answer) event(kind string, data object) error {
	if !a.req.Stream {
		return nil
	}
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.w, "event: %s\ndata: %s\n\n", kind, raw); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush()
}

// start is the empty block.
func (c *content) start() object {
	switch c.kind {
	case "thinking":
		return object{"type": c.kind, "thinking": "", "signature": ""}
	case "tool_use":
		return object{"type": c.kind, "id": c.id, "name": c.name, "input": object{}}
	}
	return object{"type": c.kind, "text": ""}
}

// openBlock makes sure that the last block is of c's kind and can grow. Every tool call is a separate block.
func (a *answer) openBlock(c content) error {
	if a.open && a.blocks[len(a.blocks)-1].kind == c.kind && c.kind != "tool_use" {
		return nil
	}
	if err := a.closeBlock(); err != nil {
		return err
	}
	if err := a.writeStart(); err != nil {
		return err
	}
	a.blocks, a.open = append(a.blocks, c), true
	if err := a.event("content_block_start",
		object{"index": len(a.blocks) - 1, "content_block": c.start()}); err != nil {
		return err
	}
	// The real API sends a ping after the first block has started; a client must ignore it.
	if len(a.blocks) == 1 {
		return a.event("ping", object{})
	}
	return nil
}

// delta adds to the open block.
func (a *answer) delta(part string, data object) error {
	i := len(a.blocks) - 1
	a.blocks[i].text.WriteString(part)
	if err := a.event("content_block_delta", object{"index": i, "delta": data}); err != nil {
		return err
	}
	if a.blocks[i].kind != "text" {
		part = ""
	}
	a.call.delta(part)
	return nil
}

// closeBlock ends the open block, if any.
func (a *answer) closeBlock() error {
	if !a.open {
		return nil
	}
	a.open = false
	i := len(a.blocks) - 1
	if a.blocks[i].kind == "thinking" {
		data := object{"index": i, "delta": object{"type": "signature_delta", "signature": signature}}
		if err := a.event("content_block_delta", data); err != nil {
			return err
		}
	}
	return a.event("content_block_stop", object{"index": i})
}
