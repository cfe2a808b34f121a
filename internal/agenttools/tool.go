package agenttools

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// Tool is something that the agent of a chat may ask the bridge to do.
type Tool struct {
	name  string
	offer func(to *mcp.Server, key chat.Key, log zerolog.Logger)
}

// RefusedError tells the agent in its own words why something was not done.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// failed is what the agent is told of errors that are none of its business.
const failed = "This did not work, through no fault of yours. Go on without it."

// New makes a tool. The fields of In, a struct with json and jsonschema tags, are what the agent may give; the chat is
// never among them: it is the one that the agent's process was started for. An error other than a [RefusedError] is
// logged, and the agent learns only that there was one.
func New[In any](name, description string, do func(ctx context.Context, key chat.Key, in In) (string, error)) Tool {
	offer := func(to *mcp.Server, key chat.Key, log zerolog.Logger) {
		handle := func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			text, err := do(ctx, key, in)
			var refused *RefusedError
			switch {
			case errors.As(err, &refused):
				return nil, nil, refused
			case err != nil:
				log.Error().Err(err).Stringer("chat", key).Str("tool", name).Msg("tool of the bridge failed")
				text = failed
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil, nil
		}
		mcp.AddTool(to, &mcp.Tool{Name: name, Description: description}, handle)
	}
	return Tool{name: name, offer: offer}
}
