package db

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/internal/chat"
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

// The message's prompt ID is kept with the turn's earlier ones, so that a session that ends with it is recognized.
const steerTurn = `UPDATE turns SET asked_before = asked_before || ?3 || ' '
	WHERE id = ?1 AND chat_key = ?2 AND state = 'running' AND stopped = 0 AND epoch = ?4`

const insertSteer = `INSERT INTO steers (turn_id, chat_key, seq, prompt_id) VALUES (?1, ?2, ?3, ?4)`

// insert adds m to a running turn, and reports whether it still runs.
func (ss Steers) insert(ctx context.Context, tx *sql.Tx, m chat.Message, s Steer) (bool, error) {
	res, err := tx.ExecContext(ctx, steerTurn, s.Turn, m.Key.String(), s.Prompt, m.Epoch)
	if err != nil {
		return false, fmt.Errorf("steer turn %d: %w", s.Turn, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, setMessageTurn, m.Key.String(), m.Seq, s.Turn); err != nil {
		return false, fmt.Errorf("bind message to turn: %w", err)
	}
	if _, err := tx.ExecContext(ctx, insertSteer, s.Turn, m.Key.String(), m.Seq, s.Prompt); err != nil {
		return false, fmt.Errorf("steer turn %d: %w", s.Turn, err)
	}
	return true, nil
}

const readSteer = `UPDATE steers SET is_read = 1 WHERE turn_id = ?1 AND prompt_id = ?2`

// MarkRead records that the agent of a turn has read steered messages. They belong to the turn from then on, whatever
// happens to it.
func (ss Steers) MarkRead(ctx context.Context, turn int64, prompts ...string) error {
	return ss.execForPrompts(ctx, readSteer, turn, prompts)
}

const askSteer = `DELETE FROM steers WHERE turn_id = ?1 AND prompt_id = ?2`

// MarkAsked records that steered messages are part of the turn's prompt.
func (ss Steers) MarkAsked(ctx context.Context, turn int64, prompts ...string) error {
	return ss.execForPrompts(ctx, askSteer, turn, prompts)
}

func (ss Steers) execForPrompts(ctx context.Context, statement string, turn int64, prompts []string) error {
	err := ss.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return execForSteers(ctx, tx, statement, turn, prompts)
	})
	if err != nil {
		return fmt.Errorf("messages handed to turn %d: %w", turn, err)
	}
	return nil
}

func execForSteers(ctx context.Context, tx *sql.Tx, statement string, turn int64, prompts []string) error {
	for _, prompt := range prompts {
		if _, err := tx.ExecContext(ctx, statement, turn, prompt); err != nil {
			return err
		}
	}
	return nil
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

const (
	unread      = ` AND seq IN (SELECT seq FROM steers WHERE turn_id = ?2 AND is_read = 0)`
	countUnread = `SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
		AND role = 'user'` + unread + notRecalled
	moveUnread = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
		AND role = 'user'` + unread + notRecalled
	forgetSteers = `DELETE FROM steers WHERE turn_id = ?1`
)

// handleTurnEnd decides about the steered messages of a turn that ends. The unread ones are asked next, unless the turn
// was stopped; an interrupted turn keeps them until somebody continues it.
func (ss Steers) handleTurnEnd(ctx context.Context, tx *sql.Tx, e TurnResult) error {
	if err := execForSteers(ctx, tx, readSteer, e.Turn.ID, e.SteersRead); err != nil {
		return err
	}
	switch e.State {
	case Interrupted:
		return nil
	case Cancelled:
		_, err := tx.ExecContext(ctx, forgetSteers, e.Turn.ID)
		return err
	}
	return ss.requeueUnread(ctx, tx, e.Turn)
}

// requeueUnread moves the unread messages of a turn into the waiting turn, or into one of their own.
func (ss Steers) requeueUnread(ctx context.Context, tx *sql.Tx, t Turn) error {
	var n int
	if err := tx.QueryRowContext(ctx, countUnread, t.Key.String(), t.ID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		if err := ss.db.Queue().requeueQuestions(ctx, tx, t, moveUnread, 0); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, forgetSteers, t.ID)
	return err
}

// continueSteers moves the unread messages of an interrupted turn to the turn that continues it.
func continueSteers(ctx context.Context, tx *sql.Tx, old Turn, id int64) error {
	_, err := tx.ExecContext(ctx, moveUnread, old.Key.String(), old.ID, id)
	if err == nil {
		_, err = tx.ExecContext(ctx, forgetSteers, old.ID)
	}
	if err != nil {
		return fmt.Errorf("messages that turn %d has not read: %w", old.ID, err)
	}
	return nil
}
