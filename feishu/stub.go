package feishu

import (
	"context"

	"magpie/internal/chat"
)

func (c *Client) Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) { return nil, nil }
