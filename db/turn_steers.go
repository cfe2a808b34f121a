package db

import (
	"context"
	"fmt"
)

const selectSteers = `SELECT prompt_id FROM steers WHERE turn_id = ?1 ORDER BY seq`

const followUpPrompts = `SELECT prompt_id FROM turns WHERE session_id = ?1 AND session_id <> '' AND follows > 0
	AND prompt_id <> '' ORDER BY id`

// PromptIDs lists the IDs in the transcript of what belongs to a turn besides its question: the messages that its agent
// was handed, in order, read or not; or for a follow-up, the follow-ups that were read in its session.
func (ts Turns) PromptIDs(ctx context.Context, t Turn) (list []string, err error) {
	if t.Follows != 0 {
		list, err = queryAll(ctx, ts.db.read, scanText, followUpPrompts, t.Session)
	} else {
		list, err = queryAll(ctx, ts.db.read, scanText, selectSteers, t.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("what belongs to turn %d: %w", t.ID, err)
	}
	return list, nil
}
