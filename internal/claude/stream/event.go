// Package stream is what the CLI says and what it is told: its lines as events, the requests and answers for it, and why
// a turn has failed. It reads no file of the CLI and runs no process.
package stream

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Event is one thing that happens in a turn: one of the types below.
type Event interface{ event() }

// Started means that the CLI has accepted the message.
type Started struct {
	Session string
	Model   string
	Mode    string // permission mode
	Servers []MCPServer
}

// MCPServer is an MCP server of a process.
type MCPServer struct {
	Name   string
	Status string // of the CLI: connected, pending, failed, needs-auth, disabled
}

// Broken reports whether the server is not available to the agent.
func (s MCPServer) Broken() bool { return s.Status == "failed" || s.Status == "needs-auth" }

// Pending reports whether the server has not started yet. The answer does not wait for it any longer.
func (s MCPServer) Pending() bool { return s.Status == "pending" }

// Text is a piece of the answer. An answer consists of blocks, numbered from 0.
type Text struct {
	Block int
	Text  string
	Whole bool // Text is the complete block and replaces what was streamed of it; otherwise it is appended
}

// Rewind withdraws the blocks from Block on: the model's stream broke and is repeated.
type Rewind struct{ Block int }

// Thinking is a piece of the model's reasoning.
type Thinking struct{ Text string }

// ToolCall means that the agent is about to use a tool. It comes as early as possible: before the tool's input is
// complete, so before it can have had any effect. The tool may never run, because the stream may break first.
type ToolCall struct {
	ID   string
	Name string
}

// ToolUse means that the agent starts to use a tool. A ToolCall with the same ID came before it.
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolResult means that a tool has ended.
type ToolResult struct {
	ID     string
	Failed bool
	Text   string // the beginning of its output, unchanged
}

// Refused reports whether the CLI has not run the tool.
func (r ToolResult) Refused() bool {
	return r.Failed && slices.ContainsFunc(refusals, func(s string) bool { return strings.HasPrefix(r.Text, s) })
}

// refusals are how the results of tools begin that the CLI has not run.
var refusals = []string{
	"Tool permission request failed: ", "Permission to use ", "Claude requested permissions to ", "<tool_use_error>",
	"This Bash command contains multiple operations. ",
}

// ToolAsk means that a tool needs permission from people, or that the agent, or an MCP server, asks them something; see
// [AsksPeople]. It waits for
// [claude.Process.Answer]; meanwhile the turn's timeouts are paused.
type ToolAsk struct {
	ID    string // of the request
	Use   string // of the tool use: a ToolUse with this ID came before it
	Name  string
	Input json.RawMessage // the exact input of the tool
	Rules []Rule          // rules that the CLI suggests to allow permanently
	Mode  string          // current permission mode
	// for whom the background task was started that asks; see [claude.UnaskedWork.StartFor]. Empty = the turn asks
	For string
}

// ToolAskEnd means that a [ToolAsk] needs no answer any more.
type ToolAskEnd struct{ ID string }

// ToolAllowed means that a [ToolAsk] was answered: this tool use continues.
type ToolAllowed struct{ ID, Name string }

// ToolDenied means that a [ToolAsk] was answered: this tool use was refused.
type ToolDenied struct{ ID, Name string }

// Steered means that the agent reads a message that was passed to the turn; see [claude.Process.Steer].
type Steered struct{ ID string }

// Retrying means that the model's API failed and is called again after Delay.
type Retrying struct {
	Delay   time.Duration
	Failure Failure
}

// Compacting means that the CLI is summarizing its session to make room.
type Compacting struct{}

// Result ends a turn.
type Result struct {
	Session string // may differ from the requested one
	Text    string // the last text block; on a failure the CLI's own message, which is not for users
	Failure Failure
	Limit   string    // the name of the limit that was reached, as in [LimitWindow]; empty = none, or unknown
	Resets  time.Time // when the cause of the failure ends; zero = unknown
	Errors  []string  // for operators
	Model   string    // the most expensive one
	Window  int64     // its context window, in tokens
	Usage   Usage
	CostUSD float64 // of this turn
	Held    int64   // tokens now in the session, from the last model call; 0 = unknown
	Message string  // ID of the model's last message, which is also in its transcript; empty = there was none

	Total Usage // of all models since the start of the process
	// OfTurn is the cost of the turn in USD, as the CLI reports it; nil = it reports only a total. The total of 2.1.330
	// includes earlier processes of the session; that of 2.1.197 starts with the process.
	OfTurn *float64
	Unsaid bool // the model was not asked; see [IsEmptyResult]
}

// Usage counts the tokens of one turn.
type Usage struct{ Input, Output, CacheRead, CacheNew int64 }

func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheNew + v.CacheNew}
}

// Total is the total of all kinds.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheNew }

func (Started) event()     {}
func (Text) event()        {}
func (Rewind) event()      {}
func (Thinking) event()    {}
func (ToolCall) event()    {}
func (ToolUse) event()     {}
func (ToolResult) event()  {}
func (ToolAsk) event()     {}
func (ToolAskEnd) event()  {}
func (ToolAllowed) event() {}
func (ToolDenied) event()  {}
func (Steered) event()     {}
func (Retrying) event()    {}
func (Compacting) event()  {}
func (Result) event()      {}

// Failure is why a turn failed; empty = it did not.
type Failure string

// The failures. Users see a different text for each.
const (
	FailAuth       Failure = "auth"    // not logged in
	FailKey        Failure = "key"     // the API key, or another token, is not accepted
	FailDenied     Failure = "denied"  // the server of the model refuses access
	FailAddress    Failure = "address" // what answers is not the model's API
	FailBilling    Failure = "billing" // no money or quota is left
	FailRateLimit  Failure = "rate_limit"
	FailOverloaded Failure = "overloaded"
	FailServer     Failure = "server"
	FailNetwork    Failure = "network"
	FailModel      Failure = "model" // unknown, or not allowed
	FailRequest    Failure = "request"
	FailRefused    Failure = "refused"
	FailTooLong    Failure = "too_long"     // the context does not fit
	FailLimit      Failure = "limit"        // turns or budget used up
	FailAborted    Failure = "aborted"      // interrupted
	FailSession    Failure = "session"      // the session to resume does not exist
	FailHook       Failure = "hook"         // a hook of the CLI's settings has refused the prompt
	FailHookStop   Failure = "hook_stopped" // a hook has ended the turn after a tool
	FailUnknown    Failure = "unknown"
)

// OfContents reports whether what a session holds, or the question, can have caused the failure.
func (f Failure) OfContents() bool { return f == FailRequest || f == FailRefused || f == FailTooLong }
