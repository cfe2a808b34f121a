package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"
)

// completing is an answer in the form of OpenAI's API, which is being written.
type completing struct {
	w         http.ResponseWriter
	http      *http.ResponseController
	stream    bool
	withUsage bool
	every     time.Duration
	joins     bool // the program says which requests are the same
	head      map[string]any

	mu    sync.Mutex
	begun bool
	text  growing
}

func (d *Door) newCompleting(w http.ResponseWriter, c completion, id string) *completing {
	return &completing{
		w: w, http: http.NewResponseController(w), stream: c.Stream, withUsage: c.Options.Usage, every: d.Every,
		head: map[string]any{"id": "chatcmpl-" + hashOf(id)[:24], "created": time.Now().Unix(), "model": c.Model},
	}
}

// writeLimit is how long a program may take for what was written.
const writeLimit = 10 * time.Second

// keepAlive writes something that means nothing, now and then, and calls check before.
func (c *completing) keepAlive(ctx context.Context, check func()) {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if check(); ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		if c.begin(); c.stream {
			c.write([]byte(": waiting\n\n"))
		} else {
			c.write([]byte(" ")) // may stand before the JSON
		}
		c.mu.Unlock()
	}
}

// begin writes what comes first, once.
func (c *completing) begin() {
	if c.begun {
		return
	}
	c.begun = true
	if !c.stream {
		c.w.Header().Set("Content-Type", "application/json")
		return
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
}

func (c *completing) write(data []byte) {
	_ = c.http.SetWriteDeadline(time.Now().Add(writeLimit))
	_, _ = c.w.Write(data) // fails only if the program has gone, whose request ends then
	_ = c.http.Flush()
}

func (c *completing) event(v any) {
	data, _ := json.Marshal(v) // maps of texts and numbers
	c.write(append(append([]byte("data: "), data...), "\n\n"...))
}

// object is an object of the kind, with what all have.
func (c *completing) object(kind string, more map[string]any) map[string]any {
	all := maps.Clone(c.head)
	all["object"] = kind
	maps.Copy(all, more)
	return all
}

// chunk writes a part of the answer.
func (c *completing) chunk(delta map[string]any, finish any) {
	c.event(c.object("chat.completion.chunk", map[string]any{
		"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	}))
}

// grow writes what is new in the answer.
func (c *completing) grow(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stream {
		return
	}
	c.begin()
	if next := c.text.more(text, false); next != "" {
		c.chunk(map[string]any{"content": next}, nil)
	}
}

// fail writes why there is no whole answer.
func (c *completing) fail(p *problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.begun:
		fail(c.w, p)
	case c.stream:
		c.event(p.body())
	case c.joins: // it asks again, and then gets the error with its status
		panic(http.ErrAbortHandler)
	default:
		data, _ := json.Marshal(p.body()) // texts
		c.write(data)
	}
}

// end writes the rest.
func (c *completing) end(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	if !c.stream {
		data, _ := json.Marshal(c.object("chat.completion", map[string]any{"usage": a.usage, "choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "logprobs": nil,
			"message": map[string]any{"role": "assistant", "content": a.text, "refusal": nil},
		}}})) // texts and numbers
		c.write(data)
		return
	}
	if next := c.text.more(a.text, true); next != "" {
		c.chunk(map[string]any{"content": next}, nil)
	}
	c.chunk(map[string]any{}, "stop")
	if c.withUsage {
		c.event(c.object("chat.completion.chunk", map[string]any{"choices": []any{}, "usage": a.usage}))
	}
	c.write([]byte("data: [DONE]\n\n"))
}
