//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// permissions are the permission mode, and the requests that wait for a decision.
type permissions struct {
	*output
	mu        sync.Mutex
	mode      string                       // empty = the default
	decisions map[string]chan gjson.Result // by the request's id
	ended     chan struct{}                // closed with the input: no more decisions
}

func newPermissions(out *output, mode string) *permissions {
	return &permissions{
		output: out, mode: mode, decisions: map[string]chan gjson.Result{}, ended: make(chan struct{}),
	}
}

// unanswered tells the model that a request cannot be decided, because the input has ended.
type unanswered string

func (e unanswered) Error() string { return "Tool permission request failed: AbortError: " + string(e) }

// mayUse asks whether a tool may be used, and waits for the decision.
func (p *permissions) mayUse(ctx context.Context, b *block, input gjson.Result) (gjson.Result, error) {
	select {
	case <-p.ended:
		return gjson.Result{}, unanswered("Stream closed")
	default:
	}
	id := uuid.NewString()
	decided := make(chan gjson.Result, 1)
	p.mu.Lock()
	p.decisions[id] = decided
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.decisions, id)
		p.mu.Unlock()
	}()
	if err := p.say(object{"type": "control_request", "request_id": id, "request": object{
		"subtype": "can_use_tool", "tool_name": b.name, "display_name": b.name, "input": json.RawMessage(input.Raw),
		"description": input.Get("description").String(), "tool_use_id": b.id,
		"permission_suggestions": suggestions(b.name, input),
	}}); err != nil {
		return gjson.Result{}, err
	}
	select {
	case d := <-decided:
		return d, nil
	case <-p.ended:
		return gjson.Result{}, unanswered("Tool permission stream closed before response received")
	// As the real CLI does when a turn is interrupted while it waits: the request is withdrawn.
	case <-ctx.Done():
		return gjson.Result{}, errors.Join(ctx.Err(), p.say(object{"type": "control_cancel_request", "request_id": id}))
	}
}

// current is the mode.
func (p *permissions) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "" {
		return "default"
	}
	return p.mode
}

// set changes the mode, and reports it.
func (p *permissions) set(mode string) error {
	p.mu.Lock()
	p.mode = mode
	p.mu.Unlock()
	return p.say(object{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode})
}

// decided passes a decision to its waiter.
func (p *permissions) decided(response gjson.Result) {
	p.mu.Lock()
	waits := p.decisions[response.Get("request_id").String()]
	p.mu.Unlock()
	if waits != nil {
		waits <- response.Get("response")
	}
}

// inputEnded means that there will be no more decisions.
func (p *permissions) inputEnded() { close(p.ended) }
