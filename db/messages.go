package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
	"magpie/internal/text"
)

// Inbound is a message to be stored in a chat's History.
type Inbound struct {
	chat.Incoming
	Class chat.Class
	Lang  string // the language it is written in; empty = unknown

	Said    string     // what the chat's own door shows of a message that came through another one; empty = nothing
	Reply   string     // the text of the reply; empty = none
	Card    *chat.Card // replaces Reply; nil = none
	ReplyTo string     // the message to reply to; empty = this one
	Effects []Effect   // its changes, in this order

	// how it is queued if it is talk
	Continues int64      // the interrupted turn that it asks to continue; 0 = none
	Over      chat.Card  // the final card of that turn
	Held      *chat.Card // not nil: the turn, its [chat.OwnTurn], is held until somebody asks for it, and shows this card
	Adds      int64      // the running turn that gets the message, under the ID Prompt in the transcript; 0 = none
	Prompt    string
	Start     *Start // not nil: the chat is idle, so the turn is claimed at once
}

// AcceptResult is the result of storing a message.
type AcceptResult struct {
	Fresh   bool         // false: the message was already known, and nothing was changed
	Turn    int64        // the turn that will answer it; 0 = none
	Steered bool         // that turn is running, and must be given the message
	Message chat.Message // as stored
	Claim   *Claim       // the turn that Inbound.Start has claimed; nil = none
	Decided bool         // [DecideApproval] has taken effect
}

const (
	countBot = `UPDATE chats SET bot_turns = bot_turns + 1 WHERE key = ?1`
	resetBot = `UPDATE chats SET bot_turns = 0 WHERE key = ?1 AND bot_turns > 0`
)

// countBotTurns counts the questions of other bots since a person last wrote.
func (e Inbound) countBotTurns(ctx context.Context, tx *sql.Tx) error {
	query := resetBot
	switch {
	case e.Actor.Bot && e.Class != chat.Talk:
		return nil
	case e.Actor.Bot:
		query = countBot
	}
	if _, err := tx.ExecContext(ctx, query, e.Key.String()); err != nil {
		return fmt.Errorf("count the questions of bots: %w", err)
	}
	return nil
}

// replyTarget is the message that the reply refers to; empty = none, as for a command from the bot's menu.
func (e Inbound) replyTarget() string {
	if e.ReplyTo == "" && IsPressID(e.ID) {
		return ""
	}
	return cmp.Or(e.ReplyTo, e.ID)
}

// locks are those of the message's chat, and of what its effects change besides.
func (e Inbound) locks() locks {
	l := locks{own: e.Key, chats: []chat.Key{e.Key}}
	for _, f := range e.Effects {
		switch f := f.(type) {
		case SetAccess:
			l.names = append(l.names, grantName(f.Subject))
		case DecideApproval:
			l.chats = append(l.chats, f.Approval.Key)
		case ChangeMemory:
			l.chats = append(l.chats, f.Memory.Key)
		}
	}
	return l
}

func touchChat(ctx context.Context, tx *sql.Tx, e Inbound) error {
	if err := e.Key.Validate(); err != nil {
		return err
	}
	parent := e.Key.Parent().String()
	if _, err := tx.ExecContext(ctx, upsertChat, e.Key.String(), e.Kind, e.Title, e.Lang, parent, e.Tenant); err != nil {
		return fmt.Errorf("add chat: %w", err)
	}
	return nil
}

// Messages stores the messages of the History: what people and agents have said and done, group talk that was not
// addressed to the bot, and attachments.
type Messages struct{ db *DB }

// Messages returns the messages in the database.
func (d *DB) Messages() Messages { return Messages{d} }

// Accept stores a message and applies its effects in one transaction. Talk to the bot is queued: in the turn that
// already waits in the chat, or else in a new one, which is claimed if e says so. A message that is already known
// changes nothing. Once Accept returns without error the message survives a crash, so it may be acknowledged to the
// platform.
func (ms Messages) Accept(ctx context.Context, e Inbound) (AcceptResult, error) {
	var a AcceptResult
	d := ms.db
	err := d.tx(ctx, e.locks(), func(ctx context.Context, tx *sql.Tx) error {
		a = AcceptResult{}
		if err := touchChat(ctx, tx, e); err != nil {
			return err
		}
		m := chat.Message{
			Key: e.Key, ID: e.ID, Role: chat.User, Class: e.Class, Actor: e.Actor, Text: e.Text, Time: e.Time,
		}
		fresh, gone, err := ms.insert(ctx, tx, &m)
		if err != nil || !fresh {
			return err
		}
		a.Fresh = true
		if _, err := d.Messages().insertFiles(ctx, tx, e.Key, e.ID, e.Files); err != nil {
			return err
		}
		// A recalled message is stored as recalled and must have no effects.
		if gone {
			return ms.withdrawNew(ctx, tx, m)
		}
		if err := e.countBotTurns(ctx, tx); err != nil {
			return err
		}
		if e.Class != chat.Overheard {
			if _, err := tx.ExecContext(ctx, unsilence, e.Key.String()); err != nil {
				return fmt.Errorf("end the silence of the chat: %w", err)
			}
		}
		if e.Said != "" {
			if err := d.Outbox().post(ctx, tx, Post{Key: e.Key, Idem: "said:" + e.ID, Text: e.Said}); err != nil {
				return err
			}
		}
		in := &acceptance{db: d, in: e, message: m}
		for _, effect := range e.Effects {
			if err := effect.apply(ctx, tx, in); err != nil {
				return err
			}
		}
		if reply := in.in.Reply; reply != "" || e.Card != nil {
			p := Post{Key: e.Key, Idem: "reply:" + e.ID, ReplyTo: e.replyTarget(), Text: reply, Card: e.Card}
			if err := d.Outbox().post(ctx, tx, p); err != nil {
				return err
			}
		}
		a.Message, a.Decided = in.message, in.decided
		if e.Class != chat.Talk {
			return nil
		}
		return d.Turns().accept(ctx, tx, in.in, &a)
	})
	if err != nil {
		return AcceptResult{}, fmt.Errorf("accept message %s: %w", e.ID, err)
	}
	return a, nil
}

const nextSeq = `UPDATE chats SET next_seq = next_seq + 1 WHERE key = ?1 RETURNING next_seq - 1, epoch`

// newSeq is [nextSeq] for a message that is not known, and says whether it was recalled before it arrived: the two events
// have no order.
const newSeq = `UPDATE chats SET next_seq = next_seq + 1
	WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2)
	RETURNING next_seq - 1, epoch, EXISTS (SELECT 1 FROM events WHERE id = ?3)`

const knownMessage = `SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2`

const insertMessage = `INSERT INTO messages
	(chat_key, seq, epoch, turn_id, message_id, role, class, actor_id, actor_name, content, sent_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`

// insert gives m its sequence number, and the epoch of the chat unless it has a turn: then it must already have that
// turn's epoch. It changes nothing if the message ID is known, or the chat is not: then m is not fresh. A message that is
// gone was recalled before it arrived, see [Messages.withdrawNew].
func (ms Messages) insert(ctx context.Context, tx *sql.Tx, m *chat.Message) (fresh, gone bool, err error) {
	var epoch int64
	err = tx.QueryRowContext(ctx, newSeq, m.Key.String(), m.ID, recallEvent(m.Key, m.ID)).Scan(&m.Seq, &epoch, &gone)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	} else if err != nil {
		return false, false, fmt.Errorf("number message: %w", err)
	}
	if m.Turn == 0 {
		m.Epoch = epoch
	}
	return true, gone, ms.storeMessage(ctx, tx, m)
}

func isKnown(ctx context.Context, tx *sql.Tx, m *chat.Message) (bool, error) {
	var one int
	err := tx.QueryRowContext(ctx, knownMessage, m.Key.String(), m.ID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for message: %w", err)
	}
	return true, nil
}

// Known reports whether a message is in the History of a chat.
func (ms Messages) Known(ctx context.Context, key chat.Key, id string) (bool, error) {
	var one int
	err := ms.db.read.QueryRowContext(ctx, knownMessage, key.String(), id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for message: %w", err)
	}
	return true, nil
}

// Questions lists the questions that a turn answers, in the order in which they were written.
func (ms Messages) Questions(ctx context.Context, t Turn) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, t.Key, selectAsked, t.Key.String(), t.questionTurn())
	if err != nil {
		return nil, fmt.Errorf("questions of turn %d: %w", t.ID, err)
	}
	return list, nil
}

// storeMessage is the only place that adds to the History. m has its seq and its epoch.
func (ms Messages) storeMessage(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	m.Text, m.Actor.Name = text.Mend(m.Text), text.Mend(m.Actor.Name) // the same with both engines
	stored, err := tx.ExecContext(ctx, insertMessage, m.Key.String(), m.Seq, m.Epoch, m.Turn, m.ID, m.Role, m.Class,
		m.Actor.ID, m.Actor.Name, m.Text, millis(m.Time))
	if err != nil {
		return fmt.Errorf("insert message: %w", err)
	}
	return ms.db.terms.add(ctx, tx, stored, m)
}

// messageColumns has the order of scanMessage.
const messageColumns = `seq, epoch, turn_id, message_id, role, class, actor_id, actor_name, content, sent_at`

// scanMessage reads a row of messageColumns, and the columns before them into first.
func scanMessage(rows *sql.Rows, key chat.Key, first ...any) (chat.Message, error) {
	m := chat.Message{Key: key}
	var ms int64
	err := rows.Scan(append(first, &m.Seq, &m.Epoch, &m.Turn, &m.ID, &m.Role, &m.Class,
		&m.Actor.ID, &m.Actor.Name, &m.Text, &ms)...)
	m.Time = fromMillis(ms)
	return m, err
}

// queryMessages skips a row that cannot be read: one damaged message must not make a whole chat unusable. Such rows are
// counted elsewhere (unreadable.go).
func queryMessages(
	ctx context.Context, q querier, key chat.Key, query string, args ...any,
) (_ []chat.Message, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var list []chat.Message
	for rows.Next() {
		if m, err := scanMessage(rows, key); err == nil { // skipped, as in collect
			list = append(list, m)
		}
	}
	return list, rows.Err()
}
