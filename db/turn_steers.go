package db

import (
	"context"
	"fmt"

	"magpie/internal/convo"
)

// Steers stores the messages that were passed to running turns.
type Steers struct{ db *DB }

// Steers returns the steered messages in the database.
func (ts Turns) Steers() Steers { return Steers(ts) }

// Steer asks to pass a message to a running turn instead of queueing it.
type Steer struct {
	Turn   int64
	Prompt string // the message's prompt ID in the session's transcript
}

// MarkRead records that the agent of a turn has read steered messages. They belong to the turn from then on, whatever
// happens to it.
func (ss Steers) MarkRead(ctx context.Context, t Turn, prompts ...string) error {
	return ss.db.decideAlone(ctx, t.Key, convo.Reads{Turn: t.ID, Prompts: prompts})
}

// MarkAsked records that steered messages are part of the turn's prompt.
func (ss Steers) MarkAsked(ctx context.Context, t Turn, prompts ...string) error {
	return ss.db.decideAlone(ctx, t.Key, convo.Joins{Turn: t.ID, Prompts: prompts})
}

const selectSteers = `SELECT prompt_id FROM steers WHERE turn_id = ?1 ORDER BY seq`

// Prompts lists the prompt IDs of a turn's steered messages, in order, including those that its agent has read.
func (ss Steers) Prompts(ctx context.Context, turn int64) ([]string, error) {
	list, err := queryAll(ctx, ss.db.read, scanText, selectSteers, turn)
	if err != nil {
		return nil, fmt.Errorf("messages handed to turn %d: %w", turn, err)
	}
	return list, nil
}
