package agenttools

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// Tool is an action that the agent of a chat may request from the bridge.
type Tool struct {
	name  string
	offer func(to *mcp.Server, of *atomic.Pointer[chat.Key], log zerolog.Logger)
}

// RefusedError tells the agent why something was not done.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Refusedf is a [RefusedError] with a formatted reason.
func Refusedf(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// errNoChat refuses the call of an agent whose chat is not known yet.
var errNoChat = &RefusedError{Reason: "Nobody has asked you anything yet."}

// failed is the agent's message for internal errors, whose details it does not need.
const failed = "This did not work, through no fault of yours. Go on without it."

// New makes a tool. Its input are the fields of In, a struct with json and jsonschema tags. The chat is never an input:
// it is the one for which the agent's process was started. An error other than a [RefusedError] is logged, and the
// agent only learns that there was one.
func New[In any](name, description string, do func(ctx context.Context, key chat.Key, in In) (string, error)) Tool {
	offer := func(to *mcp.Server, of *atomic.Pointer[chat.Key], log zerolog.Logger) {
		handle := func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			bound := of.Load()
			if bound == nil {
				return nil, nil, errNoChat
			}
			key := *bound
			text, err := do(ctx, key, in)
			var refused *RefusedError
			switch {
			case errors.As(err, &refused):
				// A refusal is for the agent, which may correct its call; it is not a failure of the program and is not
				// logged.
				return nil, nil, refused
			case err != nil:
				log.Error().Err(err).Stringer("chat", key).Str("tool", name).Msg("tool call failed")
				// Internal errors may contain paths and parts of other chats, so the agent gets a fixed text.
				text = failed
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil},
				nil, nil
		}
		mcp.AddTool(to, &mcp.Tool{Name: name, Description: description}, handle)
	}
	return Tool{name: name, offer: offer}
}
