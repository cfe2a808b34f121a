package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"magpie/internal/chat"
)

// Inbound is a message to be taken into a chat's History.
type Inbound struct {
	chat.Incoming
	Class chat.Class
	Lang  string // the language it is written in, when it tells; else empty

	Reply   string     // a text to answer it with; empty = none
	Card    *chat.Card // answers it in place of Reply; nil = none
	ReplyTo string     // the message that is answered; empty = this one
	Effects []Effect   // what it changes, in this order

	// how it is queued when it is talk
	Continues int64                      // the interrupted turn that it asks to go on with; 0 = none
	Over      chat.Card                  // what that turn looks like from now on
	Held      func(turn int64) chat.Card // not nil: the turn waits until somebody asks for it, and this card says so
	Steer     Steer                      // the turn that it is handed to, if that still runs; zero = none
}

// AcceptResult is the result of storing a message.
type AcceptResult struct {
	Fresh   bool         // false: the message was known already, and nothing was changed
	Turn    int64        // the turn that will answer it; 0 = none
	Steered bool         // that turn runs, and the message has to be handed to it
	Message chat.Message // as it was stored
}

const (
	countBot = `UPDATE chats SET bot_turns = bot_turns + 1 WHERE key = ?1`
	resetBot = `UPDATE chats SET bot_turns = 0 WHERE key = ?1 AND bot_turns > 0`
)

// count counts the questions of other bots since a person has spoken.
func (e Inbound) count(ctx context.Context, tx *sql.Tx) error {
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

// answered is the message that the reply answers.
func (e Inbound) answered() string { return cmp.Or(e.ReplyTo, e.ID) }

func touchChat(ctx context.Context, tx *sql.Tx, e Inbound) error {
	if err := e.Key.Validate(); err != nil {
		return err
	}
	parent := e.Key.Parent().String()
	if _, err := tx.ExecContext(ctx, upsertChat, e.Key.String(), e.Kind, e.Title, e.Lang, parent); err != nil {
		return fmt.Errorf("add chat: %w", err)
	}
	return nil
}

// Messages is the History where it is not walked with [History].
type Messages struct{ db *DB }

// Messages gives the messages of the database.
func (d *DB) Messages() Messages { return Messages{d} }

// Accept stores a message and applies its effects in one transaction. Talk to the bot is queued to be answered: in the
// turn that already waits in the chat, else in a turn of its own. A message that is already known changes nothing. Once
// Accept returns without error the message survives a crash, so it may be acknowledged to the platform.
func (ms Messages) Accept(ctx context.Context, e Inbound) (AcceptResult, error) {
	var a AcceptResult
	d := ms.db
	err := d.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		a = AcceptResult{}
		if err := touchChat(ctx, tx, e); err != nil {
			return err
		}
		m := chat.Message{
			Key: e.Key, ID: e.ID, Role: chat.User, Class: e.Class, Actor: e.Actor, Text: e.Text, Time: e.Time,
		}
		fresh, err := ms.add(ctx, tx, &m)
		if err != nil || !fresh {
			return err
		}
		a.Fresh = true
		if _, err := d.Files().add(ctx, tx, e.Key, e.ID, e.Files); err != nil {
			return err
		}
		// A recalled message is stored as recalled and must have no effects.
		if gone, err := ms.lookBack(ctx, tx, m); err != nil || gone {
			return err
		}
		if err := e.count(ctx, tx); err != nil {
			return err
		}
		if e.Class != chat.Overheard {
			if _, err := tx.ExecContext(ctx, unsilence, e.Key.String()); err != nil {
				return fmt.Errorf("end the silence of the chat: %w", err)
			}
		}
		in := &accepting{db: d, in: e, message: m}
		for _, effect := range e.Effects {
			if err := effect.apply(ctx, tx, in); err != nil {
				return err
			}
		}
		if reply := in.in.Reply; reply != "" || e.Card != nil {
			p := Post{Key: e.Key, Idem: "reply:" + e.ID, ReplyTo: e.answered(), Text: reply, Card: e.Card}
			if err := d.Outbox().post(ctx, tx, p); err != nil {
				return err
			}
		}
		a.Message = in.message
		if e.Class != chat.Talk {
			return nil
		}
		if e.Steer.Turn != 0 {
			if a.Steered, err = d.Steers().add(ctx, tx, in.message, e.Steer); err != nil || a.Steered {
				a.Turn = e.Steer.Turn
				return err
			}
		}
		a.Turn, err = d.Queue().add(ctx, tx, in.message, e)
		return err
	})
	if err != nil {
		return AcceptResult{}, fmt.Errorf("accept message %s: %w", e.ID, err)
	}
	return a, nil
}

const nextSeq = `UPDATE chats SET next_seq = next_seq + 1 WHERE key = ?1 RETURNING next_seq - 1, epoch`

const knownMessage = `SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2`

const insertMessage = `INSERT INTO messages
	(chat_key, seq, epoch, turn_id, message_id, role, class, actor_id, actor_name, content, sent_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`

// add gives m its sequence number, and the epoch of the chat unless it has a turn: then it must carry
// that turn's epoch already. It reports false and changes nothing if the message id is known.
func (ms Messages) add(ctx context.Context, tx *sql.Tx, m *chat.Message) (bool, error) {
	known, err := isKnown(ctx, tx, m)
	if err != nil || known {
		return false, err
	}
	var epoch int64
	if err := tx.QueryRowContext(ctx, nextSeq, m.Key.String()).Scan(&m.Seq, &epoch); err != nil {
		return false, fmt.Errorf("number message: %w", err)
	}
	if m.Turn == 0 {
		m.Epoch = epoch
	}
	id, err := storeMessage(ctx, tx, m)
	if err != nil {
		return false, err
	}
	return true, ms.db.Index().passing(ctx, tx, id)
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

// storeMessage is the only place where the History grows. m has its seq and its epoch. The caller sees to the index.
func storeMessage(ctx context.Context, tx *sql.Tx, m *chat.Message) (id int64, err error) {
	res, err := tx.ExecContext(ctx, insertMessage, m.Key.String(), m.Seq, m.Epoch, m.Turn, m.ID, m.Role, m.Class,
		m.Actor.ID, m.Actor.Name, m.Text, millis(m.Time))
	if err == nil {
		id, err = res.LastInsertId()
	}
	if err != nil {
		return 0, fmt.Errorf("insert message: %w", err)
	}
	return id, nil
}

// messageColumns is in the order in which scanMessage reads.
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

// queryMessages skips a row that cannot be read: one damaged message must not make a whole chat
// unusable. Such rows are counted elsewhere (unreadable.go).
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
		if m, err := scanMessage(rows, key); err == nil { // else as in collect
			list = append(list, m)
		}
	}
	return list, rows.Err()
}

// historyPage is how many messages one step of the walk reads.
const historyPage = 32

const (
	selectTalk = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND epoch = ?2 AND seq < ?3 AND seq > ?4 AND class = 'talk' AND role IN ('user', 'assistant')
	AND `
	latestTalk = notRecalled + ` ORDER BY seq DESC LIMIT ?6`

	selectHistory  = selectTalk + `turn_id < ?5` + latestTalk
	selectAnswered = selectTalk + `(turn_id < ?5 OR turn_id > ?5 AND EXISTS (
	SELECT 1 FROM turns t WHERE t.id = turn_id AND t.state NOT IN ('queued', 'running')
		AND NOT (t.state = 'interrupted' AND t.failure = '` + Late + `')))` + latestTalk
)

// History is the conversations, to be walked.
type History struct{ db *DB }

// History gives the conversations.
func (d *DB) History() History { return History{d} }

// Of walks the conversation of one epoch backwards from the newest message to the one after seq after (0 = to the
// first), without the messages of turn before and later ones: those are being asked now, or wait to be asked. It reads
// page by page, so what the caller does not pull costs nothing, however long the History is.
func (h History) Of(ctx context.Context, key chat.Key, epoch, after, before int64) iter.Seq2[chat.Message, error] {
	return h.walk(ctx, selectHistory, key, epoch, after, before)
}

// For is [History.Of] for a turn that runs now. The turn may have waited while later ones were
// answered; those belong to its History, too.
func (h History) For(ctx context.Context, key chat.Key, epoch, after, turn int64) iter.Seq2[chat.Message, error] {
	return h.walk(ctx, selectAnswered, key, epoch, after, turn)
}

// walk reads page by page, so that no read transaction stays open while the caller works: an open one
// keeps the write-ahead log from being truncated.
func (h History) walk(
	ctx context.Context, query string, key chat.Key, epoch, after, turn int64,
) iter.Seq2[chat.Message, error] {
	return func(yield func(chat.Message, error) bool) {
		if after == 0 {
			after = math.MinInt64 // what was imported may lie before seq 0
		}
		seq := int64(math.MaxInt64)
		for {
			page, err := queryMessages(ctx, h.db.read, key, query, key.String(), epoch, seq, after, turn, historyPage)
			if err != nil {
				yield(chat.Message{}, fmt.Errorf("read history of %v: %w", key, err))
				return
			}
			for _, m := range page {
				if !yield(m, nil) {
					return
				}
				seq = m.Seq
			}
			if len(page) < historyPage {
				return
			}
		}
	}
}

const selectUnseen = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND turn_id > ?2 AND turn_id < ?3 AND turn_id > 0 AND epoch = ?4
	AND class = 'talk' AND role IN ('user', 'assistant')` + notRecalled + ` ORDER BY seq DESC LIMIT ?5`

// unseenLimit bounds what a session can have missed.
const unseenLimit = 500

// Unseen is the conversation of the turns after seen and before the turn before, oldest first: what a session that
// holds the turns up to seen does not know.
func (ms Messages) Unseen(ctx context.Context, key chat.Key, epoch, seen, before int64) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, key, selectUnseen, key.String(), seen, before, epoch, unseenLimit)
	if err != nil {
		return nil, fmt.Errorf("read messages that the session of %v lacks: %w", key, err)
	}
	slices.Reverse(list)
	return list, nil
}

const selectLatest = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND class = 'talk' AND role IN ('user', 'assistant')` + notRecalled + `
	ORDER BY epoch DESC, seq DESC LIMIT ?2`

// Latest is the end of a chat's History, oldest first, whatever /new has ended in between.
func (ms Messages) Latest(ctx context.Context, key chat.Key, most int) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, key, selectLatest, key.String(), most)
	if err != nil {
		return nil, fmt.Errorf("read the last messages of %v: %w", key, err)
	}
	slices.Reverse(list)
	return list, nil
}

const selectMessages = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND seq IN (SELECT value FROM json_each(?2))` + notRecalled + ` ORDER BY seq`

// BySeq are those of a chat's messages with the seqs that exist, oldest first.
func (ms Messages) BySeq(ctx context.Context, key chat.Key, seqs []int64) ([]chat.Message, error) {
	list, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	msgs, err := queryMessages(ctx, ms.db.read, key, selectMessages, key.String(), string(list))
	if err != nil {
		return nil, fmt.Errorf("read messages of %v: %w", key, err)
	}
	return msgs, nil
}

const selectMessagesByID = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND message_id IN (SELECT value FROM json_each(?2))` + notRecalled + ` ORDER BY +seq`

// ByID are those of a chat's messages with these ids of the platform that exist, oldest first.
func (ms Messages) ByID(ctx context.Context, key chat.Key, ids []string) ([]chat.Message, error) {
	msgs, err := queryMessages(ctx, ms.db.read, key, selectMessagesByID, key.String(), list(ids))
	if err != nil {
		return nil, fmt.Errorf("read messages of %v: %w", key, err)
	}
	return msgs, nil
}
