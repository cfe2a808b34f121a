package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A picture or a file cannot mention the bot. What its author has sent shortly before belongs to the question.
const (
	sentBefore = `SELECT seq, message_id FROM messages WHERE chat_key = ?1 AND seq < ?2 AND seq > ?2 - 30 AND epoch = ?3
		AND class = 'overheard' AND turn_id = 0 AND actor_id = ?4 AND actor_id <> ''
		AND sent_at >= ?5 AND sent_at <= ?6` + notRecalled + `
		AND EXISTS (SELECT 1 FROM files f WHERE f.chat_key = ?1 AND f.message_id = messages.message_id AND f.kind <> 'quote')`
	takeAlong = `UPDATE messages SET class = 'talk' WHERE chat_key = ?1 AND seq = ?2`
)

// shortly is how long before a question its author's files belong to it.
const shortly = 2 * time.Minute

func scanQuestion(scan scanner) (convo.Message, error) {
	var seq int64
	var id string
	err := scan(&seq, &id)
	return questionOf(seq, id), err
}

// accept gives talk to the running turn if e says so and it can take it, or queues it; then it claims the turn if e
// says so. It records the result in a.
func (ts Turns) accept(ctx context.Context, tx *sql.Tx, e Inbound, a *AcceptResult) error {
	then := []convo.Event{}
	if e.Start != nil {
		then = append(then, convo.Claims{})
	}
	claimed, err := ts.ask(ctx, tx, a, a.Message, e, then...)
	if err != nil || claimed == (convo.Claimed{}) {
		return err
	}
	var asked []chat.Message
	if claimed == (convo.Claimed{Turn: a.Turn, Asked: 1}) && len(e.Files) == 0 { // nothing but this message
		m := a.Message
		m.Turn, m.Actor.Bot, m.Time = a.Turn, false, fromMillis(millis(m.Time)) // as it is stored
		asked = []chat.Message{m}
	}
	claim, err := ts.begin(ctx, tx, e.Key, claimed.Turn, *e.Start, asked)
	a.Claim = &claim
	return err
}

// ask hands m to a running turn, or adds it to the turn that waits in its chat, or to a new one. Messages that arrive
// while a turn waits are answered together. It returns the turn that is claimed by what happens then; zero = none.
func (ts Turns) ask(
	ctx context.Context, tx *sql.Tx, a *AcceptResult, m chat.Message, e Inbound, then ...convo.Event,
) (claimed convo.Claimed, err error) {
	asks := convo.Asks{
		Message: questionOf(m.Seq, m.ID), ReplyTo: PlatformID(e.replyTarget()), Held: e.Held != nil,
		GoesOn: e.Continues, Adds: e.Adds, Prompt: e.Prompt, Press: m.ID == continueID(e.Continues),
	}
	// In a group people often send a file first and then mention the bot, so recent files of the same
	// person belong to the question, unless nobody has written it.
	if e.Kind == chat.Group && e.Held == nil && !IsPressID(e.ID) {
		asks.With, err = queryAll(ctx, tx, scanQuestion, sentBefore, m.Key.String(), m.Seq, m.Epoch, m.Actor.ID,
			millis(m.Time.Add(-shortly)), millis(m.Time))
		if err != nil {
			return claimed, fmt.Errorf("take files along: %w", err)
		}
	}
	effects, err := ts.db.decide(ctx, tx, m.Key, append([]convo.Event{asks}, then...)...)
	if err != nil {
		return claimed, err
	}
	for _, f := range effects {
		switch f := f.(type) {
		case convo.Given:
			a.Turn, a.Steered = f.Turn, f.Handed
		case convo.Claimed:
			claimed = f
		case convo.Unshow:
			_, err = tx.ExecContext(ctx, forgetPosts, f.Turn)
		case convo.Settled:
			err = ts.db.postSettled(ctx, tx, m.Key, f, e.Over)
		case convo.Offer:
			err = ts.db.Outbox().post(ctx, tx, Post{
				Key: m.Key, Turn: f.Turn, Idem: fmt.Sprintf("late:%d:%s", f.Turn, m.ID), ReplyTo: asks.ReplyTo, Card: e.Held,
			})
		}
		if err != nil {
			return claimed, err
		}
	}
	if a.Steered {
		return claimed, nil
	}
	for _, file := range asks.With {
		if _, err := tx.ExecContext(ctx, takeAlong, m.Key.String(), file.Seq); err != nil {
			return claimed, fmt.Errorf("take files along: %w", err)
		}
	}
	return claimed, nil
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

// A claimed turn runs in the session of its chat, if that may be resumed and is one of this machine.
const beginClaimed = `UPDATE turns SET ` + askedBefore + `, prompt_id = ?5,
	session_id = CASE WHEN follows > 0 THEN session_id WHEN ?4 = 1 AND session <> '' THEN session ELSE ?3 END
	FROM (SELECT CASE WHEN c.epoch = t.epoch THEN COALESCE(s.session_id, c.session_id) ELSE '' END AS session
		FROM turns t JOIN chats c ON c.key = t.chat_key
		LEFT JOIN sessions s ON s.chat_key = c.key AND s.node = ?6
			AND s.epoch = c.epoch AND c.session_id <> '' AND c.session_node NOT IN ('', ?6)
		WHERE t.id = ?2) AS last
	WHERE chat_key = ?1 AND id = ?2 RETURNING ` + turnColumns

const selectAsked = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'` + notRecalled + ` ORDER BY sent_at, seq`

// Start says how a turn is claimed: which IDs it gets, that are stored before the agent can act, so that they are known
// after a crash.
type Start struct {
	Session string // of a new session, unless the chat's is resumed
	Prompt  string
	Node    string // this machine, whose own session is resumed; empty = the session that answered last
	Resume  bool   // allows the chat's session
	Again   bool   // an earlier claim of the chat with the same Prompt may have been stored, see [engine.ErrAway]
}

const selectClaimed = `SELECT ` + turnColumns + ` FROM turns INDEXED BY turns_open
	WHERE chat_key = ?1 AND state = 'running'` + isOpen + ` AND prompt_id = ?2 AND prompt_id <> ''`

// Claim claims the chat's oldest queued turn and returns it, or [ErrNotFound]. The turn runs in the chat's session if
// there is one and s allows it, otherwise in a new one.
func (ts Turns) Claim(ctx context.Context, key chat.Key, s Start) (c Claim, err error) {
	err = ts.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		c = Claim{}
		if s.Again {
			c.Turn, err = queryOne(ctx, tx, scanTurn, selectClaimed, key.String(), s.Prompt)
			if err == nil {
				return ts.fill(ctx, tx, &c, s, nil)
			} else if !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("claimed turn: %w", err)
			}
		}
		effects, err := ts.db.decide(ctx, tx, key, convo.Claims{})
		if err == nil && len(effects) == 0 {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		c, err = ts.begin(ctx, tx, key, effects[0].(convo.Claimed).Turn, s, nil)
		return err
	})
	if err != nil {
		return Claim{}, fmt.Errorf("next turn of %v: %w", key, err)
	}
	return c, nil
}

// begin gives a claimed turn its session and its prompt. asked are its questions if they are known.
func (ts Turns) begin(
	ctx context.Context, tx *sql.Tx, key chat.Key, turn int64, s Start, asked []chat.Message,
) (c Claim, err error) {
	c.Turn, err = queryOne(ctx, tx, scanTurn, beginClaimed, key.String(), turn, s.Session, s.Resume, s.Prompt, s.Node)
	if err != nil {
		return c, fmt.Errorf("claim turn: %w", err)
	}
	return c, ts.fill(ctx, tx, &c, s, asked)
}

// fill reads what belongs to the turn of a claim, but for what it asks if that is known.
func (ts Turns) fill(ctx context.Context, tx *sql.Tx, c *Claim, s Start, asked []chat.Message) (err error) {
	key := c.Turn.Key
	c.Resume = c.Turn.Session != s.Session
	if c.Chat, err = loadChat(ctx, tx, key); err != nil {
		return err
	}
	// The turn belongs to a session that this machine had put aside.
	if s := c.Turn.Session; c.Resume && s != c.Chat.Session.ID && c.Turn.Follows == 0 {
		if c.Chat.Session, err = loadSessionAside(ctx, tx, key, s); err != nil {
			return err
		}
	}
	if c.Asked = asked; asked != nil {
		return nil
	}
	if c.Asked, err = queryMessages(ctx, tx, key, selectAsked, key.String(), c.Turn.questionTurn()); err != nil {
		return err
	}
	return ts.db.Messages().loadInto(ctx, tx, key, c.Asked)
}

// Requeue puts back a turn that has changed nothing yet. It will be claimed again in its old order, and runs in the
// session s, which holds what its agent has said and read; without an ID, in that of its chat.
func (ts Turns) Requeue(ctx context.Context, t Turn, s Session) error {
	err := ts.db.chatTx(ctx, t.Key, func(ctx context.Context, tx *sql.Tx) error {
		if s.ID != "" { // before the turn loses its own
			e := turnEnd{TurnResult{Turn: t, Session: s}, ts.db, tx, ts.db.now()}
			if err := e.keepSession(ctx); err != nil {
				return err
			}
		}
		_, err := ts.db.decide(ctx, tx, t.Key, convo.PutBack{Turn: t.ID})
		return err
	})
	if err != nil {
		return fmt.Errorf("put turn %d back: %w", t.ID, err)
	}
	return nil
}

const queuedChats = `SELECT DISTINCT chat_key FROM turns INDEXED BY turns_open WHERE state = 'queued'` + isOpen

// Queued lists the chats with waiting turns.
func (ts Turns) Queued(ctx context.Context) ([]chat.Key, error) {
	return ts.db.ownKeys(ctx, queuedChats)
}

const waitingMessages = `SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND turn_id > 0
	AND role = 'user'` + notRecalled + `
	AND turn_id IN (SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND state = 'queued'` + isOpen + `)`

// Waiting counts the messages of a chat that wait to be answered.
func (ts Turns) Waiting(ctx context.Context, key chat.Key) (n int, err error) {
	if err := ts.db.read.QueryRowContext(ctx, waitingMessages, key.String()).Scan(&n); err != nil {
		return 0, fmt.Errorf("messages that wait in %v: %w", key, err)
	}
	return n, nil
}
