package feishu

import (
	"context"

	"magpie/internal/chat"
)

// Find finds nothing yet.
func (c *Client) Find(context.Context, chat.Ref) ([]chat.Sent, error) { return nil, nil }
