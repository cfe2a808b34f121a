package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"magpie/internal/chat"
)

// Record is a message on its way from one database to another. Its Seq and Turn mean nothing there.
type Record struct {
	chat.Message
	Kind chat.Kind // of the chat; empty = not known
	// Epoch is that of a conversation which has been ended, by /new; else the message belongs to the chat's current one
	Past bool
}

// Records is the whole History as it is written to files and read from them.
type Records struct{ db *DB }

// Records gives the records of the database.
func (d *DB) Records() Records { return Records{d} }

// Import takes messages from elsewhere into the History, all or none, and says how many of them were new. One that is
// known changes nothing, unless it says that the conversation is over which it belongs to. They belong to no turn, so
// nobody answers them.
func (rs Records) Import(ctx context.Context, list []Record) (added int, err error) {
	return rs.NewImporter().Import(ctx, list)
}

// Importer takes in messages in several steps. Within a chat they keep their order; what is older than all that the
// chat had before comes in front of it, everything else behind.
type Importer struct {
	db    *DB
	chats map[chat.Key]*place
}

// place says where the messages of one chat go.
type place struct {
	first int64 // when the first message was written that the chat had before
	seq   int64 // of that message
	front int64 // the next place in front of it
}

// NewImporter makes an importer.
func (rs Records) NewImporter() *Importer { return &Importer{db: rs.db, chats: map[chat.Key]*place{}} }

// Import imports the next messages, all or none. The importer must not be used after an error, because its
// places may not match the database any more.
func (im *Importer) Import(ctx context.Context, list []Record) (added int, err error) {
	err = im.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		last := int64(0)
		for i := range list {
			fresh, err := im.importRecord(ctx, tx, &list[i], len(list))
			if err != nil {
				return fmt.Errorf("import message %s: %w", list[i].ID, err)
			}
			if fresh {
				added++
				// An imported answer of this program names its turn; new turns must not get the same number.
				last = max(last, ownTurn(list[i].ID))
			}
		}
		if err := passTurn(ctx, tx, last); err != nil {
			return err
		}
		// The index gets a share in the same transaction, so that it does not fall behind a long import.
		return im.db.Index().try(ctx, tx, added+2*indexBatch)
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

const addChat = `INSERT INTO chats (no, key, kind) VALUES ((SELECT COALESCE(MAX(no), 0) + 1 FROM chats), ?1, ?2) ON CONFLICT (key) DO NOTHING`

// importRecord is idempotent: a message that is known is skipped, so an interrupted import can be repeated.
// Messages of the past are placed before the oldest one of the chat.
func (im *Importer) importRecord(ctx context.Context, tx *sql.Tx, r *Record, batch int) (fresh bool, err error) {
	p := im.chats[r.Key]
	if p == nil {
		if err := r.Key.Validate(); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, addChat, r.Key.String(), cmp.Or(r.Kind, chat.Private)); err != nil {
			return false, fmt.Errorf("add chat: %w", err)
		}
		if p, err = oldest(ctx, tx, r.Key, batch); err != nil {
			return false, err
		}
		im.chats[r.Key] = p
	}
	m := r.Message
	m.Turn = 0
	if err := rename(ctx, tx, &m); err != nil {
		return false, err
	}
	known, err := isKnown(ctx, tx, &m)
	// The export says that the conversation was ended, although it goes on here.
	if err == nil && known && r.Past {
		err = endConversation(ctx, tx, &m)
	}
	if err != nil || known {
		return false, err
	}
	if err := p.locate(ctx, tx, &m); err != nil {
		return false, err
	}
	if r.Past {
		if m.Epoch, err = pastEpoch(ctx, tx, r); err != nil {
			return false, err
		}
	}
	_, err = storeMessage(ctx, tx, &m)
	return true, err
}

const oldestMessage = `SELECT sent_at, seq FROM messages WHERE chat_key = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1`

// oldest reserves room for a batch before the oldest message, so that sequence numbers stay in the order of time.
func oldest(ctx context.Context, tx *sql.Tx, key chat.Key, batch int) (*place, error) {
	p := place{first: math.MinInt64}
	err := tx.QueryRowContext(ctx, oldestMessage, key.String(), firstSeq).Scan(&p.first, &p.seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("oldest message: %w", err)
	}
	p.front = p.seq - room(p.seq, batch)
	return &p, nil
}

// room is how many messages an import may put in front of a chat's first one, when its first step takes in batch
// messages of all chats: enough for thousands of such steps, but always a small part of the places that are left, so
// that there can be thousands of imports too. Seqs may be negative, see [firstSeq].
func room(first int64, batch int) int64 {
	return min(max(1<<16, int64(batch)<<12), (first-firstSeq)>>8)
}

// locate gives a new message its sequence number and the epoch of the chat: behind the last message if
// it is newer than the first one, otherwise in the room in front of them.
func (p *place) locate(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	key := m.Key.String()
	if millis(m.Time) >= p.first {
		if err := tx.QueryRowContext(ctx, nextSeq, key).Scan(&m.Seq, &m.Epoch); err != nil {
			return fmt.Errorf("number message: %w", err)
		}
		return nil
	}
	if p.front == p.seq || p.front < firstSeq {
		return errors.New("no room in front of the chat's messages")
	}
	m.Seq = p.front
	p.front++
	if err := tx.QueryRowContext(ctx, epochNow, key).Scan(&m.Epoch); err != nil {
		return fmt.Errorf("epoch of the chat: %w", err)
	}
	return nil
}

const (
	epochNow   = `SELECT epoch FROM chats WHERE key = ?1`
	epochInUse = `SELECT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND epoch = ?2 AND class = 'talk' AND role IN ('user', 'assistant'))`
	epochAfter = `UPDATE chats SET epoch = ?2, ` + noContext + ` WHERE key = ?1`
	endKnown   = `UPDATE chats SET epoch = epoch + 1, ` + noContext + `
		WHERE key = ?1 AND epoch = (SELECT epoch FROM messages WHERE chat_key = ?1 AND message_id = ?2)`
)

// pastEpoch returns the epoch for a record of an ended conversation. Such a record must not join the
// conversation that goes on here, so it goes right before it. As long as none goes on, the next
// conversation follows the record's.
func pastEpoch(ctx context.Context, tx *sql.Tx, r *Record) (int64, error) {
	var now int64
	var goesOn bool
	key := r.Key.String()
	if err := tx.QueryRowContext(ctx, epochNow, key).Scan(&now); err != nil {
		return 0, fmt.Errorf("epoch of the chat: %w", err)
	}
	if r.Epoch < now {
		return r.Epoch, nil
	}
	if err := tx.QueryRowContext(ctx, epochInUse, key, now).Scan(&goesOn); err != nil {
		return 0, fmt.Errorf("epoch of the chat: %w", err)
	}
	if goesOn {
		return now - 1, nil
	}
	if _, err := tx.ExecContext(ctx, keepTopic, key); err != nil {
		return 0, fmt.Errorf("keep the title: %w", err)
	}
	if _, err := tx.ExecContext(ctx, epochAfter, key, r.Epoch+1); err != nil {
		return 0, fmt.Errorf("end a conversation: %w", err)
	}
	return r.Epoch, nil
}

// endConversation ends the conversation that goes on here when m, which is known, belongs to it: elsewhere it has been
// ended since m was taken over.
func endConversation(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	if _, err := tx.ExecContext(ctx, keepTopic, m.Key.String()); err != nil {
		return fmt.Errorf("keep the title: %w", err)
	}
	if _, err := tx.ExecContext(ctx, endKnown, m.Key.String(), m.ID); err != nil {
		return fmt.Errorf("end a conversation: %w", err)
	}
	return nil
}

// mostTurns is a number that no turn reaches.
const mostTurns = 1 << 48

// ownTurn is the turn in a message id that a database made by itself, see [AnswerID]; 0 = the platform made the id.
func ownTurn(id string) int64 {
	for _, made := range []string{"answer:", continuePrefix} {
		if s, ok := strings.CutPrefix(id, made); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n < mostTurns {
				return n
			}
		}
	}
	return 0
}

// A turn's answer is still to come when the turn is open.
const otherMessage = `SELECT 1 WHERE EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2 AND NOT (content = ?3 AND sent_at = ?4))
	OR EXISTS (SELECT 1 FROM turns WHERE id = ?5) AND NOT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2)`

// rename gives a message another id when its own was made by another database, and means something else in this one.
// It is the same name whenever the message comes.
func rename(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	turn := ownTurn(m.ID)
	if turn == 0 {
		return nil
	}
	var other int
	err := tx.QueryRowContext(ctx, otherMessage, m.Key.String(), m.ID, m.Text, millis(m.Time), turn).Scan(&other)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for message: %w", err)
	}
	m.ID = fmt.Sprintf("%s@%d", m.ID, millis(m.Time))
	return nil
}

// Turns are numbered on from here; the row is there once a turn was. What can be imported of turns is only their names.
const (
	firstTurn = `INSERT INTO sqlite_sequence (name, seq) SELECT 'turns', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'turns')`
	laterTurn = `UPDATE sqlite_sequence SET seq = MAX(seq, ?1) WHERE name = 'turns'`
)

// passTurn lets no turn of this database have a number up to last: its answer would be taken for one that is known.
func passTurn(ctx context.Context, tx *sql.Tx, last int64) error {
	if last == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, firstTurn); err != nil {
		return fmt.Errorf("number turns on: %w", err)
	}
	if _, err := tx.ExecContext(ctx, laterTurn, last); err != nil {
		return fmt.Errorf("number turns on: %w", err)
	}
	return nil
}
