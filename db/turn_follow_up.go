package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// FollowUps stores the turns that agents start by themselves when one of their background tasks has ended. Such a turn
// is created in the transaction that ends the turn which started the task, so that a crash does not lose it. It waits
// until the agent starts it; then it is queued and claimed like any other. It has no questions of its own: it continues
// those of the turn that it follows. A chat has at most one.
type FollowUps struct{ db *DB }

// FollowUps returns the follow-ups in the database.
func (ts Turns) FollowUps() FollowUps { return FollowUps(ts) }

const openFollowUp = `SELECT ` + turnColumns + ` FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND follows > 0` + isOpen + ` ORDER BY id LIMIT 1`

// Open returns the waiting or queued follow-up of a chat, or [ErrNotFound].
func (fs FollowUps) Open(ctx context.Context, key chat.Key) (Turn, error) {
	t, err := queryOne(ctx, fs.db.read, scanTurn, openFollowUp, key.String())
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("follow-up in %v: %w", key, err)
	}
	return t, err
}

const insertFollowUp = `INSERT INTO turns (chat_key, epoch, state, session_id, reply_to, created_at, follows)
	SELECT ?1, epoch, 'running', session_id, reply_to, ?3, CASE follows WHEN 0 THEN id ELSE follows END FROM turns
	WHERE id = ?2`

// insert creates the follow-up of a turn that ends, unless one is already waiting. If all questions of the turn were
// recalled it returns [ErrNotFound].
func (fs FollowUps) insert(ctx context.Context, tx *sql.Tx, t Turn) error {
	_, err := queryOne(ctx, tx, scanTurn, openFollowUp, t.Key.String())
	if errors.Is(err, ErrNotFound) {
		var recalled bool
		if recalled, err = allRecalled(ctx, tx, t.Key, t.questionTurn()); err == nil && recalled {
			return ErrNotFound
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, insertFollowUp, t.Key.String(), t.ID, millis(fs.db.now()))
		}
	}
	if err != nil {
		return fmt.Errorf("follow-up of turn %d: %w", t.ID, err)
	}
	return nil
}

// FindOrCreate makes the follow-up of a turn, unless one waits already, which may be that of another turn. It returns
// the follow-up as a reply to the questions of the given turn, with these, and with those of the turns that this one
// continues. The turn may still run. If its questions were recalled nothing follows it: the result is [ErrNotFound].
func (fs FollowUps) FindOrCreate(ctx context.Context, last Turn) (c Claim, err error) {
	err = fs.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if err := fs.insert(ctx, tx, last); err != nil {
			return err
		}
		if c.Turn, err = queryOne(ctx, tx, scanTurn, openFollowUp, last.Key.String()); err != nil {
			return err
		}
		if c.Chat, err = loadChat(ctx, tx, last.Key); err != nil {
			return err
		}
		asked, err := loadTurn(ctx, tx, last.Key, last.questionTurn())
		if err != nil {
			return err
		}
		c.Turn.ReplyTo = asked.ReplyTo
		c.Asked, err = askedFor(ctx, tx, asked)
		return err
	})
	if err != nil {
		return Claim{}, fmt.Errorf("begin the follow-up of turn %d: %w", last.ID, err)
	}
	return c, nil
}

// askedFor lists the questions for which a turn works, including those of the turns that it continues.
func askedFor(ctx context.Context, tx *sql.Tx, t Turn) (list []chat.Message, err error) {
	for {
		asked, err := queryMessages(ctx, tx, t.Key, selectAsked, t.Key.String(), t.ID)
		if err != nil {
			return nil, err
		}
		list = append(asked, list...)
		earlier := cmp.Or(t.Follows, t.Continues)
		if earlier == 0 {
			return list, nil
		}
		if t, err = loadTurn(ctx, tx, t.Key, earlier); errors.Is(err, ErrNotFound) { // deleted with the old History
			return list, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// insertAfter is insert for a turn that has ended. What a subagent of an ended follow-up still asks is needed by the next
// one.
func (fs FollowUps) insertAfter(ctx context.Context, tx *sql.Tx, ended Turn) error {
	if err := fs.insert(ctx, tx, ended); err != nil || ended.Follows == 0 {
		return err
	}
	next, err := queryOne(ctx, tx, scanTurn, openFollowUp, ended.Key.String())
	if err != nil {
		return fmt.Errorf("follow-up of turn %d: %w", ended.ID, err)
	}
	return fs.db.Approvals().inherit(ctx, tx, ended.ID, next.ID)
}

// Replace ends a follow-up that nobody reads yet, and makes that of another turn in its place. If the questions of that
// turn were recalled it changes nothing: the result is [ErrNotFound].
func (fs FollowUps) Replace(ctx context.Context, old, last Turn) (t Turn, err error) {
	err = fs.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, dropUnread, old.ID, Done, millis(fs.db.now())); err != nil {
			return err
		}
		if err := fs.insert(ctx, tx, last); err != nil {
			return err
		}
		if t, err = queryOne(ctx, tx, scanTurn, openFollowUp, old.Key.String()); err != nil || t.ID == old.ID {
			return err
		}
		return fs.db.Approvals().inherit(ctx, tx, old.ID, t.ID)
	})
	if err != nil {
		return Turn{}, fmt.Errorf("replace follow-up %d: %w", old.ID, err)
	}
	return t, nil
}

const followUpPrompts = `SELECT prompt_id FROM turns WHERE session_id = ?1 AND session_id <> '' AND follows > 0
	AND prompt_id <> '' ORDER BY id`

// PromptIDs lists what names the follow-ups that were read in a session: see [Turn.Prompt].
func (fs FollowUps) PromptIDs(ctx context.Context, session string) ([]string, error) {
	list, err := queryAll(ctx, fs.db.read, scanText, followUpPrompts, session)
	if err != nil {
		return nil, fmt.Errorf("follow-ups in session %s: %w", session, err)
	}
	return list, nil
}

const resetFollowUps = `UPDATE turns SET state = 'running', started_at = 0 WHERE state = 'queued' AND follows > 0`

// ResetQueued has all follow-ups that are queued wait again, at the start of the program: the agents that have begun
// them are gone.
func (fs FollowUps) ResetQueued(ctx context.Context) error {
	if _, err := fs.db.engine.Exec(ctx, resetFollowUps); err != nil {
		return fmt.Errorf("follow-ups that were queued: %w", err)
	}
	return nil
}

const (
	queueFollowUp = `UPDATE turns SET state = 'queued' WHERE id = ?1 AND follows > 0 AND state = 'running'
		AND started_at = 0`
	waitFollowUp = `UPDATE turns SET state = 'running', started_at = 0 WHERE id = ?1 AND follows > 0
		AND state = 'running'`
	dropFollowUp = `UPDATE turns SET state = ?2, ended_at = ?3 WHERE id = ?1 AND follows > 0` + isOpen

	dropUnread = dropFollowUp + ` AND (state = 'queued' OR started_at = 0)`
)

// Enqueue queues a waiting follow-up because its agent has started it.
func (fs FollowUps) Enqueue(ctx context.Context, turn int64) error {
	return fs.change(ctx, "queue", queueFollowUp, turn)
}

// Unclaim sets a claimed follow-up back to waiting because its agent has not started it.
func (fs FollowUps) Unclaim(ctx context.Context, turn int64) error {
	return fs.change(ctx, "put back", waitFollowUp, turn)
}

// Drop ends an unneeded follow-up without showing anything.
func (fs FollowUps) Drop(ctx context.Context, turn int64, end TurnState) error {
	return fs.change(ctx, "drop", dropFollowUp, turn, end, millis(fs.db.now()))
}

func (fs FollowUps) change(ctx context.Context, what, statement string, turn int64, args ...any) error {
	if _, err := fs.db.engine.Exec(ctx, statement, append([]any{turn}, args...)...); err != nil {
		return fmt.Errorf("%s follow-up %d: %w", what, turn, err)
	}
	return nil
}

// A follow-up is created after the turn that it follows.
const followUpsOf = `SELECT ` + turnColumns + ` FROM turns WHERE chat_key = ?1 AND id > ?2 AND follows = ?2`

// withdrawFollowUps removes what an agent has said, or will say, by itself about a recalled question, if there is no
// other question left.
func (r *Recalled) withdrawFollowUps(ctx context.Context, d *DB, tx *sql.Tx, m chat.Message) error {
	if m.Turn == 0 || m.Role != chat.User {
		return nil
	}
	if recalled, err := allRecalled(ctx, tx, m.Key, m.Turn); err != nil || !recalled {
		return err
	}
	r.Over = append(r.Over, m.Turn)
	list, err := queryAll(ctx, tx, scanTurn, followUpsOf, m.Key.String(), m.Turn)
	if err != nil {
		return fmt.Errorf("follow-ups of turn %d: %w", m.Turn, err)
	}
	for _, t := range list {
		if err := r.withdrawFollowUp(ctx, d, tx, t); err != nil {
			return fmt.Errorf("take back follow-up %d: %w", t.ID, err)
		}
	}
	return nil
}

func (r *Recalled) withdrawFollowUp(ctx context.Context, d *DB, tx *sql.Tx, t Turn) error {
	if t.State == Running || t.State == Queued {
		res, err := tx.ExecContext(ctx, dropUnread, t.ID, Cancelled, millis(d.now()))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			r.FollowUp = t
			return err
		}
		r.Running = t.ID // its end hides its answer
		_, err = d.decide(ctx, tx, t.Key, convo.Stops{Turns: []int64{t.ID}})
		return err
	}
	if t.State == Interrupted { // nobody can continue it
		if _, err := d.decide(ctx, tx, t.Key, convo.Decides{Turn: t.ID}); err != nil {
			return err
		}
	}
	return hideAnswer(ctx, d, tx, t)
}

// DropFollowUp ends the chat's follow-up that waits or is queued, because somebody has stopped its agent.
type DropFollowUp struct{ Turn int64 }

func (e DropFollowUp) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, "stop what goes on in the background", dropOwnFollowUp, e.Turn, millis(a.db.now()))
}

const dropOwnFollowUp = `UPDATE turns SET state = 'cancelled', ended_at = ?3 WHERE chat_key = ?1 AND id = ?2
	AND follows > 0` + isOpen + ` AND (state = 'queued' OR started_at = 0)`
