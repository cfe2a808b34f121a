package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Queue stores the turns that wait to run.
type Queue struct{ db *DB }

// Queue returns the waiting turns in the database.
func (d *DB) Queue() Queue { return Queue{d} }

const queuedTurn = `SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND epoch = ?2
	AND state = 'queued' AND stopped = 0 AND follows = 0 AND due_at = 0` + isOpen + ` ORDER BY id DESC LIMIT 1`

// An edited question waits in a turn of its own: the offer to answer it is about that question only.
const lateTurn = `SELECT id FROM turns INDEXED BY turns_interrupted WHERE chat_key = ?1 AND epoch = ?2
	AND state = 'interrupted' AND failure = 'late' AND created_at >= ?3
	AND NOT EXISTS (
		SELECT 1 FROM messages WHERE chat_key = ?1 AND turn_id = turns.id AND turn_id > 0 AND message_id LIKE 'edit:%'
	)
	AND ?4 NOT LIKE 'edit:%' ORDER BY id DESC LIMIT 1`

// together is how long after a late question another one belongs to the same turn. Later the notice may be out of
// sight.
const together = 10 * time.Minute

const insertTurn = `INSERT INTO turns (chat_key, epoch, state, failure, created_at)
	VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id`

// A turn that has begun keeps its message to reply to: its card may already exist.
const askTurn = `UPDATE turns SET reply_to = CASE WHEN attempts = 0 THEN ?2 ELSE reply_to END,
	continues = MAX(continues, ?3) WHERE id = ?1`

// A pressed button is not a message that could be replied to.
const askTurnByPress = `UPDATE turns SET reply_to = CASE WHEN reply_to = '' THEN ?2 ELSE reply_to END,
	continues = MAX(continues, ?3) WHERE id = ?1`

const setMessageTurn = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND seq = ?2`

// A picture or a file cannot mention the bot. What its author has sent shortly before belongs to the question.
const takeAlong = `UPDATE messages SET turn_id = ?2, class = 'talk' WHERE chat_key = ?1 AND seq < ?3
	AND seq > ?3 - 30 AND epoch = ?4
	AND class = 'overheard' AND turn_id = 0 AND actor_id = ?5 AND actor_id <> ''
	AND sent_at >= ?6 AND sent_at <= ?7` + notRecalled + `
	AND EXISTS (SELECT 1 FROM files f WHERE f.chat_key = ?1 AND f.message_id = messages.message_id AND f.kind <> 'quote')`

// shortly is how long before a question its author's files belong to it.
const shortly = 2 * time.Minute

// accept gives talk to the running turn if e says so and it can take it, or queues it; then it claims the turn if e
// says so. It records the result in a.
func (q Queue) accept(ctx context.Context, tx *sql.Tx, e Inbound, a *AcceptResult) (err error) {
	if e.Steer.Turn != 0 {
		if a.Steered, err = q.db.Turns().Steers().insert(ctx, tx, a.Message, e.Steer); err != nil || a.Steered {
			a.Turn = e.Steer.Turn
			return err
		}
	}
	if a.Turn, err = q.enqueue(ctx, tx, a.Message, e); err != nil || e.Start == nil {
		return err
	}
	claim, err := q.claim(ctx, tx, e.Key, e.Start.TurnIDs, e.Start.Resume)
	a.Claim = &claim
	return err
}

// enqueue adds m to the turn that waits in its chat, or to a new one. Messages that arrive while a turn waits are
// answered together.
func (q Queue) enqueue(ctx context.Context, tx *sql.Tx, m chat.Message, e Inbound) (int64, error) {
	state, failure, waiting, of := Queued, "", queuedTurn, []any{m.Key.String(), m.Epoch}
	if e.Held != nil {
		state, failure, waiting, of = Interrupted, Late, lateTurn, append(of, millis(q.db.now().Add(-together)), m.ID)
	}
	old, err := takeInterrupted(ctx, tx, m.Key, e.Continues)
	if err != nil {
		return 0, err
	}
	ask, replyTo := askTurn, cmp.Or(e.ReplyTo, PlatformID(m.ID))
	if m.ID == continueID(old.ID) {
		ask, replyTo = askTurnByPress, old.ReplyTo
	}
	if old.ID != 0 {
		if err := q.db.Outbox().post(
			ctx, tx, Post{Key: m.Key, Turn: old.ID, Idem: cardIdem(old, continued), ReplyTo: old.ReplyTo, Card: &e.Over},
		); err != nil {
			return 0, err
		}
	}
	var id int64
	err = tx.QueryRowContext(ctx, waiting, of...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		row := tx.QueryRowContext(ctx, insertTurn, m.Key.String(), m.Epoch, state, failure, millis(q.db.now()))
		if err = row.Scan(&id); err == nil && e.Held != nil {
			err = q.db.Outbox().post(
				ctx, tx,
				Post{Key: m.Key, Turn: id, Idem: fmt.Sprintf("late:%d:%s", id, m.ID), ReplyTo: replyTo, Card: e.Held},
			)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("queue turn: %w", err)
	}
	if old.ID != 0 {
		if err := continueSteers(ctx, tx, old, id); err != nil {
			return 0, err
		}
	}
	if _, err := tx.ExecContext(ctx, setMessageTurn, m.Key.String(), m.Seq, id); err != nil {
		return 0, fmt.Errorf("bind message to turn: %w", err)
	}
	// In a group people often send a file first and then mention the bot, so recent files of the same
	// person belong to the question.
	if e.Kind == chat.Group && e.Held == nil {
		_, err := tx.ExecContext(
			ctx, takeAlong, m.Key.String(), id, m.Seq, m.Epoch, m.Actor.ID, millis(m.Time.Add(-shortly)), millis(m.Time),
		)
		if err != nil {
			return 0, fmt.Errorf("take files along: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, ask, id, replyTo, old.ID); err != nil {
		return 0, fmt.Errorf("record the questions of the turn: %w", err)
	}
	if old.ID != 0 {
		return id, q.db.Approvals().inherit(ctx, tx, old.ID, id)
	}
	return id, nil
}

// Claim is a claimed turn with its questions.
type Claim struct {
	Turn   Turn
	Chat   Chat           // Session is the one that the turn runs in, if that is resumed
	Asked  []chat.Message // in the order in which they were written
	Resume bool           // Turn.Session is the chat's session, otherwise a new one
}

// askedBefore keeps the earlier prompt ID of a question, since a session may know it by that.
const askedBefore = `asked_before = CASE WHEN prompt_id = '' THEN asked_before ELSE asked_before || prompt_id || ' ' END`

const claimTurn = `UPDATE turns SET state = 'running', started_at = ?2, due_at = 0, attempts = attempts + 1,
	` + askedBefore + `, prompt_id = ?5,
	session_id = CASE WHEN follows > 0 THEN session_id WHEN ?4 AND session <> '' THEN session ELSE ?3 END
	FROM (SELECT t.id AS head, CASE WHEN c.epoch = t.epoch THEN COALESCE(s.session_id, c.session_id) ELSE '' END AS session
		FROM turns t INDEXED BY turns_open JOIN chats c ON c.key = t.chat_key
		LEFT JOIN sessions s ON s.chat_key = c.key AND s.node = ?6
			AND s.epoch = c.epoch AND c.session_id <> '' AND c.session_node NOT IN ('', ?6)
		WHERE t.chat_key = ?1 AND t.state = 'queued' AND t.due_at <= ?2` + isOpen + ` ORDER BY t.id LIMIT 1)
	WHERE id = head RETURNING ` + turnColumns

const selectAsked = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'` + notRecalled + ` ORDER BY sent_at, seq`

// TurnIDs are the IDs that a turn gets when it is claimed. They are stored before the agent can act, so that they are
// known after a crash.
type TurnIDs struct {
	Session string // of a new session, unless the chat's is resumed
	Prompt  string
	Node    string // this machine, whose own session is resumed; empty = the session that answered last
}

// Start says how a turn is claimed in the transaction that queues it; see [Queue.Claim].
type Start struct {
	TurnIDs
	Resume bool
}

// Claim claims the chat's oldest queued turn and returns it, or [ErrNotFound]. The turn runs in the chat's session if
// there is one and resume allows it, otherwise in a new one.
func (q Queue) Claim(ctx context.Context, key chat.Key, ids TurnIDs, resume bool) (c Claim, err error) {
	err = q.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		c, err = q.claim(ctx, tx, key, ids, resume)
		return err
	})
	if err != nil {
		return Claim{}, fmt.Errorf("next turn of %v: %w", key, err)
	}
	return c, nil
}

func (q Queue) claim(ctx context.Context, tx *sql.Tx, key chat.Key, ids TurnIDs, resume bool) (c Claim, err error) {
	c.Turn, err = queryOne(ctx, tx, scanTurn, claimTurn,
		key.String(), millis(q.db.now()), ids.Session, resume, ids.Prompt, ids.Node)
	if errors.Is(err, ErrNotFound) {
		return c, ErrNotFound
	} else if err != nil {
		return c, fmt.Errorf("claim turn: %w", err)
	}
	c.Resume = c.Turn.Session != ids.Session
	if c.Chat, err = loadChat(ctx, tx, key); err != nil {
		return c, err
	}
	// The turn belongs to a session that this machine had put aside.
	if s := c.Turn.Session; c.Resume && s != c.Chat.Session.ID && c.Turn.Follows == 0 {
		if c.Chat.Session, err = loadSessionAside(ctx, tx, key, s); err != nil {
			return c, err
		}
	}
	if c.Asked, err = queryMessages(ctx, tx, key, selectAsked, key.String(), c.Turn.questionTurn()); err != nil {
		return c, err
	}
	return c, q.db.Files().loadInto(ctx, tx, key, c.Asked)
}

const requeueTurn = `UPDATE turns SET state = 'queued', session_id = '', ` + askedBefore + `, prompt_id = '',
	started_at = 0
	WHERE id = ?1 AND state = 'running'`

// Requeue puts back a turn that has changed nothing yet. It will be claimed again in its old order, and runs in the
// session s, which holds what its agent has said and read; without an ID, in that of its chat.
func (q Queue) Requeue(ctx context.Context, t Turn, s Session) error {
	err := q.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if s.ID != "" { // before the turn loses its own
			e := turnEnd{TurnResult{Turn: t, Session: s}, q.db, tx, q.db.now()}
			if err := e.keepSession(ctx); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, requeueTurn, t.ID)
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetSteers, t.ID) // all its messages become questions when it is claimed
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("put turn %d back: %w", t.ID, err)
	}
	return nil
}

const queuedChats = `SELECT DISTINCT chat_key FROM turns INDEXED BY turns_open WHERE state = 'queued'` + isOpen

// Chats lists the chats with waiting turns.
func (q Queue) Chats(ctx context.Context) ([]chat.Key, error) {
	return chatKeys(ctx, q.db.read, queuedChats)
}

const queuedTurns = `SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND state = 'queued'` + isOpen + ` ORDER BY id`

// Turns lists the chat's queued turns. There are several if a new conversation was started while one waited.
func (q Queue) Turns(ctx context.Context, key chat.Key) (turns []int64, err error) {
	if turns, err = queryAll(ctx, q.db.read, scanNumber, queuedTurns, key.String()); err != nil {
		return nil, fmt.Errorf("queued turns of %v: %w", key, err)
	}
	return turns, nil
}

const unendedTurns = `SELECT ` + turnColumns + ` FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND (state = 'queued' OR started_at > 0)` + isOpen + ` ORDER BY id`

// Unended lists the chat's queued and claimed turns. A follow-up that waits for its agent is not among them.
func (q Queue) Unended(ctx context.Context, key chat.Key) ([]Turn, error) {
	list, err := queryAll(ctx, q.db.read, scanTurn, unendedTurns, key.String())
	if err != nil {
		return nil, fmt.Errorf("unended turns of %v: %w", key, err)
	}
	return list, nil
}

const waitingMessages = `SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND turn_id > 0
	AND role = 'user'` + notRecalled + `
	AND turn_id IN (SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND state = 'queued'` + isOpen + `)`

// Waiting counts the messages of a chat that wait to be answered.
func (q Queue) Waiting(ctx context.Context, key chat.Key) (n int, err error) {
	if err := q.db.read.QueryRowContext(ctx, waitingMessages, key.String()).Scan(&n); err != nil {
		return 0, fmt.Errorf("messages that wait in %v: %w", key, err)
	}
	return n, nil
}
