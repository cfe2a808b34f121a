package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Approval is an agent's request that people are asked about.
type Approval struct {
	ID       string // UUID
	Key      chat.Key
	Turn     int64 // the turn whose agent has asked
	NeededBy int64 // the turn that needs the decision: Turn, or the last one that continues it
	Tool     string
	Input    json.RawMessage // exactly as the agent sent it
	Project  string          // working folder of the agent
	Always   *Permit         // the rule that "always" would create; nil = none
	Askers   []string        // the users who asked for the turn
	Created  time.Time
	Expires  time.Time
	// how often a start of the program has continued its turn; see [Decision.Approval]
	Continued int
	Settlement
}

// Settlement is the outcome of an approval.
type Settlement struct {
	State   convo.Verdict
	By      chat.Actor      // who decided; an empty ID = nobody
	Words   string          // the reason of a refusal, or the answers
	Answers json.RawMessage // the tool's input with the answers to its questions; nil = the input is unchanged
}

// Hash identifies an input of a tool.
func (a Approval) Hash() string {
	sum := sha256.Sum256(append([]byte(a.Tool+"\x00"), a.Input...))
	return hex.EncodeToString(sum[:])
}

const describeApproval = `UPDATE approvals SET tool = ?2, input = ?3, hash = ?4, project = ?5, rule = ?6, askers = ?7,
	created_at = ?8, expires_at = ?9 WHERE id = ?1`

// Ask stores a request for approval together with the card that shows it. Both are in one transaction:
// a request that nobody can see would block its turn.
func (as Access) Ask(ctx context.Context, a Approval, card chat.Card, replyTo string) error {
	rule := ""
	if a.Always != nil {
		data, err := json.Marshal(a.Always)
		if err != nil {
			return fmt.Errorf("ask for approval: %w", err)
		}
		rule = string(data)
	}
	err := as.db.chatTx(ctx, a.Key, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := as.db.decide(ctx, tx, a.Key, convo.Wants{Turn: a.Turn, ID: a.ID}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, describeApproval, a.ID, a.Tool, string(a.Input), a.Hash(), a.Project, rule,
			encodeList(a.Askers), millis(a.Created), millis(a.Expires)); err != nil {
			return err
		}
		return as.enqueueCard(ctx, tx, a, stateOfVerdict(convo.Waiting), card, replyTo)
	})
	if err != nil {
		return fmt.Errorf("ask for approval: %w", err)
	}
	return nil
}

const openApproval = `SELECT COALESCE((SELECT reply_to FROM turns WHERE id = turn_id), '') FROM approvals
	WHERE id = ?1 AND state = 'waiting'`

// Redraw enqueues another card for an approval that is still waiting. It returns [ErrNotFound] if it is not: then its
// card is, or will be, the last one.
func (as Access) Redraw(ctx context.Context, a Approval, card chat.Card) error {
	err := as.db.chatTx(ctx, a.Key, func(ctx context.Context, tx *sql.Tx) error {
		var replyTo string
		err := tx.QueryRowContext(ctx, openApproval, a.ID).Scan(&replyTo)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		return as.enqueueCard(ctx, tx, a, "redrawn", card, replyTo)
	})
	if err != nil {
		return fmt.Errorf("redraw approval %s: %w", a.ID, err)
	}
	return nil
}

// enqueueCard enqueues the card of an approval.
func (as Access) enqueueCard(
	ctx context.Context, tx *sql.Tx, a Approval, state string, card chat.Card, replyTo string,
) error {
	return as.db.Outbox().post(ctx, tx, Post{
		Key: a.Key, Approval: a.ID, Idem: "approval:" + a.ID + ":" + state, ReplyTo: replyTo, Card: &card,
	})
}

// approvalColumns has the order of scanApproval.
const approvalColumns = `id, chat_key, turn_id, needed_by, tool, input, hash, project, rule, askers, state, decided_by, decider, words, answers,
	created_at, expires_at, continued`

// scanApproval checks the hash of the input: a tool must get exactly what a person has approved.
func scanApproval(scan scanner) (Approval, error) {
	var a Approval
	var key, input, hash, rule, askers, state, answers string
	var created, expires int64
	err := scan(&a.ID, &key, &a.Turn, &a.NeededBy, &a.Tool, &input, &hash, &a.Project, &rule, &askers,
		&state, &a.By.ID, &a.By.Name,
		&a.Words, &answers, &created, &expires, &a.Continued)
	if err != nil {
		return Approval{}, err
	}
	a.Input, a.Created, a.Expires = json.RawMessage(input), fromMillis(created), fromMillis(expires)
	a.State = verdicts[state]
	if a.Hash() != hash {
		return Approval{}, fmt.Errorf("approval %s: its input has changed since it was stored", a.ID)
	}
	if answers != "" {
		a.Answers = json.RawMessage(answers)
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

// Approval returns an approval, or [ErrNotFound].
func (as Access) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := queryOne(ctx, as.db.read, scanApproval, selectApproval, id)
	if errors.Is(err, ErrNotFound) {
		return Approval{}, ErrNotFound
	} else if err != nil {
		return Approval{}, fmt.Errorf("load approval: %w", err)
	}
	return a, nil
}

const openApprovals = `SELECT ` + approvalColumns + ` FROM approvals INDEXED BY approvals_open
	WHERE chat_key = ?1 AND delivered = 0 ORDER BY created_at, id`

// OpenApprovals lists the approvals of a chat that are not over: the undecided ones, and those whose decision no agent
// was told. If turns are given, it lists only those that one of them needs.
func (as Access) OpenApprovals(ctx context.Context, key chat.Key, neededBy ...int64) ([]Approval, error) {
	list, err := queryAll(ctx, as.db.read, scanApproval, openApprovals, key.String())
	if err != nil {
		return nil, fmt.Errorf("approvals of %v: %w", key, err)
	}
	return slices.DeleteFunc(list, func(a Approval) bool {
		return len(neededBy) > 0 && !slices.Contains(neededBy, a.NeededBy)
	}), nil
}

const (
	describeSettlement = `UPDATE approvals SET decided_by = ?2, decider = ?3, words = ?4, answers = ?5, decided_at = ?6
		WHERE id = ?1 AND state = ?7
		RETURNING needed_by, COALESCE((SELECT reply_to FROM turns WHERE id = turn_id), ''),
		COALESCE((SELECT epoch FROM turns WHERE id = turn_id), 0)`
	// an approval whose agent was told, and could not use it
	takeBack = `UPDATE approvals SET state = ?2 WHERE id = ?1 AND state = 'approved' AND delivered = 1 RETURNING id`
)

// Settling is a change to a Settlement.
type Settling struct {
	From         convo.Verdict // the required current state
	Event        string        // the platform's ID of the press, each of which counts once; empty = no press
	Card         chat.Card     // the new card
	Always       bool          // creates the permanent rule
	AgentWaiting bool          // an agent is waiting for it; otherwise the turn that continues gets it
	GoOn         *Decision     // by which the interrupted turn goes on; nil = it does not
	Action       Action        // the decision for the History; without a Decision it is not recorded
	// prompt ID of the steered message that decides: its agent has read it with the decision; empty = none
	Prompt string
	// not empty: the decision cannot be passed on to an agent, of which people are told with this text. Its turn must be
	// interrupted and undecided
	GiveUp string
}

// Settle stores the decision about a. An approval that was never used leaves no rule behind. It returns [ErrNotFound]
// if a is not in the state that s expects, or no turn needs it any more, and [ErrRepeated] if the event is known.
func (as Access) Settle(ctx context.Context, a Approval, s Settling) error {
	err := as.db.chatTx(ctx, a.Key, func(ctx context.Context, tx *sql.Tx) error { return as.settle(ctx, tx, a, s) })
	if err != nil {
		return fmt.Errorf("settle approval %s: %w", a.ID, err)
	}
	return nil
}

func (as Access) settle(ctx context.Context, tx *sql.Tx, a Approval, s Settling) error {
	if err := takeEvent(ctx, as.db, tx, s.Event); err != nil {
		return err
	}
	// The approval was given but could not take effect, so its permanent rule is withdrawn with it.
	if s.From == convo.Allowed && a.Always != nil {
		if err := as.undoRule(ctx, tx, a); err != nil {
			return err
		}
	}
	effects, err := as.db.decide(ctx, tx, a.Key, convo.Settles{
		ID: a.ID, From: s.From, As: a.State, Told: s.AgentWaiting,
	})
	switch {
	case err != nil:
	case len(effects) == 0 && s.From == convo.Allowed:
		_, err = queryOne(ctx, tx, scanText, takeBack, a.ID, stateOfVerdict(a.State))
	case len(effects) == 0:
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	var replyTo string
	var neededBy, epoch int64
	now := as.db.now()
	row := tx.QueryRowContext(
		ctx, describeSettlement, a.ID, a.By.ID, a.By.Name, a.Words, string(a.Answers), millis(now),
		stateOfVerdict(a.State),
	)
	if err := row.Scan(&neededBy, &replyTo, &epoch); errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return err
	}
	if s.Always && a.Always != nil {
		rule, err := as.insertRule(ctx, tx, a, now)
		if err != nil {
			return err
		}
		s.Action.Rule = rule
	}
	done := RecordedAction{Action: s.Action, Key: a.Key, Turn: a.Turn, Epoch: epoch, By: a.By, Time: now}
	if s.Action.Decision != "" {
		if err := as.db.Messages().recordActions(ctx, tx, []RecordedAction{done}); err != nil {
			return err
		}
	}
	if s.Prompt != "" {
		if _, err := as.db.decide(ctx, tx, a.Key, convo.Reads{Turn: neededBy, Prompts: []string{s.Prompt}}); err != nil {
			return err
		}
	}
	if s.GoOn != nil {
		if err := as.db.Turns().continueAfterDecision(ctx, tx, a.Key, neededBy, *s.GoOn); err != nil {
			return err
		}
	}
	if s.GiveUp != "" {
		if _, err := loadUndecided(ctx, tx, a.Key, neededBy); err != nil {
			return err
		}
		notice := Post{Key: a.Key, Idem: "not passed on:" + a.ID, ReplyTo: replyTo, Text: s.GiveUp}
		if err := as.db.Outbox().post(ctx, tx, notice); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, forgetCall, reminder(a).idem()); err != nil {
		return err
	}
	return as.enqueueCard(ctx, tx, a, stateOfVerdict(a.State), s.Card, replyTo)
}

const unansweredApproval = `SELECT EXISTS (SELECT 1 FROM approvals INDEXED BY approvals_undelivered
	WHERE needed_by = ?1 AND delivered = 0 AND state = 'waiting')`

const earlierAskers = `WITH RECURSIVE earlier (id) AS (
	SELECT continues FROM turns WHERE id = ?2 UNION SELECT (
		SELECT CASE WHEN follows > 0 THEN follows ELSE continues END FROM turns WHERE id = earlier.id
	) FROM earlier WHERE id > 0)
	SELECT DISTINCT actor_id FROM messages WHERE chat_key = ?1 AND turn_id IN (SELECT id FROM earlier) AND turn_id > 0
	AND role = 'user' AND actor_id <> ''`

// EarlierAskers lists the users who asked for the turns that a turn continues, or that these follow.
func (as Access) EarlierAskers(ctx context.Context, key chat.Key, turn int64) ([]string, error) {
	list, err := queryAll(ctx, as.db.read, scanText, earlierAskers, key.String(), turn)
	if err != nil {
		return nil, fmt.Errorf("who asked before turn %d: %w", turn, err)
	}
	return list, nil
}

const (
	areSettled      = ` FROM approvals WHERE state <> 'waiting' AND decided_at < ?1`
	chatsOfSettled  = `SELECT DISTINCT chat_key` + areSettled
	forgetApprovals = `DELETE` + areSettled + ` AND chat_key = ?2`
)

// A card that has not been shown yet notifies people by itself.
const repeatApproval = `UPDATE approvals SET repeated_at = ?2 WHERE id = ?1 AND state = 'waiting'
	AND repeated_at = 0 AND card_id <> ''
	RETURNING card_id`

func reminder(of Approval) Post { return Post{Key: of.Key, Idem: "repeat:" + of.ID} }

// Remind enqueues a reminder about an undecided approval, as a reply to its card. It returns [ErrNotFound] if there was
// a reminder before, or there is nothing to decide, or the chat wants no notifications.
func (as Access) Remind(ctx context.Context, a Approval, text string, users []string) error {
	err := as.db.chatTx(ctx, a.Key, func(ctx context.Context, tx *sql.Tx) error {
		c, err := loadChat(ctx, tx, a.Key)
		if err != nil {
			return err
		}
		if c.Settings.Notify == NotifyOff {
			return ErrNotFound
		}
		card, err := queryOne(ctx, tx, scanText, repeatApproval, a.ID, millis(as.db.now()))
		if err != nil {
			return err
		}
		p := reminder(a)
		p.ReplyTo, p.Text, p.Mentions = chat.FirstMessage(card), text, users
		return as.db.Outbox().post(ctx, tx, p)
	})
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("repeat approval %s: %w", a.ID, err)
	}
	return nil
}

const forgetCall = `DELETE FROM outbox WHERE idem = ?1`
