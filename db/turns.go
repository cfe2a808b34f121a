package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Turn is one question, or several asked together, and the run that answers it.
type Turn struct {
	ID        int64
	Key       chat.Key
	Epoch     int64
	State     convo.Phase // a follow-up in the background counts as running
	Failure   string      // class of the failure, for operators
	Session   string      // the agent's session it runs in
	Prompt    string      // the question's ID in the session's transcript; for an ended follow-up, the answer's
	Card      string      // its card; empty = none yet
	ReplyTo   string      // the platform's ID of the message to reply to
	Continues int64       // the interrupted turn that this one continues; 0 = none
	Follows   int64       // the turn after which the agent started this one; 0 = somebody asked; see [Turns]
	Created   time.Time   // when its first question arrived

	// whether it runs again after a crash
	Attempts int    // how often it was claimed
	Stopped  bool   // somebody has stopped it, so it does not start again
	Acted    bool   // a tool may have changed something, so it must not run again without being asked for
	Draft    string // what people may have seen of the answer
}

// questionTurn is the turn whose questions it answers.
func (t Turn) questionTurn() int64 { return cmp.Or(t.Follows, t.ID) }

// turnColumns has the order of scanTurn.
const turnColumns = `id, chat_key, epoch, state, failure, session_id, prompt_id, card_id, reply_to, continues, attempts,
	stopped > 0, acted, draft, created_at, follows`

func scanTurn(scan scanner) (Turn, error) {
	var t Turn
	var key, state string
	var created int64
	err := scan(&t.ID, &key, &t.Epoch, &state, &t.Failure, &t.Session, &t.Prompt, &t.Card, &t.ReplyTo, &t.Continues,
		&t.Attempts, &t.Stopped, &t.Acted, &t.Draft, &created, &t.Follows)
	if err != nil {
		return Turn{}, err
	}
	t.State, t.Created = phaseOf(state, t.Failure, false), fromMillis(created)
	t.Key, err = chat.ParseKey(key)
	return t, err
}

const selectTurn = `SELECT ` + turnColumns + ` FROM turns WHERE chat_key = ?1 AND id = ?2`

func loadTurn(ctx context.Context, q querier, key chat.Key, id int64) (Turn, error) {
	t, err := queryOne(ctx, q, scanTurn, selectTurn, key.String(), id)
	if errors.Is(err, ErrNotFound) {
		return Turn{}, ErrNotFound
	} else if err != nil {
		return Turn{}, fmt.Errorf("load turn %d: %w", id, err)
	}
	return t, nil
}

// isOpen matches the index turns_open: without these exact words a query would read all turns. Queries name the index
// explicitly: without statistics, which SQLite only collects at Close, it would prefer to read all turns of the chat.
const isOpen = ` AND state IN ('queued', 'running')`

// Turns stores the turns, each of which leads from a question to its answer: what waits, runs, was interrupted or
// follows by itself, what people have seen of it, and the limits on the use of the model, for which turns wait. All
// agents share these, as they share a login.
type Turns struct{ db *DB }

// Turns returns the turns in the database.
func (d *DB) Turns() Turns { return Turns{d} }

const sessionBegan = `SELECT COALESCE(MIN(id), 0) FROM turns WHERE session_id = ?1 AND session_id <> ''`

// FirstTurn is the first turn of a session; 0 = none.
func (ts Turns) FirstTurn(ctx context.Context, session string) (turn int64, err error) {
	if err := ts.db.read.QueryRowContext(ctx, sessionBegan, session).Scan(&turn); err != nil {
		return 0, fmt.Errorf("beginning of session %s: %w", session, err)
	}
	return turn, nil
}

// A turn whose session was dropped gets no session, even under its new ID.
const renameTurn = `UPDATE turns SET session_id = CASE WHEN session_id = '' THEN '' ELSE ?2 END,
	` + askedBefore + `, prompt_id = ?3 WHERE id = ?1`

// SetIDs gives a running turn another session and prompt ID, before the agent can act.
func (ts Turns) SetIDs(ctx context.Context, t Turn, session, prompt string) error {
	if err := ts.db.chatExec(ctx, t.Key, renameTurn, t.ID, session, prompt); err != nil {
		return fmt.Errorf("rename turn %d: %w", t.ID, err)
	}
	return nil
}

const lastDone = `SELECT id FROM turns WHERE state = 'done' ORDER BY id DESC LIMIT 1`

// LastDone is the last answered turn; 0 = none.
func (ts Turns) LastDone(ctx context.Context) (turn int64, err error) {
	turn, err = queryOne(ctx, ts.db.read, scanNumber, lastDone)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("last turn that was answered: %w", err)
	}
	return turn, nil
}

const chatOfTurn = `SELECT chat_key FROM turns WHERE id = ?1`

// ChatOf is the chat of a turn, or [ErrNotFound].
func (ts Turns) ChatOf(ctx context.Context, turn int64) (chat.Key, error) {
	keys, err := chatKeys(ctx, ts.db.read, chatOfTurn, turn)
	if err == nil && len(keys) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return chat.Key{}, fmt.Errorf("chat of turn %d: %w", turn, err)
	}
	return keys[0], nil
}

const runningTurns = `SELECT ` + turnColumns + ` FROM turns WHERE state = 'running' ORDER BY id`

// Running lists the running turns of all chats. At startup these were left by a dead process.
func (ts Turns) Running(ctx context.Context) ([]Turn, error) {
	list, err := queryAll(ctx, ts.db.read, scanTurn, runningTurns)
	if err != nil {
		return nil, fmt.Errorf("list running turns: %w", err)
	}
	return list, nil
}

// What an agent has begun to tell by itself ends with the agent.
const agentTurns = `SELECT ` + turnColumns + ` FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND (state = 'running' OR follows > 0)` + isOpen + ` ORDER BY id`

// WithAgent lists the turns of a chat that an agent has begun. At startup it is gone.
func (ts Turns) WithAgent(ctx context.Context, key chat.Key) ([]Turn, error) {
	list, err := queryAll(ctx, ts.db.read, scanTurn, agentTurns, key.String())
	if err != nil {
		return nil, fmt.Errorf("turns of agents in %v: %w", key, err)
	}
	return list, nil
}

const leftChats = `SELECT chat_key FROM turns INDEXED BY turns_open WHERE (state = 'running' OR follows > 0)` + isOpen + `
	UNION SELECT chat_key FROM approvals INDEXED BY approvals_open WHERE delivered = 0
	UNION SELECT chat_key FROM turns INDEXED BY turns_interrupted
		WHERE ` + undecided + ` AND epoch <> (SELECT epoch FROM chats WHERE key = chat_key)`

// Left lists the chats in which a dead process has left something that ends, or goes on, without being asked for: turns
// with an agent, what people were asked, and what waits for a decision though its conversation has ended.
func (ts Turns) Left(ctx context.Context) ([]chat.Key, error) {
	return ts.db.ownKeys(ctx, leftChats)
}

const selectAnswer = `SELECT content FROM messages WHERE chat_key = ?1 AND message_id = ?2`

// Answer is the agent's answer in an ended turn; empty = none.
func (ts Turns) Answer(ctx context.Context, key chat.Key, turn int64) (string, error) {
	var text string
	err := ts.db.read.QueryRowContext(ctx, selectAnswer, key.String(), AnswerID(turn)).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("answer of turn %d: %w", turn, err)
	}
	return text, nil
}

const setTurnDraft = `UPDATE turns SET draft = ?2, part_ends = ?3 WHERE id = ?1 AND state = 'running'`

// SetDraft stores what people are about to see of a running turn's answer, by message.
func (ts Turns) SetDraft(ctx context.Context, turn int64, parts ...string) error {
	var draft string
	var ends []int
	for i, part := range parts {
		if draft != "" && part != "" {
			draft += partBorder
		}
		if draft += part; i < len(parts)-1 {
			ends = append(ends, len(draft))
		}
	}
	stored := ""
	if len(ends) > 0 {
		data, err := json.Marshal(ends)
		if err != nil {
			return fmt.Errorf("set draft of turn %d: %w", turn, err)
		}
		stored = string(data)
	}
	// Dozens of times in an answer: it must not wait for the chat, nor for the disk of a server. If that crashes, people may
	// have seen more than is stored; so they have whenever it is away, as an answer goes on without it. What is committed
	// later, such as the end of the turn, is never there without the last draft before it.
	if err := ts.db.execFree(ctx, setTurnDraft, turn, draft, stored); err != nil {
		return fmt.Errorf("set draft of turn %d: %w", turn, err)
	}
	return nil
}

// partBorder separates the parts of an answer in its text.
const partBorder = "\n\n"

const turnPartEnds = `SELECT part_ends FROM turns WHERE id = ?1`

// Parts divides the answer of a turn like its last draft: whatever is drawn later must keep what people have seen in
// its place. If nobody can read any more where that was, the answer is one part.
func (ts Turns) Parts(ctx context.Context, turn int64, answer string) ([]string, error) {
	stored, err := queryOne(ctx, ts.db.read, scanText, turnPartEnds, turn)
	if err != nil {
		return nil, fmt.Errorf("parts of turn %d: %w", turn, err)
	}
	var ends []int
	if stored != "" && json.Unmarshal([]byte(stored), &ends) != nil {
		ends = nil
	}
	return splitAt(answer, ends), nil
}

// splitAt cuts a text at these byte offsets, but never within a character: the offsets may belong to another text.
func splitAt(text string, ends []int) []string {
	parts, from := make([]string, 0, len(ends)+1), 0
	for _, end := range append(ends, len(text)) {
		end = max(from, min(end, len(text)))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		part := text[from:end]
		if from > 0 {
			part = strings.TrimPrefix(part, partBorder)
		}
		parts, from = append(parts, part), end
	}
	return parts
}

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
