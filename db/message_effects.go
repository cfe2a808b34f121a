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

// RequestSummary requests a summary of the chat; see [Chats.Compact] and [Chats.AnswerCompaction].
type RequestSummary struct{}

func (RequestSummary) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, "ask for a summary", setCompact, a.in.ID, a.in.replyTarget())
}

// StopTurns stops turns of the chat; see [Turns.Stop].
type StopTurns struct{ Turns []int64 }

// apply matches the chat as well as the turn, so that a forged turn number stops nothing elsewhere.
func (e StopTurns) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	_, err := a.db.decide(ctx, tx, a.in.Key, convo.Stops{Turns: e.Turns})
	return err
}

// DropTurn drops an interrupted turn of the chat, so that nobody can continue it. Over is its final card. It has no
// effect if there was a decision before.
type DropTurn struct {
	Turn int64
	Over chat.Card
}

func (e DropTurn) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	err := a.db.Turns().drop(ctx, tx, a.in.Key, e.Turn, e.Over)
	if errors.Is(err, ErrNotFound) {
		return nil
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

// The settings of a chat, one effect each; an empty value means the configured one. See [Settings].
type (
	SetProject struct{ Project string }
	SetMode    struct{ Mode string }
	SetModel   struct{ Model string }
	SetEffort  struct{ Effort string }
	SetLang    struct{ Lang string }
	SetMention struct{ Mention string }
	SetNotify  struct{ Notify string }
)

func (e SetProject) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Project = e.Project })
}

func (e SetMode) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Mode = e.Mode })
}

func (e SetModel) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Model = e.Model })
}

func (e SetEffort) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Effort = e.Effort })
}

func (e SetLang) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Lang = e.Lang })
}

func (e SetMention) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Mention = e.Mention })
}

func (e SetNotify) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return changeSettings(ctx, tx, a.in.Key, func(s *Settings) { s.Notify = e.Notify })
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

// SaveMemory saves a memory; see [Memories.Save].
type SaveMemory struct {
	Memory Memory
	By     Change
	Reply  MemoryReply
}

func (e SaveMemory) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	m, err := a.db.Memories().save(ctx, tx, e.Memory, e.By)
	a.in.Reply, err = e.Reply.text(m, err)
	return err
}

// ForgetMemory forgets a memory; see [Memories.Forget]. If Version is set, it must be the current version.
type ForgetMemory struct {
	Memory Memory
	By     Change
	Reply  MemoryReply
}

func (e ForgetMemory) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	m, err := a.db.Memories().forget(ctx, tx, e.Memory, e.By)
	a.in.Reply, err = e.Reply.text(m, err)
	return err
}

// GrantAccess grants access to a user, or to everyone in a chat; see [Access.DecideGrant].
type GrantAccess struct {
	Subject string
	Name    string // may be empty
	By      string
}

func (e GrantAccess) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	if _, err := tx.ExecContext(ctx, letIn, e.Subject, e.Name, e.By, millis(a.db.now())); err != nil {
		return fmt.Errorf("grant access: %w", err)
	}
	return nil
}

// RevokeAccess deletes the decision about a user or a chat; see [Access.DecideGrant].
type RevokeAccess struct{ Subject string }

func (e RevokeAccess) apply(ctx context.Context, tx *sql.Tx, _ *acceptance) error {
	if _, err := tx.ExecContext(ctx, revoke, e.Subject); err != nil {
		return fmt.Errorf("revoke access: %w", err)
	}
	return nil
}

// RevokeRule ends an active rule of the chat; see [Rule].
type RevokeRule struct{ Number int64 }

func (e RevokeRule) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.exec(ctx, tx, fmt.Sprintf("revoke rule %d", e.Number), revokeRule, e.Number, millis(a.db.now()))
}
