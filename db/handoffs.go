package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// handoffStore stores which chats go on in a terminal, and what is said there.
type handoffStore struct {
	handoffs.Store
	db *DB
}

// Handoffs stores which chats go on in a terminal, and what is said there.
func (d *DB) Handoffs() handoffStore {
	return handoffStore{db: d, Store: handoffs.Store{
		Tx: d.anywhereTx, Readers: d.read, Now: func() time.Time { return d.now() },
		Works: func(ctx context.Context, tx *sql.Tx, key chat.Key) (bool, error) {
			life, err := d.knownTurns(ctx, tx, key)
			works := slices.ContainsFunc(life.Turns, func(t convo.Turn) bool {
				return t.Phase == convo.Running || t.Phase == convo.Background || t.Phase == convo.Queued && t.Follows != 0
			})
			return works, err
		},
		Release: func(ctx context.Context, tx *sql.Tx, key chat.Key) error {
			_, err := d.decide(ctx, tx, key, convo.Due{})
			return err
		},
	}}
}

// anywhereTx is for what a bridge writes of a chat that another one may have.
func (d *DB) anywhereTx(ctx context.Context, key chat.Key, f func(ctx context.Context, tx *sql.Tx) error) error {
	return d.chatsTx(ctx, []chat.Key{key}, f)
}

const importTurn = `UPDATE turns SET session_id = ?2, prompt_id = ?3, ended_at = ?4 WHERE id = ?1`

// Prompts lists the prompts that the session of a lease may hold; none = it has begun in the terminal.
func (hs handoffStore) Prompts(ctx context.Context, l handoffs.Lease) (list []string, err error) {
	ts := hs.db.Turns()
	of, err := ts.prompts(ctx, l.Key, promptsOfSession, l.Session, promptTurns) // which may be an old one
	if err != nil || len(of) == 0 {
		return nil, err
	}
	newest, err := ts.Prompts(ctx, l.Key, maxTurns) // also those of turns that it has lost
	for _, p := range append(of, newest...) {
		list = append(list, p.ID)
	}
	return list, err
}

// Import adds turns to the History that have happened without this program, each with its question: a question that is known
// changes nothing. The chat's session then holds them, unless that was known and has been given up since, as by a recall. It
// returns how many were added.
func (hs handoffStore) Import(ctx context.Context, asked []chat.Message, turns []TurnResult, known bool) (added int, err error) {
	if len(turns) == 0 {
		return 0, nil
	}
	err = hs.db.anywhereTx(ctx, turns[0].Turn.Key, func(ctx context.Context, tx *sql.Tx) error {
		added = 0
		var first int64
		if err := tx.QueryRowContext(ctx, sessionBegan, turns[0].Turn.Session).Scan(&first); err != nil {
			return err
		}
		for i, r := range turns {
			if known && first == 0 {
				r.Turn.Session, r.Session = "", Session{}
			}
			fresh, err := hs.importOne(ctx, tx, asked[i], r)
			if err != nil {
				return err
			} else if fresh {
				added++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("import turns of %v: %w", turns[0].Turn.Key, err)
	}
	return added, nil
}

func (hs handoffStore) importOne(ctx context.Context, tx *sql.Tx, q chat.Message, r TurnResult) (fresh bool, err error) {
	if known, err := isKnown(ctx, tx, &q); err != nil || known {
		return false, err
	}
	life, err := loadTurns(ctx, tx, q.Key)
	if err == nil && life.Next == unnumbered {
		err = hs.db.numberTurns(ctx, tx, &life, 1)
	}
	if err != nil {
		return false, fmt.Errorf("number a turn: %w", err)
	}
	t := r.Turn
	t.ID, q.Turn, q.Epoch = life.Next, life.Next, t.Epoch
	ended := q.Time
	if r.Usage != nil {
		ended = ended.Add(r.Usage.Duration)
	}
	state, _ := stateOf(r.State)
	_, err = tx.ExecContext(ctx, insertTurn, t.ID, t.Key.String(), t.Epoch, state, r.Failure, millis(q.Time), "", 0, 1, millis(q.Time), 0)
	if err == nil {
		_, err = tx.ExecContext(ctx, importTurn, t.ID, t.Session, t.Prompt, millis(ended))
	}
	if err != nil {
		return false, err
	}
	hs.db.hotTurns.forgetAll()
	if err := tx.QueryRowContext(ctx, nextSeq, t.Key.String()).Scan(&q.Seq, new(int64)); err != nil {
		return false, fmt.Errorf("number message: %w", err)
	}
	if err := hs.db.Messages().storeMessage(ctx, tx, &q); err != nil {
		return false, err
	}
	for i := range r.Actions {
		r.Actions[i].Key, r.Actions[i].Turn, r.Actions[i].Epoch = t.Key, t.ID, t.Epoch
	}
	if err := hs.db.Messages().recordActions(ctx, tx, r.Actions); err != nil {
		return false, err
	}
	r.Turn = t
	e := turnEnd{r, hs.db, tx, ended}
	if err := e.recordAnswer(ctx); err != nil {
		return false, err
	}
	if r.Session.ID != "" {
		err = t.keepSession(ctx, tx, r.Session)
	}
	if err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, setTurned, t.Key.String(), millis(ended)); err != nil {
		return false, fmt.Errorf("note when the turn ended: %w", err)
	}
	return true, e.book(ctx)
}
