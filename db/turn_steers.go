package db

import (
	"context"
	"fmt"
)

// Steer asks to hand a message to a running turn instead of queueing it.
type Steer struct {
	Turn   int64
	Prompt string // the message's prompt ID in the session's transcript
}

const selectSteers = `SELECT prompt_id FROM steers WHERE turn_id = ?1 ORDER BY seq`

// Steered lists the prompt IDs of the messages that were handed to a turn, in order, including those that its agent has
// read.
func (ts Turns) Steered(ctx context.Context, turn int64) ([]string, error) {
	list, err := queryAll(ctx, ts.db.read, scanText, selectSteers, turn)
	if err != nil {
		return nil, fmt.Errorf("messages handed to turn %d: %w", turn, err)
	}
	return list, nil
}
