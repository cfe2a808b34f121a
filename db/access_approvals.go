package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// ApprovalState is where the question whether an agent may do something stands.
type ApprovalState string

// The states of an approval. All but Waiting are final.
const (
	Waiting   ApprovalState = "waiting"
	Approved  ApprovalState = "approved" // or answered
	Refused   ApprovalState = "refused"
	Expired   ApprovalState = "expired"   // nobody decided in time
	Withdrawn ApprovalState = "withdrawn" // its turn ended before
	Lost      ApprovalState = "lost"      // the program ended before
)

// Approval is something that an agent wants to do and people are asked about.
type Approval struct {
	ID      string // UUID
	Key     chat.Key
	Turn    int64 // that waits for it
	Tool    string
	Input   json.RawMessage // exactly as the agent wants it
	Project string          // working folder of the agent
	Always  *Permit         // what may be allowed for good with it; nil = nothing
	Askers  []string        // the users who asked for the turn
	Created time.Time
	Expires time.Time
	Settlement
}

// Settlement is what became of an approval.
type Settlement struct {
	State ApprovalState
	By    chat.Actor // who decided; an empty ID = nobody
	Words string     // why it was refused, or what was answered
}

// Hash tells one input of a tool from another.
func (a Approval) Hash() string {
	sum := sha256.Sum256(append([]byte(a.Tool+"\x00"), a.Input...))
	return hex.EncodeToString(sum[:])
}

// Approvals is what agents want to do and people are asked about.
type Approvals struct{ db *DB }

// Approvals gives the approvals of the database.
func (d *DB) Approvals() Approvals { return Approvals{d} }

const insertApproval = `INSERT INTO approvals (id, chat_key, turn_id, tool, input, hash, project, rule, askers, state, created_at, expires_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'waiting', ?10, ?11)`

// Ask stores a request for approval together with the card that shows it. Both are in one transaction:
// a request that nobody can see would block its turn.
func (as Approvals) Ask(ctx context.Context, a Approval, card chat.Card, replyTo string) error {
	rule := ""
	if a.Always != nil {
		data, err := json.Marshal(a.Always)
		if err != nil {
			return fmt.Errorf("ask for approval: %w", err)
		}
		rule = string(data)
	}
	err := as.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertApproval, a.ID, a.Key.String(), a.Turn, a.Tool, string(a.Input), a.Hash(), a.Project,
			rule, list(a.Askers), millis(a.Created), millis(a.Expires))
		if err != nil {
			return err
		}
		return as.draw(ctx, tx, a, Waiting, card, replyTo)
	})
	if err != nil {
		return fmt.Errorf("ask for approval: %w", err)
	}
	return nil
}

// draw leaves the card of an approval to be drawn.
func (as Approvals) draw(ctx context.Context, tx *sql.Tx, a Approval, state ApprovalState, card chat.Card, replyTo string) error {
	return as.db.Outbox().post(ctx, tx, Post{
		Key: a.Key, Approval: a.ID, Idem: "approval:" + a.ID + ":" + string(state), ReplyTo: replyTo, Card: &card,
	})
}

// approvalColumns is in the order in which scanApproval reads.
const approvalColumns = `id, chat_key, turn_id, tool, input, hash, project, rule, askers, state, decided_by, decider, words, created_at, expires_at`

// scanApproval compares the hash of the input: what a person has approved must be exactly what the tool gets.
func scanApproval(scan scanner) (Approval, error) {
	var a Approval
	var key, input, hash, rule, askers string
	var created, expires int64
	err := scan(&a.ID, &key, &a.Turn, &a.Tool, &input, &hash, &a.Project, &rule, &askers, &a.State, &a.By.ID, &a.By.Name, &a.Words,
		&created, &expires)
	if err != nil {
		return Approval{}, err
	}
	a.Input, a.Created, a.Expires = json.RawMessage(input), fromMillis(created), fromMillis(expires)
	if a.Hash() != hash {
		return Approval{}, fmt.Errorf("approval %s: its input has changed since it was stored", a.ID)
	}
	if rule != "" {
		a.Always = new(Permit)
		if err := json.Unmarshal([]byte(rule), a.Always); err != nil {
			return Approval{}, fmt.Errorf("approval %s: %w", a.ID, err)
		}
	}
	if err := json.Unmarshal([]byte(askers), &a.Askers); err != nil {
		return Approval{}, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	a.Key, err = chat.ParseKey(key)
	return a, err
}

const selectApproval = `SELECT ` + approvalColumns + ` FROM approvals WHERE id = ?1`

// Get returns an approval, or [ErrNotFound].
func (as Approvals) Get(ctx context.Context, id string) (Approval, error) {
	a, err := one(ctx, as.db.read, scanApproval, selectApproval, id)
	if errors.Is(err, ErrNotFound) {
		return Approval{}, ErrNotFound
	} else if err != nil {
		return Approval{}, fmt.Errorf("load approval: %w", err)
	}
	return a, nil
}

const waitingApprovals = `SELECT ` + approvalColumns + ` FROM approvals WHERE state = 'waiting' ORDER BY created_at, id`

// Waiting lists what nobody has decided yet. At the start of the program that is what a dead process left.
func (as Approvals) Waiting(ctx context.Context) ([]Approval, error) {
	list, err := collect(ctx, as.db.read, scanApproval, waitingApprovals)
	if err != nil {
		return nil, fmt.Errorf("list waiting approvals: %w", err)
	}
	return list, nil
}

const settleApproval = `UPDATE approvals SET state = ?2, decided_by = ?3, decider = ?4, words = ?5, decided_at = ?6
	WHERE id = ?1 AND state = ?7 RETURNING COALESCE((SELECT reply_to FROM turns WHERE id = turn_id), '')`

// Settling is how an approval comes to its Settlement.
type Settling struct {
	From   ApprovalState // in which it must be
	Event  string        // the platform's id of the press that decides, each counts once; empty = nobody pressed
	Card   chat.Card     // what it looks like from now on
	Always bool          // what it allows for good becomes a rule
}

// Settle stores the decision about a. An approval that was never used leaves no rule behind. It returns
// [ErrNotFound] if a is not in the state that s expects, and [ErrRepeated] if the event is known.
func (as Approvals) Settle(ctx context.Context, a Approval, s Settling) error {
	err := as.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := takeEvent(ctx, as.db, tx, s.Event); err != nil {
			return err
		}
		// The approval was given but could not take effect, so its permanent rule is withdrawn with it.
		if s.From == Approved && a.Always != nil {
			if err := as.db.Rules().undo(ctx, tx, a); err != nil {
				return err
			}
		}
		var replyTo string
		now := as.db.now()
		// The state is part of the WHERE clause, so of two people who press at the same moment only one wins.
		row := tx.QueryRowContext(ctx, settleApproval, a.ID, a.State, a.By.ID, a.By.Name, a.Words, millis(now), s.From)
		if err := row.Scan(&replyTo); errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		if s.Always && a.Always != nil {
			if err := as.db.Rules().add(ctx, tx, a, now); err != nil {
				return err
			}
		}
		return as.draw(ctx, tx, a, a.State, s.Card, replyTo)
	})
	if err != nil {
		return fmt.Errorf("settle approval %s: %w", a.ID, err)
	}
	return nil
}

const unansweredApproval = `SELECT EXISTS (SELECT 1 FROM approvals WHERE turn_id = ?1 AND state IN ('waiting', 'lost'))`

// Unanswered reports whether the end of the program came while people were asked in a turn.
func (as Approvals) Unanswered(ctx context.Context, turn int64) (yes bool, err error) {
	if err := as.db.read.QueryRowContext(ctx, unansweredApproval, turn).Scan(&yes); err != nil {
		return false, fmt.Errorf("approvals of turn %d: %w", turn, err)
	}
	return yes, nil
}

const setApprovalCard = `UPDATE approvals SET card_id = ?2 WHERE id = ?1`

// SetCard remembers the card that asks for an approval.
func (as Approvals) SetCard(ctx context.Context, id, card string) error {
	if _, err := as.db.engine.Exec(ctx, setApprovalCard, id, card); err != nil {
		return fmt.Errorf("set card of approval %s: %w", id, err)
	}
	return nil
}

const forgetApprovals = `DELETE FROM approvals WHERE state <> 'waiting' AND decided_at < ?1`
