package stream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Decoder turns the lines of one turn into events. It keeps state because the CLI repeats itself: a block arrives in
// deltas and then complete, and after a broken stream the whole answer arrives again with another message ID.
type Decoder struct {
	message  string // id of the model message that is being streamed
	streamed bool   // its stream is incomplete
	base     int    // the first block of that message
	// index by the API's number of a content block: our number of the first block from there on
	blocks       []int
	next         int             // number of the next block
	awaiting     []int           // blocks that were streamed and have not arrived complete yet
	announced    map[string]bool // ids of tool calls that were reported
	failure      Failure
	limit        string    // the window of the limit that a call has reached, as far as the CLI names it
	limitEnds    time.Time // zero = the CLI has not said
	foreign      bool      // the server's error has not the form of the model's API
	inputTokens  int64     // of the last call of the model
	outputTokens int64     // of the last call of the model
	Unasked      bool      // the agent started the turn by itself
	Command      bool      // the turn is a command of the CLI, which answers it itself
	hook         *hook     // a hook has kept the prompt from the model; nil = none has
}

// Decode parses one line. A line that is not a JSON object, or of an unknown type, yields nothing.
func (d *Decoder) Decode(line []byte) []Event {
	if !ValidJSON(line) {
		return nil
	}
	v := gjson.ParseBytes(line)
	own := v.Get("parent_tool_use_id").String() == "" // not from within a subagent
	switch v.Get("type").String() {
	case "system":
		return d.decodeSystem(v)
	case "stream_event":
		if own {
			return append(d.decodeStream(v.Get("event")), d.withdrawBlocks(v.Get("abandoned_blocks"))...)
		}
	case "assistant":
		if own {
			return d.decodeAssistant(v)
		}
	case "user":
		if own {
			return decodeToolResults(v)
		}
	case "rate_limit_event":
		return []Event{d.decodeLimits(v)}
	case "result":
		return d.decodeResult(v)
	}
	return nil
}

// decodeSystem parses the few subtypes that matter. The CLI has many more and adds others in every version, so unknown
// ones are ignored.
func (d *Decoder) decodeSystem(v gjson.Result) []Event {
	switch v.Get("subtype").String() {
	case "init":
		d.hook = nil
		e := Started{
			Session: v.Get("session_id").String(), Model: v.Get("model").String(),
			Mode: v.Get("permissionMode").String(),
		}
		for _, s := range v.Get("mcp_servers").Array() {
			e.Servers = append(e.Servers, MCPServer{s.Get("name").String(), s.Get("status").String()})
		}
		return []Event{e}
	case "status":
		if v.Get("status").String() == "compacting" {
			return []Event{Compacting{}}
		}
	case "informational":
		d.hook = hookOfNote(v)
	case "api_retry":
		return []Event{Retrying{
			Delay:   time.Duration(v.Get("retry_delay_ms").Float() * float64(time.Millisecond)),
			Failure: FailureOf(v.Get("error").String()),
		}}
	}
	return nil
}

// decodeStream parses the raw events of the model's API, which the CLI forwards with --include-partial-messages.
func (d *Decoder) decodeStream(ev gjson.Result) []Event {
	switch ev.Get("type").String() {
	case "message_start":
		// A repeated request after a cut stream has another ID; it replaces what was streamed under the old one.
		events := d.startMessage(ev.Get("message.id").String())
		d.recordTokens(ev.Get("message.usage"))
		d.streamed = true
		return events
	case "content_block_start":
		block := ev.Get("content_block")
		d.blocks = append(d.blocks, d.next)
		switch kind := block.Get("type").String(); {
		case kind == "text":
			d.awaiting = append(d.awaiting, d.next)
			d.next++
		case IsToolUse(kind):
			return d.announceTool(block)
		}
	case "content_block_delta":
		switch delta := ev.Get("delta"); delta.Get("type").String() {
		case "text_delta":
			if len(d.awaiting) > 0 {
				return []Event{Text{Block: d.awaiting[len(d.awaiting)-1], Text: delta.Get("text").String()}}
			}
		case "thinking_delta":
			return []Event{Thinking{Text: delta.Get("thinking").String()}}
		}
	case "message_delta":
		d.recordTokens(ev.Get("usage"))
	case "message_stop":
		d.streamed = false
	}
	return nil
}

// recordTokens records the token counts of a call of the model. The input is reported at the beginning and the output
// at the end, where the input may be missing.
func (d *Decoder) recordTokens(usage gjson.Result) {
	read := tokens(usage.Get("input_tokens")) + tokens(usage.Get("cache_read_input_tokens")) +
		tokens(usage.Get("cache_creation_input_tokens"))
	if read > 0 {
		d.inputTokens = read
	}
	d.outputTokens = tokens(usage.Get("output_tokens"))
}

// startMessage starts the model message id. If the previous stream did not finish, its blocks are void: the new message
// repeats them.
func (d *Decoder) startMessage(id string) []Event {
	var events []Event
	if d.streamed && d.next > d.base {
		events = []Event{Rewind{Block: d.base}}
		d.next = d.base
	}
	d.message, d.base, d.streamed, d.awaiting, d.blocks = id, d.next, false, nil, nil
	return events
}

// withdrawBlocks withdraws the blocks that a broken stream has not completed. Since about 2.1.330 the CLI closes such a
// stream itself and names the blocks in its message_stop; earlier versions show it only by the next message.
func (d *Decoder) withdrawBlocks(v gjson.Result) []Event {
	from := v.Get("from_block_index").Int()
	if !v.Exists() || v.Get("api_message_id").String() != d.message || from < 0 || from >= int64(len(d.blocks)) {
		return nil
	}
	first := d.blocks[from]
	d.awaiting = slices.DeleteFunc(d.awaiting, func(n int) bool { return n >= first })
	if d.next == first {
		return nil
	}
	d.next = first
	return []Event{Rewind{Block: first}}
}

// decodeAssistant parses one complete content block; there is one such line per block.
func (d *Decoder) decodeAssistant(v gjson.Result) []Event {
	if f := v.Get("error").String(); f != "" {
		d.failure = FailureOf(f)
		// The CLI names the type of an error that has one (2.1.332; 2.1.197 never does).
		d.foreign = v.Get("is_api_error_message").Bool() && !v.Get("api_error_type").Exists()
	}
	msg := v.Get("message")
	if msg.Get("model").String() == "<synthetic>" {
		return nil // written by the CLI, not by the model; the result line has the details
	}
	var events []Event
	if id := msg.Get("id").String(); id != d.message {
		events = d.startMessage(id)
		d.recordTokens(msg.Get("usage")) // it was not streamed
	}
	for _, block := range msg.Get("content").Array() {
		switch kind := block.Get("type").String(); {
		case kind == "text":
			n := d.next
			if len(d.awaiting) > 0 {
				n, d.awaiting = d.awaiting[0], d.awaiting[1:]
			} else {
				d.next++
			}
			events = append(events, Text{Block: n, Text: block.Get("text").String(), Whole: true})
		case IsToolUse(kind):
			events = append(events, d.announceTool(block)...)
			events = append(events, ToolUse{
				ID: block.Get("id").String(), Name: block.Get("name").String(),
				Input: json.RawMessage(block.Get("input").Raw),
			})
		case strings.HasSuffix(kind, "_tool_result"): // of a tool that the model's own server runs
			failed := strings.HasSuffix(block.Get("content.type").String(), "_error") || block.Get("is_error").Bool()
			events = append(events, ToolResult{ID: block.Get("tool_use_id").String(), Failed: failed})
		}
	}
	return events
}

// IsToolUse reports whether a content block of this kind is a tool call: of the CLI's own tools, or of those that the
// model's server runs.
func IsToolUse(kind string) bool {
	return kind == "tool_use" || kind == "server_tool_use" || kind == "mcp_tool_use"
}

// announceTool reports a tool call, once.
func (d *Decoder) announceTool(block gjson.Result) []Event {
	id := block.Get("id").String()
	if d.announced[id] {
		return nil
	}
	if d.announced == nil {
		d.announced = map[string]bool{}
	}
	d.announced[id] = true
	return []Event{ToolCall{ID: id, Name: block.Get("name").String()}}
}

// decodeToolResults may come in a different order than the calls (CLI 2.1.197), so they are matched by ID.
func decodeToolResults(v gjson.Result) []Event {
	var events []Event
	for _, block := range v.Get("message.content").Array() {
		if block.Get("type").String() == "tool_result" {
			events = append(events, ToolResult{
				ID: block.Get("tool_use_id").String(), Failed: block.Get("is_error").Bool(),
				Text: resultText(block.Get("content")),
			})
		}
	}
	return events
}

// maxResultText limits how much of a tool's result is kept, in bytes.
const maxResultText = 4 << 10

// resultText is the beginning of a tool's result, only text parts. The CLI puts errors in a tag of its own.
func resultText(content gjson.Result) string {
	text := content.String()
	if content.IsArray() {
		text = ""
		for _, part := range content.Array() {
			if part.Get("type").String() == "text" && len(text) < maxResultText {
				text += part.Get("text").String() + "\n"
			}
		}
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "<tool_use_error>")
	text = strings.TrimSuffix(text, "</tool_use_error>")
	if len(text) > maxResultText {
		text = strings.ToValidUTF8(text[:maxResultText], "")
	}
	return text
}

// decodeResult parses the end of a turn. is_error decides about success, not the subtype: API errors arrive as subtype
// "success". The cost is cumulative over the process, unless the CLI also reports the turn's own.
func (d *Decoder) decodeResult(v gjson.Result) []Event {
	if v.Get("origin").Exists() && !d.Unasked {
		return nil // the end of a turn that a background task of the CLI started, not one of ours
	}
	u := v.Get("usage")
	r := Result{
		Session: v.Get("session_id").String(),
		Text:    v.Get("result").String(),
		CostUSD: dollars(v.Get("total_cost_usd")),
		Held:    d.inputTokens + d.outputTokens,
		Message: d.message,
		Usage: Usage{
			Input: tokens(u.Get("input_tokens")), Output: tokens(u.Get("output_tokens")),
			CacheRead: tokens(u.Get("cache_read_input_tokens")), CacheNew: tokens(u.Get("cache_creation_input_tokens")),
		},
	}
	for _, e := range v.Get("errors").Array() {
		r.Errors = append(r.Errors, e.String())
	}
	r.Model, r.Window, r.Total = modelUsage(v.Get("modelUsage"))
	if own := v.Get("model_usage_since_last_result"); own.IsObject() {
		var cost float64
		own.ForEach(func(_, usage gjson.Result) bool {
			cost += dollars(usage.Get("costUSD"))
			return true
		})
		r.OfTurn = &cost
		r.Model, r.Window, _ = modelUsage(own)
	}
	if v.Get("is_error").Bool() {
		r.Failure = d.classify(v, r)
		r.Limit, r.Resets = d.limit, d.resetTime(r)
	}
	r.Unsaid = IsEmptyResult(v)
	switch {
	case r.Unsaid && d.hook != nil:
		r.Failure, r.Text = FailHook, d.hook.words
	case v.Get("terminal_reason").String() == "hook_stopped":
		r.Failure = FailHookStop
	case r.Unsaid && !d.Unasked && !d.Command: // what the CLI says in place of the model is no answer
		r.Failure, r.Text, r.Errors = FailUnknown, "", append(r.Errors, firstLine(r.Text))
	}
	return []Event{r}
}

// resetTime is when the cause of a failure ends; zero = unknown.
func (d *Decoder) resetTime(r Result) time.Time {
	switch now := time.Now(); {
	case r.Failure == FailRateLimit && d.limitEnds.After(now):
		return d.limitEnds
	case r.Failure == FailRateLimit || r.Failure == FailBilling || r.Failure == FailOverloaded || r.Failure == FailServer:
		return resetTime(r.Text, now)
	}
	return time.Time{}
}

// decodeLimits parses a report about limits, which comes before the result.
func (d *Decoder) decodeLimits(v gjson.Result) RateLimit {
	e := limitReport(v)
	d.limit, d.limitEnds = "", time.Time{}
	if info := v.Get("rate_limit_info"); !e.Allowed && info.Get("resetsAt").Int() > 0 {
		d.limit, d.limitEnds = info.Get("rateLimitType").String(), time.Unix(info.Get("resetsAt").Int(), 0)
	}
	return e
}

// IsEmptyResult reports whether a result ends a turn in which the model was not asked: if several background tasks end
// at once, the CLI starts a turn for each of them, and tells the model about all of them in the last one (2.1.330).
func IsEmptyResult(v gjson.Result) bool {
	calls := v.Get("num_turns")
	return calls.Exists() && calls.Int() == 0 && !v.Get("is_error").Bool()
}

// IsUnasked reports whether a line is the result of a turn that the agent started by itself.
func IsUnasked(line []byte) bool {
	return bytes.Contains(line, []byte(`"origin"`)) && gjson.GetBytes(line, "type").String() == "result" &&
		strings.HasPrefix(gjson.GetBytes(line, "origin.kind").String(), "task")
}

// ReplayedID returns the ID of the user message that the agent is reading now, if the line reports one. The CLI repeats
// each message at that point because of --replay-user-messages (2.1.197 and 2.1.330).
func ReplayedID(line []byte) (id string, ok bool) {
	if !bytes.Contains(line, []byte(`"isReplay":true`)) {
		return "", false
	}
	v := gjson.ParseBytes(line)
	return v.Get("uuid").String(), v.Get("type").String() == "user" && v.Get("isReplay").Bool()
}

// modelUsage parses what a process has used of each model since its start: the most expensive model, its window, and
// the total of the tokens.
func modelUsage(v gjson.Result) (name string, window int64, total Usage) {
	var most float64 = -1
	v.ForEach(func(model, usage gjson.Result) bool {
		if cost := dollars(usage.Get("costUSD")); cost > most {
			most, name, window = cost, model.String(), tokens(usage.Get("contextWindow"))
		}
		total.Input += tokens(usage.Get("inputTokens"))
		total.Output += tokens(usage.Get("outputTokens"))
		total.CacheRead += tokens(usage.Get("cacheReadInputTokens"))
		total.CacheNew += tokens(usage.Get("cacheCreationInputTokens"))
		return true
	})
	return name, window, total
}

// RecordedUsage is the usage of a model's message.
func RecordedUsage(u gjson.Result) Usage {
	return Usage{
		Input: tokens(u.Get("input_tokens")), Output: tokens(u.Get("output_tokens")),
		CacheRead: tokens(u.Get("cache_read_input_tokens")), CacheNew: tokens(u.Get("cache_creation_input_tokens")),
	}
}

// classify determines why a turn failed. The subtype "success" means nothing: API errors arrive with it.
func (d *Decoder) classify(v gjson.Result, r Result) Failure {
	// From the most specific to the least: a subtype or reason is certain, a text may be rephrased by the
	// next version, and an HTTP status says least.
	switch v.Get("subtype").String() {
	case "error_max_turns", "error_max_budget_usd":
		return FailLimit
	}
	switch v.Get("terminal_reason").String() {
	case "prompt_too_long", "image_error":
		return FailTooLong
	case "aborted_streaming", "aborted_tools":
		return FailAborted
	}
	for _, e := range r.Errors {
		if strings.HasPrefix(e, "No conversation found with session ID") || strings.Contains(e, "--resume requires") {
			return FailSession
		}
	}
	status := v.Get("api_error_status").Int()
	if f := ClassifyText(r.Text, status, d.foreign); f != FailUnknown {
		return f
	}
	if d.failure != "" && d.failure != FailUnknown {
		return d.failure
	}
	return FailureOfStatus(status)
}

// FailureOfStatus classifies an HTTP status of the model's API.
func FailureOfStatus(status int64) Failure {
	switch {
	case status == 404:
		return FailModel
	case status == 429:
		return FailRateLimit
	case status == 529:
		return FailOverloaded
	case status >= 500:
		return FailServer
	case status >= 400:
		return FailRequest
	}
	return FailUnknown
}

// ClassifyText classifies what the CLI or the server says about a failure. The CLI's own code is too coarse: it takes
// every 403 for a failed login.
func ClassifyText(text string, status int64, foreign bool) Failure {
	for _, known := range []struct {
		part    string
		failure Failure
	}{
		{"Not logged in", FailAuth},
		{"Please run /login", FailAuth},
		{"Invalid API key", FailKey},
		{"Prompt is too long", FailTooLong},
		{"Overloaded", FailOverloaded},
		{"Unable to connect", FailNetwork},
		{"timed out", FailNetwork},
		{"Credit balance", FailBilling},
		{"unable to respond to this request", FailRefused},
		{"can't respond to this message", FailRefused}, // since 2.1.330
	} {
		if strings.Contains(text, known.part) {
			return known.failure
		}
	}
	return serverFailure(text, status, foreign)
}

// FailureOf classifies the CLI's own error codes.
func FailureOf(word string) Failure {
	switch word {
	case "authentication_failed":
		return FailAuth
	case "billing_error":
		return FailBilling
	case "rate_limit":
		return FailRateLimit
	case "overloaded":
		return FailOverloaded
	case "server_error":
		return FailServer
	case "model_not_found":
		return FailModel
	case "invalid_request":
		return FailRequest
	}
	return FailUnknown
}
