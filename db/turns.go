package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"magpie/internal/chat"
)

// TurnState is where a turn stands.
type TurnState string

// The states of a turn. All but Queued and Running are final.
const (
	Queued      TurnState = "queued"
	Running     TurnState = "running"
	Done        TurnState = "done"
	Failed      TurnState = "failed"
	Cancelled   TurnState = "cancelled"   // stopped by a user
	Interrupted TurnState = "interrupted" // cut off by the end of the program
)

// Turn is one question, or several asked together, and the run that answers it.
type Turn struct {
	ID      int64
	Key     chat.Key
	Epoch   int64
	Session string // the agent's session that it runs in
	Card    string // the card that shows it; empty = none yet
}

// The second condition is what the index turns_open asks for: without its very words every accept would read all turns.
const queuedTurn = `SELECT id FROM turns WHERE chat_key = ?1 AND epoch = ?2 AND state = 'queued'
	AND state IN ('queued', 'running') ORDER BY id DESC LIMIT 1`

const insertTurn = `INSERT INTO turns (chat_key, epoch, state, created_at) VALUES (?1, ?2, 'queued', ?3) RETURNING id`

const setMessageTurn = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND seq = ?2`

// queue adds m to the turn that waits in its chat, or to a new one.
func (d *DB) queue(ctx context.Context, tx *sql.Tx, m chat.Message) (int64, error) {
	var id int64
	err := tx.QueryRowContext(ctx, queuedTurn, m.Key.String(), m.Epoch).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, insertTurn, m.Key.String(), m.Epoch, millis(d.now())).Scan(&id)
	}
	if err != nil {
		return 0, fmt.Errorf("queue turn: %w", err)
	}
	if _, err := tx.ExecContext(ctx, setMessageTurn, m.Key.String(), m.Seq, id); err != nil {
		return 0, fmt.Errorf("bind message to turn: %w", err)
	}
	return id, nil
}

// Claim is a turn taken to be run, with what it asks.
type Claim struct {
	Turn   Turn
	Chat   Chat
	Asked  []chat.Message // in the order in which they were written
	Resume bool           // Turn.Session is the chat's session, else it is a new one
}

const claimTurn = `UPDATE turns SET state = 'running', started_at = ?2,
	session_id = CASE WHEN ?4 AND session <> '' THEN session ELSE ?3 END
	FROM (SELECT t.id AS head, CASE WHEN c.epoch = t.epoch THEN c.session_id ELSE '' END AS session
		FROM turns t JOIN chats c ON c.key = t.chat_key
		WHERE t.chat_key = ?1 AND t.state = 'queued' ORDER BY t.id LIMIT 1)
	WHERE id = head RETURNING id, epoch, session_id, card_id`

const selectAsked = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user' ORDER BY sent_at, seq`

// ClaimTurn takes the chat's oldest queued turn to be run, or returns [ErrNotFound].
// The turn runs in the chat's session when there is one and resume allows it, else in the new session fresh.
// The choice is stored with the turn before the agent can act, so that it is known after a crash.
func (d *DB) ClaimTurn(ctx context.Context, key chat.Key, fresh string, resume bool) (Claim, error) {
	c := Claim{Turn: Turn{Key: key}}
	err := d.tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		row := tx.QueryRowContext(ctx, claimTurn, key.String(), millis(d.now()), fresh, resume)
		if err := row.Scan(&c.Turn.ID, &c.Turn.Epoch, &c.Turn.Session, &c.Turn.Card); errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return fmt.Errorf("claim turn: %w", err)
		}
		if c.Chat, err = loadChat(ctx, tx, key); err != nil {
			return err
		}
		c.Asked, err = queryMessages(ctx, tx, key, selectAsked, key.String(), c.Turn.ID)
		return err
	})
	if err != nil {
		return Claim{}, fmt.Errorf("next turn of %v: %w", key, err)
	}
	c.Resume = c.Turn.Session != fresh
	return c, nil
}

// Asked lists the messages that a turn asks, in the order in which they were written.
func (d *DB) Asked(ctx context.Context, t Turn) ([]chat.Message, error) {
	list, err := queryMessages(ctx, d.read, t.Key, selectAsked, t.Key.String(), t.ID)
	if err != nil {
		return nil, fmt.Errorf("questions of turn %d: %w", t.ID, err)
	}
	return list, nil
}

const requeueTurn = `UPDATE turns SET state = 'queued', session_id = '', started_at = 0 WHERE id = ?1 AND state = 'running'`

// RequeueTurn puts back a turn for which nothing has been run yet: it is claimed again at the next start.
func (d *DB) RequeueTurn(ctx context.Context, turn int64) error {
	if _, err := d.exec(ctx, requeueTurn, turn); err != nil {
		return fmt.Errorf("put turn %d back: %w", turn, err)
	}
	return nil
}

const updateTurnSession = `UPDATE turns SET session_id = ?2 WHERE id = ?1`

// SetTurnSession moves a running turn to another session, before that one can act.
func (d *DB) SetTurnSession(ctx context.Context, turn int64, session string) error {
	if _, err := d.exec(ctx, updateTurnSession, turn, session); err != nil {
		return fmt.Errorf("set session of turn %d: %w", turn, err)
	}
	return nil
}

const updateTurnCard = `UPDATE turns SET card_id = ?2 WHERE id = ?1`

// SetTurnCard remembers the card that shows the turn.
func (d *DB) SetTurnCard(ctx context.Context, turn int64, card string) error {
	if _, err := d.exec(ctx, updateTurnCard, turn, card); err != nil {
		return fmt.Errorf("set card of turn %d: %w", turn, err)
	}
	return nil
}

// End is how a turn ended.
type End struct {
	Turn    Turn
	State   TurnState
	Failure string  // class of the failure, for operators
	Answer  string  // what the agent said; may be partial; empty = nothing
	Session Session // the session that now holds the turn; an empty ID leaves the chat's as it is. Its Turn is set here
	Usage   *Usage  // nil when the agent did not report any
}

// Usage is what a turn cost.
type Usage struct {
	Actor                              string
	Model                              string
	Input, Output, CacheRead, CacheNew int64 // tokens
	CostUSD                            float64
	FirstText, Duration                time.Duration
}

const endTurn = `UPDATE turns SET state = ?2, failure = ?3, ended_at = ?4 WHERE id = ?1 AND state = 'running'`

const keepSession = `UPDATE chats SET session_id = ?3, session_node = ?4, session_cwd = ?5, session_turn = ?6
	WHERE key = ?1 AND epoch = ?2`

const insertUsage = `INSERT INTO usage (turn_id, chat_key, actor_id, model, input_tokens, output_tokens,
	cache_read_tokens, cache_write_tokens, cost_usd, first_text_ms, duration_ms, ended_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`

// FinishTurn ends a running turn: its answer joins the History, its session becomes the chat's unless /new came
// in between, and its cost is booked, all or nothing.
func (d *DB) FinishTurn(ctx context.Context, e End) error {
	err := d.tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := d.now()
		res, err := tx.ExecContext(ctx, endTurn, e.Turn.ID, e.State, e.Failure, millis(now))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		if err := d.recordAnswer(ctx, tx, e, now); err != nil {
			return err
		}
		key := e.Turn.Key.String()
		if s := e.Session; s.ID != "" {
			if _, err := tx.ExecContext(ctx, keepSession, key, e.Turn.Epoch, s.ID, s.Node, s.Cwd, e.Turn.ID); err != nil {
				return fmt.Errorf("keep session: %w", err)
			}
		}
		if u := e.Usage; u != nil {
			_, err := tx.ExecContext(ctx, insertUsage, e.Turn.ID, key, u.Actor, u.Model, u.Input, u.Output,
				u.CacheRead, u.CacheNew, u.CostUSD, u.FirstText.Milliseconds(), u.Duration.Milliseconds(), millis(now))
			if err != nil {
				return fmt.Errorf("book usage: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish turn %d: %w", e.Turn.ID, err)
	}
	return nil
}

func (d *DB) recordAnswer(ctx context.Context, tx *sql.Tx, e End, now time.Time) error {
	if e.Answer == "" {
		return nil
	}
	m := chat.Message{
		Key: e.Turn.Key, Epoch: e.Turn.Epoch, Turn: e.Turn.ID, ID: "answer:" + strconv.FormatInt(e.Turn.ID, 10),
		Role: chat.Assistant, Class: chat.Talk, Text: e.Answer, Time: now,
	}
	_, err := appendMessage(ctx, tx, &m)
	return err
}

const queuedChats = `SELECT DISTINCT chat_key FROM turns WHERE state = 'queued'`

// QueuedChats lists the chats in which a turn waits.
func (d *DB) QueuedChats(ctx context.Context) (_ []chat.Key, err error) {
	rows, err := d.read.QueryContext(ctx, queuedChats)
	if err != nil {
		return nil, fmt.Errorf("list queued chats: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var keys []chat.Key
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		k, err := chat.ParseKey(s)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

const interruptRunning = `UPDATE turns SET state = 'interrupted', ended_at = ?1 WHERE state = 'running'
	RETURNING id, chat_key, epoch, session_id, card_id`

// InterruptRunning ends the turns that a dead process left running, and returns them so that their askers can be told.
func (d *DB) InterruptRunning(ctx context.Context) (_ []Turn, err error) {
	rows, err := d.write.QueryContext(ctx, interruptRunning, millis(d.now()))
	if err != nil {
		return nil, fmt.Errorf("interrupt running turns: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var list []Turn
	for rows.Next() {
		var t Turn
		var key string
		if err := rows.Scan(&t.ID, &key, &t.Epoch, &t.Session, &t.Card); err != nil {
			return nil, err
		}
		if t.Key, err = chat.ParseKey(key); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
