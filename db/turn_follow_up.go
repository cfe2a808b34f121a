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

// A follow-up is a turn that an agent starts by itself when one of its background tasks has ended. It is created in the
// transaction that ends the turn which started the task, so that a crash does not lose it. It waits until the agent
// starts it; then it is queued and claimed like any other. It has no questions of its own: it continues those of the
// turn that it follows. A chat has at most one.
const openFollowUp = `SELECT ` + turnColumns + ` FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND follows > 0` + isOpen + ` ORDER BY id LIMIT 1`

// OpenFollowUp returns the waiting or queued follow-up of a chat, or [ErrNotFound].
func (ts Turns) OpenFollowUp(ctx context.Context, key chat.Key) (Turn, error) {
	t, err := queryOne(ctx, ts.db.read, scanTurn, openFollowUp, key.String())
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("follow-up in %v: %w", key, err)
	}
	return t, err
}

// worksOn is what happens when the agent of a turn works on in the background after it.
func (ts Turns) worksOn(ctx context.Context, tx *sql.Tx, last Turn) (e convo.WorksOn, err error) {
	if e.After, err = loadOver(ctx, tx, last.Key, last.ID); err == nil {
		e.Recalled, err = allRecalled(ctx, tx, last.Key, cmp.Or(e.After.Follows, e.After.ID))
	}
	return e, err
}

const inSessionOf = `UPDATE turns SET session_id = (SELECT session_id FROM turns WHERE id = ?2) WHERE id = ?1`

// beginFollowUp stores where a follow-up will run that was made after a turn.
func (ts Turns) beginFollowUp(ctx context.Context, tx *sql.Tx, last int64, effects []convo.Effect) error {
	for _, f := range effects {
		if f, ok := f.(convo.Follows); ok {
			if _, err := tx.ExecContext(ctx, inSessionOf, f.Turn, last); err != nil {
				return fmt.Errorf("session of follow-up %d: %w", f.Turn, err)
			}
		}
	}
	return nil
}

// makeFollowUp makes the follow-up of a turn, unless one is open already, and returns the open one. If there is none,
// as the questions of the turn were recalled, it returns [ErrNotFound].
func (ts Turns) makeFollowUp(
	ctx context.Context, tx *sql.Tx, last Turn, instead int64,
) (t Turn, isNew bool, err error) {
	e, err := ts.worksOn(ctx, tx, last)
	if err != nil {
		return Turn{}, false, err
	}
	e.Instead = instead
	effects, err := ts.db.decide(ctx, tx, last.Key, e)
	if err == nil {
		err = ts.beginFollowUp(ctx, tx, last.ID, effects)
	}
	if err != nil {
		return Turn{}, false, err
	}
	t, err = queryOne(ctx, tx, scanTurn, openFollowUp, last.Key.String())
	return t, len(effects) > 0, err
}

// FollowUp makes the follow-up of a turn, unless one waits already, which may be that of another turn. It returns
// the follow-up as a reply to the questions of the given turn, with these, and with those of the turns that this one
// continues. The turn may still run. If its questions were recalled nothing follows it: the result is [ErrNotFound].
func (ts Turns) FollowUp(ctx context.Context, last Turn) (c Claim, err error) {
	err = ts.db.chatTx(ctx, last.Key, func(ctx context.Context, tx *sql.Tx) (err error) {
		c = Claim{}
		if c.Turn, _, err = ts.makeFollowUp(ctx, tx, last, 0); err != nil {
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

// ReplaceFollowUp ends a follow-up that nobody reads yet, and makes that of another turn in its place. If the questions
// of that turn were recalled it changes nothing: the result is [ErrNotFound].
func (ts Turns) ReplaceFollowUp(ctx context.Context, old, last Turn) (t Turn, err error) {
	err = ts.db.chatTx(ctx, last.Key, func(ctx context.Context, tx *sql.Tx) error {
		var isNew bool
		if t, isNew, err = ts.makeFollowUp(ctx, tx, last, old.ID); err == nil && t.ID == old.ID && !isNew {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return Turn{}, fmt.Errorf("replace follow-up %d: %w", old.ID, err)
	}
	return t, nil
}

// A follow-up is created after the turn that it follows.
const followUpsOf = `SELECT ` + turnColumns + ` FROM turns WHERE chat_key = ?1 AND id > ?2 AND follows = ?2`

// withdrawFollowUps removes what an agent has said, or will say, by itself about a recalled question, if there is no
// other question left.
func (r *Recalled) withdrawFollowUps(ctx context.Context, d *DB, tx *sql.Tx, m chat.Message, over chat.Card) error {
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
		if err := r.withdrawFollowUp(ctx, d, tx, t, over); err != nil {
			return fmt.Errorf("take back follow-up %d: %w", t.ID, err)
		}
	}
	return nil
}

func (r *Recalled) withdrawFollowUp(ctx context.Context, d *DB, tx *sql.Tx, t Turn, over chat.Card) error {
	effects, err := d.decide(ctx, tx, t.Key, convo.Loses{Turn: t.ID})
	if err != nil {
		return err
	}
	for _, f := range effects {
		switch f := f.(type) {
		case convo.Settled:
			if err := d.postSettled(ctx, tx, t.Key, f, over); err != nil {
				return err
			}
		case convo.Ended:
			r.FollowUp = t
			return nil
		case convo.Halt:
			r.Running = t.ID // its end hides its answer
			return nil
		}
	}
	return hideAnswer(ctx, d, tx, t)
}
