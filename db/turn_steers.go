package db

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/internal/chat"
)

// Steer asks that a message is handed to a turn that runs, and not queued.
type Steer struct {
	Turn   int64
	Prompt string // the name that the message gets in the session's transcript
}

// The message's name is kept with those under which the turn was asked before: a session that ends with it is known.
const steerTurn = `UPDATE turns SET asked_before = asked_before || ?3 || ' '
	WHERE id = ?1 AND chat_key = ?2 AND state = 'running' AND stopped = 0 AND epoch = ?4`

const insertSteer = `INSERT INTO steers (turn_id, chat_key, seq, prompt_id) VALUES (?1, ?2, ?3, ?4)`

// steer adds m to a turn that runs, and reports whether it still does.
func (q Queue) steer(ctx context.Context, tx *sql.Tx, m chat.Message, s Steer) (bool, error) {
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

const readSteer = `DELETE FROM steers WHERE turn_id = ?1 AND prompt_id = ?2`

// SteersRead notes that the agent of a turn has read messages that were handed to it, or that they are part of its
// prompt. They belong to the turn then, whatever becomes of it.
func (ts Turns) SteersRead(ctx context.Context, turn int64, prompts ...string) error {
	err := ts.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return forgetRead(ctx, tx, turn, prompts)
	})
	if err != nil {
		return fmt.Errorf("messages read by turn %d: %w", turn, err)
	}
	return nil
}

func forgetRead(ctx context.Context, tx *sql.Tx, turn int64, prompts []string) error {
	for _, prompt := range prompts {
		if _, err := tx.ExecContext(ctx, readSteer, turn, prompt); err != nil {
			return err
		}
	}
	return nil
}

const forgetSteers = `DELETE FROM steers WHERE turn_id = ?1`

const selectSteers = `SELECT prompt_id FROM steers WHERE turn_id = ?1 ORDER BY seq`

// Steers lists the names of the messages that were handed to a turn, and that its agent is not known to have read, in
// order.
func (ts Turns) Steers(ctx context.Context, turn int64) ([]string, error) {
	list, err := collect(ctx, ts.db.read, scanText, selectSteers, turn)
	if err != nil {
		return nil, fmt.Errorf("messages handed to turn %d: %w", turn, err)
	}
	return list, nil
}

const (
	hasSteers  = `SELECT COUNT(*) FROM steers WHERE turn_id = ?1`
	moveSteers = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'
		AND seq IN (SELECT seq FROM steers WHERE turn_id = ?2)` + notRecalled
)

// askUnread has the messages of a turn that has ended answered that its agent has not read: in the turn that waits, or
// in one of their own. Those of a turn that was stopped are not answered.
func (ts Turns) askUnread(ctx context.Context, tx *sql.Tx, e TurnResult) error {
	t, n := e.Turn, 0
	if err := forgetRead(ctx, tx, t.ID, e.SteersRead); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, hasSteers, t.ID).Scan(&n); err != nil || n == 0 {
		return err
	}
	if e.State != Cancelled {
		if err := ts.askAgain(ctx, tx, t, moveSteers, 0); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, forgetSteers, t.ID)
	return err
}
