//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/tidwall/gjson"
)

// reply is a message of the model, as far as it has arrived.
type reply struct {
	id     string
	model  string
	blocks []block
	stop   string // why it ended; empty = it has not
	usage  usage
}

// block is a content block of a reply.
type block struct {
	kind  string // text, thinking, tool_use
	id    string // of a tool_use
	name  string // of a tool_use
	text  strings.Builder
	ended bool
}

// whole is the block in the API's form.
func (b *block) whole() object {
	switch b.kind {
	case "tool_use":
		return object{"type": b.kind, "id": b.id, "name": b.name, "input": json.RawMessage(b.input())}
	case "thinking":
		return object{"type": b.kind, "thinking": b.text.String(), "signature": "c2lnbmF0dXJl"}
	}
	return object{"type": b.kind, "text": b.text.String()}
}

// input is that of a tool_use.
func (b *block) input() string {
	if text := b.text.String(); text != "" {
		return text
	}
	return "{}"
}

// message is the reply with these blocks.
func (r *reply) message(blocks []json.RawMessage) object {
	return object{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model, "content": blocks, "stop_reason": nil,
		"stop_sequence": nil, "usage": r.usage.object(),
	}
}

// usage counts tokens.
type usage struct{ input, output, cacheRead, cacheNew int64 }

// merge reads the token counts of an event. Later events repeat earlier counts, so a count replaces the
// previous one.
func (u *usage) merge(v gjson.Result) {
	for name, n := range map[string]*int64{
		"input_tokens": &u.input, "output_tokens": &u.output,
		"cache_read_input_tokens": &u.cacheRead, "cache_creation_input_tokens": &u.cacheNew,
	} {
		if field := v.Get(name); field.Exists() {
			*n = field.Int()
		}
	}
}

func (u *usage) add(v usage) {
	u.input += v.input
	u.output += v.output
	u.cacheRead += v.cacheRead
	u.cacheNew += v.cacheNew
}

func (u usage) object() object {
	return object{
		"input_tokens": u.input, "output_tokens": u.output,
		"cache_read_input_tokens": u.cacheRead, "cache_creation_input_tokens": u.cacheNew,
	}
}

// cost is the cost of the tokens, in USD, at the prices of the CLI's default model.
func (u usage) cost() float64 {
	const million = 1e6
	return float64(u.input)*5/million + float64(u.output)*25/million +
		float64(u.cacheRead)*0.5/million + float64(u.cacheNew)*6.25/million
}

// apiError is an error of the model's API, as the CLI shows it.
type apiError struct {
	status int
	body   string
}

func (e *apiError) Error() string { return fmt.Sprintf("API Error: %d %s", e.status, e.body) }

// api is the model's API.
type api struct {
	url     string
	session string
	model   string
}

// fullName is the full name of a requested model.
func fullName(model string) string {
	switch model {
	case "", "opus":
		return "claude-opus-5-5"
	case "sonnet":
		return "claude-sonnet-5"
	case "haiku":
		return "claude-haiku-4-5"
	}
	return model
}

// post sends a request to the model.
func (a api) post(ctx context.Context, body object) (*http.Response, error) {
	url := a.url + "/v1/messages?beta=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encode(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	req.Header.Set("X-Claude-Code-Session-Id", a.session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, _ := io.ReadAll(resp.Body)
	return nil, &apiError{resp.StatusCode, string(text)}
}

// call sends the conversation in a request to the model. It passes on the lines of the reply while they arrive. If the
// stream breaks, it returns the reply so far.
func (a api) call(ctx context.Context, body object, pass func(...object) error) (reply, error) {
	body["model"], body["max_tokens"], body["stream"] = a.model, 32000, true
	var r reply
	resp, err := a.post(ctx, body)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok {
			if err := r.event(gjson.ParseBytes(data), pass); err != nil {
				return r, err
			}
		}
		switch {
		case r.stop != "" && err == io.EOF:
			return r, nil
		case err == io.EOF:
			return r, io.ErrUnexpectedEOF
		case err != nil:
			return r, err
		}
	}
}

// event handles one event of the stream and passes it on.
func (r *reply) event(ev gjson.Result, pass func(...object) error) error {
	var whole object // the line that follows the event when a block has ended
	switch ev.Get("type").String() {
	case "message_start":
		r.id, r.model = ev.Get("message.id").String(), ev.Get("message.model").String()
		r.usage.merge(ev.Get("message.usage"))
	case "content_block_start":
		b := ev.Get("content_block")
		r.blocks = append(r.blocks, block{
			kind: b.Get("type").String(), id: b.Get("id").String(), name: b.Get("name").String(),
		})
	case "content_block_delta":
		d := ev.Get("delta")
		// it has one of them
		piece := d.Get("text").String() + d.Get("thinking").String() + d.Get("partial_json").String()
		r.blocks[len(r.blocks)-1].text.WriteString(piece)
	case "content_block_stop":
		b := &r.blocks[len(r.blocks)-1]
		b.ended = true
		whole = object{"type": "assistant", "message": r.message([]json.RawMessage{encode(b.whole())})}
	case "message_delta":
		r.stop = ev.Get("delta.stop_reason").String()
		r.usage.merge(ev.Get("usage"))
	case "ping":
		return nil
	case "error":
		return &apiError{int(statusOf[ev.Get("error.type").String()]), ev.Raw}
	}
	if whole != nil { // the CLI sends the whole block first
		if err := pass(whole); err != nil {
			return err
		}
	}
	return pass(object{"type": "stream_event", "event": json.RawMessage(ev.Raw)})
}

// statusOf is the HTTP status that corresponds to an error in the middle of a stream.
var statusOf = map[string]int64{
	"overloaded_error": 529, "api_error": 500, "rate_limit_error": 429, "authentication_error": 401,
}

// title asks the model for a title, as the CLI does: for an object with one field.
func (a api) title(ctx context.Context, description string) (string, error) {
	schema := object{"type": "object", "properties": object{"title": object{"type": "string"}}}
	resp, err := a.post(ctx, object{
		"model": "claude-haiku-4-5", "max_tokens": 200, "messages": []object{{"role": "user", "content": description}},
		"system":        "Generate a concise title for this conversation.",
		"output_config": object{"format": object{"type": "json_schema", "schema": schema}},
	})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	return gjson.Get(gjson.GetBytes(data, "content.0.text").String(), "title").String(), nil
}
