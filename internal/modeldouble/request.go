package modeldouble

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Request is one recorded call of the model.
type Request struct {
	ID        int // from 1
	At        time.Time
	Path      string
	SessionID string // the CLI's session
	Model     string
	Stream    bool
	System    string // the system prompt
	Messages  []Message
	Tools     []string
	Body      json.RawMessage

	Status                     int
	Reply                      string // the text that was sent
	FirstDelta, LastDelta, End time.Time
	Cancelled                  bool // the client went before the end
}

// Message is one message of a request in plain text.
type Message struct {
	Role string
	Text string // text blocks joined by line breaks, without the CLI's reminders
	Tool string // the result of a tool, when the message holds one
}

// bytesPerToken turns the size of a request into a plausible number of tokens.
const bytesPerToken = 4

func parse(body []byte) *Request {
	v := gjson.ParseBytes(body)
	r := &Request{
		Body: body, Model: v.Get("model").String(), Stream: v.Get("stream").Bool(), System: blocks(v.Get("system"), "text"),
	}
	for _, m := range v.Get("messages").Array() {
		r.Messages = append(r.Messages, Message{
			Role: m.Get("role").String(), Text: blocks(m.Get("content"), "text"), Tool: toolResult(m.Get("content")),
		})
	}
	for _, t := range v.Get("tools").Array() {
		r.Tools = append(r.Tools, t.Get("name").String())
	}
	return r
}

// blocks joins the blocks of one type. The CLI's own reminders are left out.
func blocks(content gjson.Result, kind string) string {
	if content.Type == gjson.String {
		return content.String()
	}
	var parts []string
	for _, b := range content.Array() {
		if text := b.Get("text").String(); b.Get("type").String() == kind && !strings.HasPrefix(text, "<system-reminder>") {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func toolResult(content gjson.Result) string {
	var parts []string
	for _, b := range content.Array() {
		if b.Get("type").String() == "tool_result" {
			parts = append(parts, blocks(b.Get("content"), "text"))
		}
	}
	return strings.Join(parts, "\n")
}

// LastUser is the text of the last message that a person wrote.
func (r *Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "user" && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// AllText is the text of all messages.
func (r *Request) AllText() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n" + m.Tool + "\n")
	}
	return b.String()
}

// HasTool reports whether the request offers a tool.
func (r *Request) HasTool(name string) bool {
	for _, t := range r.Tools {
		if t == name {
			return true
		}
	}
	return false
}
