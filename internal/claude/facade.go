// Package claude runs the Claude Code CLI: it starts processes, gives them turns, and stops them with all their
// descendants. What they say and are told is in [stream], what they work with in [workspace].
//
// It does not know chats, people and cards, only owners, prompts and sessions.
package claude

import (
	"magpie/internal/claude/stream"
	"magpie/internal/claude/transcript"
	"magpie/internal/claude/workspace"
)

// What agents work with; see [workspace].
type (
	Config = workspace.Config // the section [claude]
	Spec   = workspace.Spec   // the process that a turn needs
	Tools  = workspace.Tools  // the program's own tools for a process
)

// What the CLI says and is told, by the names under which the program's other packages know it; see [stream].
type (
	Event       = stream.Event       // one thing that happens in a turn
	Started     = stream.Started     // the CLI has accepted the message
	Text        = stream.Text        // a piece of the answer
	Rewind      = stream.Rewind      // the answer is withdrawn from a block on
	Thinking    = stream.Thinking    // a piece of the model's reasoning
	ToolCall    = stream.ToolCall    // a tool is about to be used
	ToolUse     = stream.ToolUse     // a tool is used
	ToolResult  = stream.ToolResult  // a tool has ended
	ToolAsk     = stream.ToolAsk     // people are asked for a permission or an answer
	ToolAskEnd  = stream.ToolAskEnd  // they need not answer any more
	ToolAllowed = stream.ToolAllowed // they have allowed it
	ToolDenied  = stream.ToolDenied  // they have refused it
	Steered     = stream.Steered     // the agent reads a message that was passed to the turn
	Retrying    = stream.Retrying    // the model's API has failed and is called again
	Compacting  = stream.Compacting  // the session is being summarized
	Result      = stream.Result      // the end of a turn
	RateLimit   = stream.RateLimit   // the limits on the use of the model
	LimitWindow = stream.LimitWindow // one of these limits
	MCPServer   = stream.MCPServer   // a server of a process
	Usage       = stream.Usage       // tokens
	Rule        = stream.Rule        // a permission rule
	Decision    = stream.Decision    // the answer to a ToolAsk
	Image       = stream.Image       // a picture for the agent
	Failure     = stream.Failure     // why a turn has failed
)

// The tools by which the agent, or an MCP server, asks people, and the mode of plans.
const (
	QuestionTool = stream.QuestionTool
	PlanTool     = stream.PlanTool
	FormTool     = stream.FormTool
	PlanMode     = stream.PlanMode
)

// The failures; see [stream.Failure].
const (
	FailAuth       = stream.FailAuth
	FailKey        = stream.FailKey
	FailDenied     = stream.FailDenied
	FailAddress    = stream.FailAddress
	FailBilling    = stream.FailBilling
	FailRateLimit  = stream.FailRateLimit
	FailOverloaded = stream.FailOverloaded
	FailServer     = stream.FailServer
	FailNetwork    = stream.FailNetwork
	FailModel      = stream.FailModel
	FailRequest    = stream.FailRequest
	FailRefused    = stream.FailRefused
	FailTooLong    = stream.FailTooLong
	FailLimit      = stream.FailLimit
	FailAborted    = stream.FailAborted
	FailSession    = stream.FailSession
	FailHook       = stream.FailHook
	FailHookStop   = stream.FailHookStop
	FailUnknown    = stream.FailUnknown
)

// ErrNoImage means that a file is not a picture that can be shown; see [stream.NewImage].
var ErrNoImage = stream.ErrNoImage

// The sessions that the CLI keeps; see [transcript].
type (
	Transcripts       = transcript.Files      // those of one owner's agents
	TranscriptMessage = transcript.Message    // what was said in one
	Outcome           = transcript.Outcome    // what has become of a turn
	SyncState         = transcript.SyncState  // how far a session goes
	ModelUsage        = transcript.ModelUsage // what a model was used
	LostCause         = transcript.LostCause  // why a session cannot be resumed
	LostError         = transcript.LostError  // it cannot
)

// The causes of a lost session; see [transcript.LostCause].
const (
	LostMissing   = transcript.LostMissing
	LostEmpty     = transcript.LostEmpty
	LostCorrupt   = transcript.LostCorrupt
	LostElsewhere = transcript.LostElsewhere
	LostMachine   = transcript.LostMachine
	LostForeign   = transcript.LostForeign
	LostUnknown   = transcript.LostUnknown
	LostTooLong   = transcript.LostTooLong
	LostRefused   = transcript.LostRefused
)

// ErrNoTranscript means that a session has no transcript on this machine.
var ErrNoTranscript = transcript.ErrNoTranscript
