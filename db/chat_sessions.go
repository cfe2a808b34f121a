package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
)

// Session identifies the agent's session of a chat, and where its transcript is.
type Session struct {
	ID   string // empty = none
	Node string // the machine
	Cwd  string // the working folder, symbolic links resolved
	Turn int64  // the last turn in it

	Tokens int64 // tokens in it after its last turn, as the agent counts them; 0 = unknown
	Window int64 // its capacity in tokens; 0 = unknown
}

const keepSession = `UPDATE chats SET session_id = ?3, session_node = ?4, session_cwd = ?5,
	session_turn = CASE WHEN session_id = ?3 THEN CASE WHEN session_turn > ?6 THEN session_turn ELSE ?6 END ELSE ?6 END,
	session_tokens = CASE WHEN ?7 = 0 AND session_id = ?3 THEN session_tokens ELSE ?7 END,
	session_window = CASE WHEN ?8 = 0 AND session_id = ?3 THEN session_window ELSE ?8 END
	WHERE key = ?1 AND epoch = ?2`

// When machines take turns, the session of each is kept until its next turn.
const setSessionAside = `INSERT INTO sessions (chat_key, node, epoch, session_id, cwd, turn_id)
	SELECT key, session_node, epoch, session_id, session_cwd, session_turn FROM chats
	WHERE key = ?1 AND epoch = ?2 AND session_id <> '' AND session_node NOT IN ('', ?3)
	ON CONFLICT (chat_key, node) DO UPDATE SET epoch = excluded.epoch, session_id = excluded.session_id,
	cwd = excluded.cwd, turn_id = excluded.turn_id`

// keepSession makes s, which now holds the turn, the chat's session, unless /new came in between.
func (t Turn) keepSession(ctx context.Context, tx *sql.Tx, s Session) error {
	key := t.Key.String()
	if _, err := tx.ExecContext(ctx, setSessionAside, key, t.Epoch, s.Node); err != nil {
		return fmt.Errorf("set session of another machine aside: %w", err)
	}
	if _, err := tx.ExecContext(
		ctx, keepSession, key, t.Epoch, s.ID, s.Node, s.Cwd, t.ID, s.Tokens, s.Window,
	); err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	return nil
}

const sessionAside = `SELECT session_id, node, cwd, turn_id FROM sessions WHERE chat_key = ?1 AND session_id = ?2`

// loadSessionAside loads a session of the chat that was replaced by another one.
func loadSessionAside(ctx context.Context, tx *sql.Tx, key chat.Key, id string) (s Session, err error) {
	err = tx.QueryRowContext(ctx, sessionAside, key.String(), id).Scan(&s.ID, &s.Node, &s.Cwd, &s.Turn)
	if err != nil {
		return Session{}, fmt.Errorf("load session %s: %w", id, err)
	}
	return s, nil
}

const sessionOn = `SELECT session_id, node, cwd, turn_id FROM sessions WHERE chat_key = ?1 AND node = ?2 AND epoch = ?3`

// SessionOn is the session that [Turns.Claim] would resume on a machine; each machine has its own.
func (cs Chats) SessionOn(ctx context.Context, c Chat, node string) (Session, error) {
	if c.Session.ID == "" || c.Session.Node == "" || c.Session.Node == node {
		return c.Session, nil
	}
	var s Session
	err := cs.db.read.QueryRowContext(ctx, sessionOn, c.Key.String(), node, c.Epoch).Scan(&s.ID, &s.Node, &s.Cwd, &s.Turn)
	if errors.Is(err, sql.ErrNoRows) {
		return c.Session, nil
	} else if err != nil {
		return Session{}, fmt.Errorf("session of %v on %s: %w", c.Key, node, err)
	}
	return s, nil
}

const forgetSession = `UPDATE chats SET ` + noSession + `
	WHERE key = ?1 AND session_id = ?2`

const forgetSessionsAside = `DELETE FROM sessions WHERE chat_key = ?1`

const forgetSessionAside = `DELETE FROM sessions WHERE chat_key = ?1 AND session_id = ?2`

// ForgetSession drops a lost session. Other sessions of the chat stay.
func (cs Chats) ForgetSession(ctx context.Context, key chat.Key, id string) error {
	err := cs.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, forgetSession, key.String(), id)
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetSessionAside, key.String(), id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("forget session %s of %v: %w", id, key, err)
	}
	return nil
}

// Prompt is a question with its ID in the agent's sessions.
type Prompt struct {
	ID   string // the ID in a transcript
	Turn int64
}

// promptTurns is how many turns a session may lag behind.
const promptTurns = 200

const selectPrompts = `SELECT id, prompt_id, asked_before FROM turns WHERE chat_key = ?1 AND id <= ?2
	ORDER BY id DESC LIMIT ?3`

// Prompts lists the prompts of a chat's newest turns up to the turn upTo, newest first. A question that was sent more
// than once appears under each of its IDs.
func (ts Turns) Prompts(ctx context.Context, key chat.Key, upTo int64) ([]Prompt, error) {
	return ts.prompts(ctx, key, selectPrompts, key.String(), upTo, promptTurns)
}

const promptsOfSession = `SELECT id, prompt_id, asked_before FROM turns WHERE session_id = ?1 AND session_id <> ''
	ORDER BY id DESC LIMIT ?2`

func (ts Turns) prompts(ctx context.Context, key chat.Key, query string, args ...any) (_ []Prompt, err error) {
	rows, err := ts.db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("prompts of %v: %w", key, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var list []Prompt
	for rows.Next() {
		var turn int64
		var id, before string
		if err := rows.Scan(&turn, &id, &before); err != nil {
			return nil, fmt.Errorf("prompts of %v: %w", key, err)
		}
		// before has the IDs of earlier attempts: a resumed session may contain any of them.
		for _, name := range append([]string{id}, strings.Fields(before)...) {
			if name != "" {
				list = append(list, Prompt{name, turn})
			}
		}
	}
	return list, rows.Err()
}

const sessionsInUse = `SELECT session_id FROM chats WHERE session_id <> '' UNION SELECT session_id FROM sessions
	UNION SELECT session_id FROM turns WHERE session_id <> '' AND state IN ('queued', 'running')`

// SessionsInUse lists the sessions that the next turn of a chat goes on in, on any machine, and those of turns that
// have not ended.
func (cs Chats) SessionsInUse(ctx context.Context) ([]string, error) {
	list, err := queryAll(ctx, cs.db.read, scanText, sessionsInUse)
	if err != nil {
		return nil, fmt.Errorf("sessions in use: %w", err)
	}
	return list, nil
}

// PastSession is an earlier session of a chat, for users.
type PastSession struct {
	ID       string
	Epoch    int64  // of its conversation
	Turn     int64  // the last turn it answered
	Turns    int    // number of turns answered
	Question string // of the first turn
	Title    string // of its conversation; empty = it has none
	Began    time.Time
	Ended    time.Time
}

// The index turns_chat finds the turns of a chat.
const pastSessions = `SELECT s.session_id, s.epoch, s.last, s.many, s.began, s.ended,
	COALESCE((SELECT content FROM messages m WHERE m.chat_key = ?1 AND m.turn_id = s.first AND m.turn_id > 0
	AND m.role = 'user'` + notRecalled + `
		ORDER BY m.sent_at, m.seq LIMIT 1), ''),
	COALESCE((SELECT topic FROM chats WHERE key = ?1 AND chats.epoch = s.epoch),
		(SELECT title FROM titles WHERE chat_key = ?1 AND titles.epoch = s.epoch), '')
	FROM (SELECT session_id, MAX(epoch) AS epoch, MIN(id) AS first, MAX(id) AS last, COUNT(*) AS many,
	MIN(created_at) AS began, MAX(ended_at) AS ended
		FROM turns WHERE chat_key = ?1 AND state = 'done' AND session_id <> '' GROUP BY session_id) s
	ORDER BY s.last DESC LIMIT ?2`

// PastSessions lists the sessions of a chat that have answered turns, newest first, at most most.
func (cs Chats) PastSessions(ctx context.Context, key chat.Key, most int) ([]PastSession, error) {
	list, err := queryAll(ctx, cs.db.read, scanPastSession, pastSessions, key.String(), most)
	if err != nil {
		return nil, fmt.Errorf("sessions of %v: %w", key, err)
	}
	return list, nil
}

func scanPastSession(scan scanner) (s PastSession, err error) {
	var began, ended int64
	err = scan(&s.ID, &s.Epoch, &s.Turn, &s.Turns, &began, &ended, &s.Question, &s.Title)
	s.Began, s.Ended = fromMillis(began), fromMillis(ended)
	return s, err
}

// A resumed conversation becomes the newest: its messages and turns move to a new epoch, since lower epochs than the
// chat's are closed for good.
var takeUp = []string{
	`UPDATE messages SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE turns SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE embeddings SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE chats SET epoch = ?3, ` + noContext + ` WHERE key = ?1 AND epoch <> ?2`,
	pastTopic,
	dropTopic,
}

const sessionOfChat = `SELECT epoch, MAX(id) FROM turns INDEXED BY turns_session WHERE chat_key = ?1
	AND session_id = ?2 AND session_id <> '' AND state = 'done' GROUP BY epoch
	ORDER BY 2 DESC LIMIT 1`

const takeSession = `UPDATE chats SET session_id = ?2, session_node = ?3, session_cwd = ?4, session_turn = ?5,
	session_tokens = 0, session_window = 0
	WHERE key = ?1`

// resumeSession makes s, an earlier session of the chat, its current one, and continues its conversation. s names the
// session and where it is resumed. It returns [ErrNotFound] if the chat never had it.
func resumeSession(ctx context.Context, tx *sql.Tx, key chat.Key, s Session) error {
	c, err := loadChat(ctx, tx, key)
	if err != nil {
		return err
	}
	var epoch int64
	err = tx.QueryRowContext(ctx, sessionOfChat, key.String(), s.ID).Scan(&epoch, &s.Turn)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	// A different conversation: its messages get a new epoch, which makes them current.
	if epoch != c.Epoch {
		if _, err := tx.ExecContext(ctx, keepTopic, key.String()); err != nil {
			return fmt.Errorf("keep the title: %w", err)
		}
		for _, update := range takeUp {
			if _, err := tx.ExecContext(ctx, update, key.String(), epoch, c.Epoch+1); err != nil {
				return fmt.Errorf("take up a conversation: %w", err)
			}
		}
	}
	if _, err := tx.ExecContext(ctx, forgetSessionsAside, key.String()); err != nil {
		return fmt.Errorf("forget sessions of other machines: %w", err)
	}
	if _, err := tx.ExecContext(ctx, takeSession, key.String(), s.ID, s.Node, s.Cwd, s.Turn); err != nil {
		return fmt.Errorf("take session %s: %w", s.ID, err)
	}
	return nil
}

const (
	selectFolder = `SELECT id FROM agent_folders WHERE chat_key = ?1`
	insertFolder = `INSERT INTO agent_folders (chat_key, id) VALUES (?1, ?2) ON CONFLICT (chat_key) DO NOTHING`
	chatOfFolder = `SELECT chat_key FROM agent_folders WHERE id = ?1`
)

// Folder is the ID of a chat's folder, or [ErrNotFound].
func (cs Chats) Folder(ctx context.Context, key chat.Key) (id string, err error) {
	err = cs.db.read.QueryRowContext(ctx, selectFolder, key.String()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	} else if err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, cs.db.engine.Explain(err))
	}
	return id, nil
}

// MakeFolder is the ID of a chat's folder. A chat without one gets this one, or a new one if id is empty.
func (cs Chats) MakeFolder(ctx context.Context, key chat.Key, id string) (string, error) {
	if is, err := cs.Folder(ctx, key); !errors.Is(err, ErrNotFound) {
		return is, err
	}
	if err := cs.db.chatExec(ctx, key, insertFolder, key.String(), cmp.Or(id, uuid.NewString())); err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, err)
	}
	return cs.Folder(ctx, key) // another one may have come first
}

// ChatOfFolder is the chat of a folder, or [ErrNotFound].
func (cs Chats) ChatOfFolder(ctx context.Context, id string) (chat.Key, error) {
	var key string
	err := cs.db.read.QueryRowContext(ctx, chatOfFolder, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return chat.Key{}, ErrNotFound
	} else if err != nil {
		return chat.Key{}, fmt.Errorf("chat of the folder %s: %w", id, cs.db.engine.Explain(err))
	}
	return chat.ParseKey(key)
}
