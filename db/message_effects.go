package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Effect is one change caused by a message, made in the transaction that stores the message. Only this package declares
// effects.
type Effect interface {
	apply(ctx context.Context, tx *sql.Tx, a *acceptance) error
}

// acceptance is a message being stored, for its effects.
type acceptance struct {
	db      *DB
	in      Inbound
	message chat.Message // as stored in the History
	decided bool         // see [AcceptResult]
}

// exec runs a statement for the chat of the message, whose key is the first argument.
func (a *acceptance) exec(ctx context.Context, tx *sql.Tx, what, statement string, args ...any) error {
	if _, err := tx.ExecContext(ctx, statement, append([]any{a.in.Key.String()}, args...)...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// StartConversation raises the chat's epoch: no later prompt contains anything from before this message. A message that
// is talk is the first one of the new conversation.
type StartConversation struct{}

// apply raises the epoch. The message itself belongs to the new conversation if it is talk, and to the old one if it is
// a command.
func (StartConversation) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	for _, statement := range []string{keepTopic, raiseEpoch} {
		if err := a.exec(ctx, tx, "start a conversation", statement); err != nil {
			return err
		}
	}
	a.db.hotTurns.forget(a.in.Key)
	if a.in.Class != chat.Talk {
		return nil
	}
	row := tx.QueryRowContext(ctx, moveToEpoch, a.in.Key.String(), a.message.Seq)
	if err := row.Scan(&a.message.Epoch); err != nil {
		return fmt.Errorf("ask in the new conversation: %w", err)
	}
	return nil
}

const moveToEpoch = `UPDATE messages SET epoch = (SELECT epoch FROM chats WHERE key = ?1)
	WHERE chat_key = ?1 AND seq = ?2 RETURNING epoch`

// RequestSummary requests a summary of the chat; see [Chats.Compact].
type RequestSummary struct{}

func (RequestSummary) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, "ask for a summary", setCompact, a.in.ID, a.in.replyTarget())
}

// Happens is what people make of the chat's turns: see [Turns.Happens].
type Happens struct {
	Event convo.Event
	Over  chat.Card // the final card of a turn that this settles
}

// apply matches the chat as well as its turns, so that a forged turn number has no effect elsewhere.
func (e Happens) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	effects, err := a.db.decide(ctx, tx, a.in.Key, e.Event)
	for _, f := range effects {
		if settled, ok := f.(convo.Settled); ok && err == nil {
			err = a.db.postSettled(ctx, tx, a.in.Key, settled, e.Over)
		}
	}
	return err
}

// DecideApproval decides an approval that an interrupted turn needs; the message continues the turn. If that was decided
// before, the message is an ordinary question.
type DecideApproval struct {
	Approval Approval
	Settling Settling
}

func (e DecideApproval) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	_, err := loadUndecided(ctx, tx, a.in.Key, a.in.Continues)
	if err == nil {
		err = a.db.Access().settle(ctx, tx, e.Approval, e.Settling)
	}
	a.decided = err == nil
	if errors.Is(err, ErrNotFound) {
		a.in.Continues, err = 0, nil
	}
	return err
}

// SetTitle replaces the title of the chat's conversation.
type SetTitle struct{ Title string }

func (e SetTitle) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, "change the title", changeTopic, e.Title)
}

// ResumeSession resumes an earlier session of the chat. Session names it, and where it is resumed. If the chat never
// had it, the result is [ErrNotFound].
type ResumeSession struct{ Session Session }

func (e ResumeSession) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	a.db.hotTurns.forget(a.in.Key)
	return resumeSession(ctx, tx, a.in.Key, e.Session)
}

// ChangeSettings changes the settings of the chat in which To differs from From: others may have been changed meanwhile.
type ChangeSettings struct{ From, To Settings }

func (e ChangeSettings) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(Settings) (Settings, Settings) { return e.From, e.To })
}

// MemoryReply is the reply to a message that changes a memory, in place of [Inbound.Reply]: a text for each outcome.
type MemoryReply struct {
	Done    string // with %d for its number and %s for its title, both as saved or as they were before it was forgotten
	Unknown string // the chat has no such memory, or not any more
	Changed string // it was changed concurrently
	TooMany string // the chat has the maximum number of memories
	Bad     string // it cannot be stored as it is
}

// text is the reply to a change of m that has failed with err, if it has. An error that users cannot act on is returned.
func (r MemoryReply) text(m Memory, err error) (string, error) {
	switch {
	case err == nil:
		return fmt.Sprintf(r.Done, m.Number, m.Title), nil
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrForgotten):
		return r.Unknown, nil
	case errors.Is(err, ErrChanged):
		return r.Changed, nil
	case errors.Is(err, ErrTooManyMemories):
		return r.TooMany, nil
	case errors.Is(err, ErrBadMemory):
		return r.Bad, nil
	}
	return "", err
}

// ChangeMemory saves a memory, or forgets it; see [Memories]. One that is forgotten must have the Version that it says,
// if it says any.
type ChangeMemory struct {
	Memory Memory
	Forget bool
	By     Change
	Reply  MemoryReply
}

func (e ChangeMemory) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	change := a.db.Memories().save
	if e.Forget {
		change = a.db.Memories().forget
	}
	m, err := change(ctx, tx, e.Memory, e.By)
	a.in.Reply, err = e.Reply.text(m, err)
	return err
}

// SetAccess grants access to a user, or to everyone in a chat, or deletes the decision about them.
type SetAccess struct {
	Subject string
	Allowed bool
	Name    string // may be empty
	By      string
}

func (e SetAccess) apply(ctx context.Context, tx *sql.Tx, a *acceptance) (err error) {
	if e.Allowed {
		_, err = tx.ExecContext(ctx, letIn, e.Subject, e.Name, e.By, millis(a.db.now()))
	} else {
		_, err = tx.ExecContext(ctx, revoke, e.Subject)
	}
	if err != nil {
		return fmt.Errorf("set access: %w", err)
	}
	return nil
}

// RevokeRule ends an active rule of the chat; see [Rule].
type RevokeRule struct{ Number int64 }

func (e RevokeRule) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, fmt.Sprintf("revoke rule %d", e.Number), revokeRule, e.Number, millis(a.db.now()))
}
