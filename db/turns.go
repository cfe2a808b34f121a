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

// TurnState is where a turn stands.
type TurnState string

// The states of a turn. All but Queued and Running are final.
const (
	Queued      TurnState = "queued"
	Running     TurnState = "running"
	Done        TurnState = "done"
	Failed      TurnState = "failed"
	Cancelled   TurnState = "cancelled"   // stopped by a user
	Interrupted TurnState = "interrupted" // cut off by the end of the program, or held back, see [Late]
)

// Late is the failure of a turn that was interrupted before it began: its question came too late to be run unasked.
const Late = "late"

// Turn is one question, or several asked together, and the run that answers it.
type Turn struct {
	ID        int64
	Key       chat.Key
	Epoch     int64
	State     TurnState
	Failure   string    // class of the failure, for operators
	Session   string    // the agent's session that it runs in
	Prompt    string    // names the question in the session's transcript
	Card      string    // the card that shows it; empty = none yet
	ReplyTo   string    // the platform's id of the message that the answer answers
	Continues int64     // the interrupted turn that this one goes on with; 0 = none
	Attempts  int       // how often it was claimed
	Stopped   bool      // somebody stopped it: it is not begun again
	Acted     bool      // a tool may have been used: it must not be run again unasked
	Draft     string    // what people may have seen of the answer so far
	Created   time.Time // when its first question came
}

// turnColumns is in the order in which scanTurn reads.
const turnColumns = `id, chat_key, epoch, state, failure, session_id, prompt_id, card_id, reply_to, continues, attempts,
	stopped, acted, draft, created_at`

func scanTurn(scan scanner) (Turn, error) {
	var t Turn
	var key string
	var created int64
	err := scan(&t.ID, &key, &t.Epoch, &t.State, &t.Failure, &t.Session, &t.Prompt, &t.Card, &t.ReplyTo, &t.Continues,
		&t.Attempts, &t.Stopped, &t.Acted, &t.Draft, &created)
	if err != nil {
		return Turn{}, err
	}
	t.Created = fromMillis(created)
	t.Key, err = chat.ParseKey(key)
	return t, err
}

const selectTurn = `SELECT ` + turnColumns + ` FROM turns WHERE chat_key = ?1 AND id = ?2`

func loadTurn(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := one(ctx, q, scanTurn, selectTurn, key.String(), id)
	if errors.Is(err, ErrNotFound) {
		return Turn{}, ErrNotFound
	} else if err != nil {
		return Turn{}, fmt.Errorf("load turn %d: %w", id, err)
	}
	return t, nil
}

// isOpen is what the index turns_open asks for: without its very words a query would read all turns there are. The index
// is named in each query: as long as SQLite has no figures about the data, and it collects them only at Close, it would
// rather read all turns of the chat.
const isOpen = ` AND state IN ('queued', 'running')`

const queuedTurn = `SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND epoch = ?2 AND state = 'queued' AND stopped = 0` + isOpen + ` ORDER BY id DESC LIMIT 1`

// An edited question waits in a turn of its own: the offer to answer it speaks of that question only.
const lateTurn = `SELECT id FROM turns INDEXED BY turns_interrupted WHERE chat_key = ?1 AND epoch = ?2 AND state = 'interrupted' AND failure = 'late' AND created_at >= ?3
	AND NOT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND turn_id = turns.id AND turn_id > 0 AND message_id LIKE 'edit:%')
	AND ?4 NOT LIKE 'edit:%' ORDER BY id DESC LIMIT 1`

// together is how long after a late question another one belongs to it. Later the notice may be out of sight.
const together = 10 * time.Minute

// Turns is what the agent was asked to answer: the line from a question to its answer. Those that wait are in [Queue].
type Turns struct{ db *DB }

// Turns gives the turns of the database.
func (d *DB) Turns() Turns { return Turns{d} }

// Queue is the turns that wait to be run.
type Queue struct{ db *DB }

// Queue gives the turns that wait.
func (d *DB) Queue() Queue { return Queue{d} }

const insertTurn = `INSERT INTO turns (chat_key, epoch, state, failure, created_at) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id`

// A turn that was begun answers what it answered then: its card may be there already.
const askTurn = `UPDATE turns SET reply_to = CASE WHEN attempts = 0 THEN ?2 ELSE reply_to END,
	continues = MAX(continues, ?3) WHERE id = ?1`

// A pressed button is no message that could be answered.
const askTurnByPress = `UPDATE turns SET reply_to = CASE WHEN reply_to = '' THEN ?2 ELSE reply_to END,
	continues = MAX(continues, ?3) WHERE id = ?1`

const setMessageTurn = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND seq = ?2`

// Nobody can mention the bot in a picture or a file. What its author has sent shortly before belongs to the question.
const takeAlong = `UPDATE messages SET turn_id = ?2, class = 'talk' WHERE chat_key = ?1 AND seq < ?3 AND seq > ?3 - 30 AND epoch = ?4
	AND class = 'overheard' AND turn_id = 0 AND actor_id = ?5 AND actor_id <> '' AND sent_at >= ?6 AND sent_at <= ?7` + notRecalled + `
	AND EXISTS (SELECT 1 FROM files f WHERE f.chat_key = ?1 AND f.message_id = messages.message_id AND f.kind <> 'quote')`

// shortly is how long before a question its author's files belong to it.
const shortly = 2 * time.Minute

// add adds m to the turn that waits in its chat, or to a new one. Messages that arrive while a turn
// waits are answered together.
func (q Queue) add(ctx context.Context, tx *sql.Tx, m chat.Message, e Inbound) (int64, error) {
	state, failure, waiting, of := Queued, "", queuedTurn, []any{m.Key.String(), m.Epoch}
	if e.Held != nil {
		state, failure, waiting, of = Interrupted, Late, lateTurn, append(of, millis(q.db.now().Add(-together)), m.ID)
	}
	old, err := resolve(ctx, tx, m.Key, e.Continues, continued)
	if err != nil {
		return 0, err
	}
	ask, replyTo := askTurn, cmp.Or(e.ReplyTo, Answerable(m.ID))
	if m.ID == continueID(old.ID) {
		ask, replyTo = askTurnByPress, old.ReplyTo
	}
	if old.ID != 0 {
		if err := q.db.Outbox().post(ctx, tx, Post{Key: m.Key, Turn: old.ID, Idem: cardIdem(old, continued), ReplyTo: old.ReplyTo, Card: &e.Over}); err != nil {
			return 0, err
		}
	}
	var id int64
	err = tx.QueryRowContext(ctx, waiting, of...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		row := tx.QueryRowContext(ctx, insertTurn, m.Key.String(), m.Epoch, state, failure, millis(q.db.now()))
		if err = row.Scan(&id); err == nil && e.Held != nil {
			card := e.Held(id)
			err = q.db.Outbox().post(ctx, tx, Post{Key: m.Key, Turn: id, Idem: fmt.Sprintf("late:%d:%s", id, m.ID), ReplyTo: replyTo, Card: &card})
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
		_, err := tx.ExecContext(ctx, takeAlong, m.Key.String(), id, m.Seq, m.Epoch, m.Actor.ID, millis(m.Time.Add(-shortly)), millis(m.Time))
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

// Claim is a turn taken to be run, with what it asks.
type Claim struct {
	Turn   Turn
	Chat   Chat           // its session is the one that the turn runs in, when that is resumed
	Asked  []chat.Message // in the order in which they were written
	Resume bool           // Turn.Session is the chat's session, else it is a new one
}

// askedBefore keeps the name that a question had, since a session may know it by that.
const askedBefore = `asked_before = CASE WHEN prompt_id = '' THEN asked_before ELSE asked_before || prompt_id || ' ' END`

const claimTurn = `UPDATE turns SET state = 'running', started_at = ?2, attempts = attempts + 1, ` + askedBefore + `, prompt_id = ?5,
	session_id = CASE WHEN ?4 AND session <> '' THEN session ELSE ?3 END
	FROM (SELECT t.id AS head, CASE WHEN c.epoch = t.epoch THEN COALESCE(s.session_id, c.session_id) ELSE '' END AS session
		FROM turns t INDEXED BY turns_open JOIN chats c ON c.key = t.chat_key LEFT JOIN sessions s ON s.chat_key = c.key AND s.node = ?6
			AND s.epoch = c.epoch AND c.session_id <> '' AND c.session_node NOT IN ('', ?6)
		WHERE t.chat_key = ?1 AND t.state = 'queued'` + isOpen + ` ORDER BY t.id LIMIT 1)
	WHERE id = head RETURNING ` + turnColumns

const selectAsked = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'` + notRecalled + ` ORDER BY sent_at, seq`

// TurnIDs are the ids that a turn gets when it is claimed. They are stored with it before the agent can act, so that
// they are known after a crash.
type TurnIDs struct {
	Session string // of a new session, unless the chat's is resumed
	Prompt  string
	Node    string // this machine: its session is resumed when machines take turns; empty = the one that answered last
}

// Claim starts the chat's oldest queued turn and returns it, or [ErrNotFound]. The turn runs in the
// chat's session if there is one and resume allows it, otherwise in a new one.
func (q Queue) Claim(ctx context.Context, key chat.Key, names TurnIDs, resume bool) (Claim, error) {
	var c Claim
	err := q.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		c.Turn, err = one(ctx, tx, scanTurn, claimTurn,
			key.String(), millis(q.db.now()), names.Session, resume, names.Prompt, names.Node)
		if errors.Is(err, ErrNotFound) {
			return ErrNotFound
		} else if err != nil {
			return fmt.Errorf("claim turn: %w", err)
		}
		if c.Chat, err = loadChat(ctx, tx, key); err != nil {
			return err
		}
		// The turn belongs to a session that this machine had put aside.
		if s := c.Turn.Session; s != names.Session && s != c.Chat.Session.ID {
			if c.Chat.Session, err = loadSessionAside(ctx, tx, key, s); err != nil {
				return err
			}
		}
		if c.Asked, err = queryMessages(ctx, tx, key, selectAsked, key.String(), c.Turn.ID); err != nil {
			return err
		}
		return q.db.Files().attach(ctx, tx, key, c.Asked)
	})
	if err != nil {
		return Claim{}, fmt.Errorf("next turn of %v: %w", key, err)
	}
	c.Resume = c.Turn.Session != names.Session
	return c, nil
}

const sessionBegan = `SELECT COALESCE(MIN(id), 0) FROM turns WHERE session_id = ?1 AND session_id <> ''`

// SessionBegan is the first turn that ran in a session; 0 = none did.
func (ts Turns) SessionBegan(ctx context.Context, session string) (turn int64, err error) {
	if err := ts.db.read.QueryRowContext(ctx, sessionBegan, session).Scan(&turn); err != nil {
		return 0, fmt.Errorf("beginning of session %s: %w", session, err)
	}
	return turn, nil
}

const requeueTurn = `UPDATE turns SET state = 'queued', session_id = '', ` + askedBefore + `, prompt_id = '', started_at = 0
	WHERE id = ?1 AND state = 'running'`

// Requeue puts back a turn that has done and shown nothing yet. It is claimed again in its old place.
func (q Queue) Requeue(ctx context.Context, turn int64) error {
	err := q.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, requeueTurn, turn)
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetSteers, turn) // it asks all its messages when it is claimed
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("put turn %d back: %w", turn, err)
	}
	return nil
}

// A turn whose session was dropped keeps none, even under its new names.
const renameTurn = `UPDATE turns SET session_id = CASE WHEN session_id = '' THEN '' ELSE ?2 END, ` + askedBefore + `, prompt_id = ?3 WHERE id = ?1`

// Rename gives a running turn another session and another name for its prompt, before the agent can act.
func (ts Turns) Rename(ctx context.Context, turn int64, names TurnIDs) error {
	if _, err := ts.db.engine.Exec(ctx, renameTurn, turn, names.Session, names.Prompt); err != nil {
		return fmt.Errorf("rename turn %d: %w", turn, err)
	}
	return nil
}

const setTurnCard = `UPDATE turns SET card_id = ?2 WHERE id = ?1`

// SetCard remembers the card that shows the turn.
func (ts Turns) SetCard(ctx context.Context, turn int64, card string) error {
	if _, err := ts.db.engine.Exec(ctx, setTurnCard, turn, card); err != nil {
		return fmt.Errorf("set card of turn %d: %w", turn, err)
	}
	return nil
}

const turnCard = `SELECT card_id FROM turns WHERE id = ?1`

// CardOf is the card that shows a turn; empty = none yet. It returns [ErrNotFound] for a turn that is not known.
func (ts Turns) CardOf(ctx context.Context, turn int64) (string, error) {
	card, err := one(ctx, ts.db.read, scanText, turnCard, turn)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("card of turn %d: %w", turn, err)
	}
	return card, err
}

const setTurnDraft = `UPDATE turns SET draft = ?2 WHERE id = ?1 AND state = 'running'`

// SetDraft stores what people are about to see of a running turn's answer.
func (ts Turns) SetDraft(ctx context.Context, turn int64, draft string) error {
	if _, err := ts.db.engine.Exec(ctx, setTurnDraft, turn, draft); err != nil {
		return fmt.Errorf("set draft of turn %d: %w", turn, err)
	}
	return nil
}

const stopTurn = `UPDATE turns SET stopped = 1 WHERE id = ?1 AND chat_key = ?2` + isOpen

// Stop notes that somebody has stopped a turn of a chat, unless it has ended: it is not begun again, whatever happens.
func (ts Turns) Stop(ctx context.Context, key chat.Key, turn int64) error {
	if _, err := ts.db.engine.Exec(ctx, stopTurn, turn, key.String()); err != nil {
		return fmt.Errorf("stop turn %d: %w", turn, err)
	}
	return nil
}

const setTurnActed = `UPDATE turns SET acted = 1 WHERE id = ?1`

// SetActed notes that a running turn is about to use a tool.
func (ts Turns) SetActed(ctx context.Context, turn int64) error {
	if _, err := ts.db.engine.Exec(ctx, setTurnActed, turn); err != nil {
		return fmt.Errorf("note that turn %d acts: %w", turn, err)
	}
	return nil
}

// TurnResult is how a turn ended.
type TurnResult struct {
	Turn    Turn
	State   TurnState
	Failure string    // class of the failure, for operators
	Answer  string    // what the agent said; may be partial; empty = nothing
	Card    chat.Card // what the turn looks like from now on
	// the session that now holds the turn; an empty ID leaves the chat's as it is. Its Turn is set here
	Session Session
	Usage   *Usage           // nil when the agent did not report any
	File    *LongAnswer      // the answer, when it is also given as a file; nil = it is not
	Report  *ContextReport   // nil when the agent was not asked, or it is not known
	Actions []RecordedAction // of the agent that are not stored yet
	// names of the messages that were handed to the turn and that its agent has read; see [Steers.Read]. The others
	// are queued again, unless the turn was stopped or interrupted
	SteersRead []string
}

// Usage is what a turn cost.
type Usage struct {
	Model                              string
	Input, Output, CacheRead, CacheNew int64 // tokens
	CostUSD                            float64
	FirstText, Duration                time.Duration
}

// Tokens are those of all kinds together.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheNew }

const endTurn = `UPDATE turns SET state = ?2, failure = ?3, ended_at = ?4, told = ?5, draft = '' WHERE id = ?1 AND state = 'running'`

const setTurned = `UPDATE chats SET turned_at = ?2 WHERE key = ?1`

const insertUsage = `INSERT INTO usage (turn_id, chat_key, actor_id, model, input_tokens, output_tokens,
	cache_read_tokens, cache_write_tokens, cost_usd, first_text_ms, duration_ms, ended_at)
	VALUES (?1, ?2, COALESCE((SELECT actor_id FROM messages WHERE chat_key = ?2 AND turn_id = ?1 AND turn_id > 0 AND role = 'user'
		ORDER BY sent_at, seq LIMIT 1), ''), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`

// Finish ends a running turn in one transaction: the answer joins the History, the final card is
// enqueued, the session becomes the chat's unless /new came in between, and the cost is booked.
func (ts Turns) Finish(ctx context.Context, e TurnResult) error {
	err := ts.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := ts.db.now()
		report, err := e.Report.store()
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, endTurn, e.Turn.ID, e.State, e.Failure, millis(now), report)
		if err != nil {
			return err
		}
		// The turn was ended by somebody else, for example by a recall.
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		if err := ts.db.Messages().record(ctx, tx, e.Actions); err != nil {
			return err
		}
		if err := ts.db.Steers().end(ctx, tx, e); err != nil {
			return fmt.Errorf("messages that were not read: %w", err)
		}
		if err := ts.recordAnswer(ctx, tx, e, now); err != nil {
			return err
		}
		if err := ts.db.Outbox().post(ctx, tx, Post{Key: e.Turn.Key, Turn: e.Turn.ID, Idem: cardIdem(e.Turn, "end"), ReplyTo: e.Turn.ReplyTo, Card: &e.Card}); err != nil {
			return err
		}
		if e.File != nil {
			if err := e.File.leave(ctx, ts.db.Outbox().FileDeliveries(), tx, e.Turn); err != nil {
				return err
			}
		}
		key := e.Turn.Key.String()
		if err := ts.keep(ctx, tx, e); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, setTurned, key, millis(now)); err != nil {
			return fmt.Errorf("note when the turn ended: %w", err)
		}
		if u := e.Usage; u != nil {
			_, err := tx.ExecContext(ctx, insertUsage, e.Turn.ID, key, u.Model, u.Input, u.Output,
				u.CacheRead, u.CacheNew, u.CostUSD, u.FirstText.Milliseconds(), u.Duration.Milliseconds(), millis(now))
			if err != nil {
				return fmt.Errorf("book usage: %w", err)
			}
			return ts.db.Ledger().book(ctx, tx, Expense{Key: e.Turn.Key, Purpose: forTurn, Turn: e.Turn.ID, Usage: *u})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish turn %d: %w", e.Turn.ID, err)
	}
	return nil
}

const ownSession = `SELECT session_id FROM turns WHERE id = ?1`

// keep makes the session of a turn the chat's session. If a question of the turn was recalled while it
// ran, no session may contain it, and an answer to nothing else is excluded from later contexts. If an
// earlier message was recalled that the turn had seen, its session was dropped already.
func (ts Turns) keep(ctx context.Context, tx *sql.Tx, e TurnResult) error {
	left, gone, err := leftOf(ctx, tx, e.Turn.Key, e.Turn.ID)
	switch {
	case err != nil:
		return err
	case gone > 0 && left == 0:
		if err := hideAnswer(ctx, tx, e.Turn); err != nil {
			return err
		}
		return giveUp(ctx, tx, e.Turn.Key, e.Turn.Epoch)
	case gone > 0:
		return giveUp(ctx, tx, e.Turn.Key, e.Turn.Epoch)
	case e.Session.ID == "":
		return nil
	}
	var own string
	if err := tx.QueryRowContext(ctx, ownSession, e.Turn.ID).Scan(&own); err != nil {
		return fmt.Errorf("session of the turn: %w", err)
	}
	if own == "" {
		return nil
	}
	return e.Turn.keepSession(ctx, tx, e.Session)
}

// recordAnswer uses an id that follows from the turn, so an answer that is recorded twice is one message.
func (ts Turns) recordAnswer(ctx context.Context, tx *sql.Tx, e TurnResult, now time.Time) error {
	if e.Answer == "" {
		return nil
	}
	m := chat.Message{
		Key: e.Turn.Key, Epoch: e.Turn.Epoch, Turn: e.Turn.ID, ID: AnswerID(e.Turn.ID),
		Role: chat.Assistant, Class: chat.Talk, Text: e.Answer, Time: now,
	}
	_, err := ts.db.Messages().add(ctx, tx, &m)
	return err
}

const queuedChats = `SELECT DISTINCT chat_key FROM turns INDEXED BY turns_open WHERE state = 'queued'` + isOpen

// Chats lists the chats in which a turn waits.
func (q Queue) Chats(ctx context.Context) ([]chat.Key, error) {
	return chatKeys(ctx, q.db.read, queuedChats)
}

const queuedTurns = `SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND state = 'queued'` + isOpen + ` ORDER BY id`

// Turns lists the chat's queued turns. There are several if a new conversation was started while one waited.
func (q Queue) Turns(ctx context.Context, key chat.Key) (turns []int64, err error) {
	if turns, err = collect(ctx, q.db.read, scanNumber, queuedTurns, key.String()); err != nil {
		return nil, fmt.Errorf("queued turns of %v: %w", key, err)
	}
	return turns, nil
}

const turnPlace = `SELECT chat_key FROM turns WHERE id = ?1`

// Place is the chat in which a turn stands, or [ErrNotFound].
func (ts Turns) Place(ctx context.Context, turn int64) (chat.Key, error) {
	keys, err := chatKeys(ctx, ts.db.read, turnPlace, turn)
	if err == nil && len(keys) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return chat.Key{}, fmt.Errorf("chat of turn %d: %w", turn, err)
	}
	return keys[0], nil
}

const waitingMessages = `SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND turn_id > 0 AND role = 'user'` + notRecalled + `
	AND turn_id IN (SELECT id FROM turns INDEXED BY turns_open WHERE chat_key = ?1 AND state = 'queued'` + isOpen + `)`

// Waiting counts the messages of a chat that wait to be answered.
func (q Queue) Waiting(ctx context.Context, key chat.Key) (n int, err error) {
	if err := q.db.read.QueryRowContext(ctx, waitingMessages, key.String()).Scan(&n); err != nil {
		return 0, fmt.Errorf("messages that wait in %v: %w", key, err)
	}
	return n, nil
}

const runningTurns = `SELECT ` + turnColumns + ` FROM turns WHERE state = 'running' ORDER BY id`

// Running lists the turns that run. At the start of the program those are the ones that a dead process left.
func (ts Turns) Running(ctx context.Context) ([]Turn, error) {
	list, err := collect(ctx, ts.db.read, scanTurn, runningTurns)
	if err != nil {
		return nil, fmt.Errorf("list running turns: %w", err)
	}
	return list, nil
}
