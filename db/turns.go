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
	Prompt    string    // names the question in the session's transcript; of a follow-up that has ended, the answer
	Card      string    // the card that shows it; empty = none yet
	ReplyTo   string    // the platform's id of the message that the answer answers
	Continues int64     // the interrupted turn that this one goes on with; 0 = none
	Follows   int64     // the turn after which the agent began this one by itself; 0 = somebody asked; see [FollowUps]
	Created   time.Time // when its first question came
	Progress
}

// Progress is how far a turn has come: by it a start after a crash decides whether the turn is run again.
type Progress struct {
	Attempts int    // how often it was claimed
	Stopped  bool   // somebody stopped it: it is not begun again
	Acted    bool   // a tool may have been used: it must not be run again unasked
	Draft    string // what people may have seen of the answer so far
}

// HasEffects reports whether anything of the turn can be seen, in the chat or outside of it.
func (p Progress) HasEffects() bool { return p.Acted || p.Draft != "" }

// asked is the turn whose questions it answers.
func (t Turn) asked() int64 { return cmp.Or(t.Follows, t.ID) }

// turnColumns is in the order in which scanTurn reads.
const turnColumns = `id, chat_key, epoch, state, failure, session_id, prompt_id, card_id, reply_to, continues, attempts,
	stopped, acted, draft, created_at, follows`

func scanTurn(scan scanner) (Turn, error) {
	var t Turn
	var key string
	var created int64
	err := scan(&t.ID, &key, &t.Epoch, &t.State, &t.Failure, &t.Session, &t.Prompt, &t.Card, &t.ReplyTo, &t.Continues,
		&t.Attempts, &t.Stopped, &t.Acted, &t.Draft, &created, &t.Follows)
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

// isOpen is what the index turns_open asks for: without its very words a query would read all turns there are. The
// index is named in each query: as long as SQLite has no figures about the data, and it collects them only at Close, it
// would rather read all turns of the chat.
const isOpen = ` AND state IN ('queued', 'running')`

// Turns is what the agent was asked to answer: the line from a question to its answer. Those that wait are in [Queue].
type Turns struct{ db *DB }

// Turns gives the turns of the database.
func (d *DB) Turns() Turns { return Turns{d} }

const sessionBegan = `SELECT COALESCE(MIN(id), 0) FROM turns WHERE session_id = ?1 AND session_id <> ''`

// SessionBegan is the first turn that ran in a session; 0 = none did.
func (ts Turns) SessionBegan(ctx context.Context, session string) (turn int64, err error) {
	if err := ts.db.read.QueryRowContext(ctx, sessionBegan, session).Scan(&turn); err != nil {
		return 0, fmt.Errorf("beginning of session %s: %w", session, err)
	}
	return turn, nil
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

const lastDone = `SELECT id FROM turns WHERE state = 'done' ORDER BY id DESC LIMIT 1`

// LastDone is the last turn that was answered; 0 = none.
func (ts Turns) LastDone(ctx context.Context) (turn int64, err error) {
	turn, err = one(ctx, ts.db.read, scanNumber, lastDone)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("last turn that was answered: %w", err)
	}
	return turn, nil
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

const runningTurns = `SELECT ` + turnColumns + ` FROM turns WHERE state = 'running' ORDER BY id`

// Running lists the turns that run. At the start of the program those are the ones that a dead process left.
func (ts Turns) Running(ctx context.Context) ([]Turn, error) {
	list, err := collect(ctx, ts.db.read, scanTurn, runningTurns)
	if err != nil {
		return nil, fmt.Errorf("list running turns: %w", err)
	}
	return list, nil
}

const selectAnswer = `SELECT content FROM messages WHERE chat_key = ?1 AND message_id = ?2`

// Answer is what the agent said in a turn that has ended; empty = nothing.
func (ts Turns) Answer(ctx context.Context, key chat.Key, turn int64) (string, error) {
	var text string
	err := ts.db.read.QueryRowContext(ctx, selectAnswer, key.String(), AnswerID(turn)).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("answer of turn %d: %w", turn, err)
	}
	return text, nil
}
