package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"magpie/internal/chat"
)

// Record is a message in transit between databases. Its Seq and Turn have no meaning there.
type Record struct {
	chat.Message
	Kind chat.Kind // of the chat; empty = unknown
	// Past means that the message's Epoch is that of a conversation that /new has ended; otherwise the message belongs
	// to the chat's current one
	Past bool
}

// importer imports messages in several steps. Within a chat they keep their order; messages older than everything in
// the chat go before it, all others after it.
type importer struct {
	db    *DB
	chats map[chat.Key]importPlace
}

// importPlace is where the messages of one chat go.
type importPlace struct {
	first int64 // the time of the chat's first message before the import
	seq   int64 // its seq
	front int64 // the next seq before it
}

// Importer begins an import, and returns what adds the next messages to the History, all or none, and counts the new ones.
// A known message changes nothing, unless it says that its conversation has ended. Imported messages belong to no turn,
// so nobody answers them. After an error the import must not go on, because its places may no longer match the database.
func (ms Messages) Importer() func(ctx context.Context, list []Record) (added int, err error) {
	return (&importer{db: ms.db, chats: map[chat.Key]importPlace{}}).add
}

func (im *importer) add(ctx context.Context, list []Record) (added int, err error) {
	l, places := locks{names: []string{"import"}}, map[chat.Key]*importPlace{}
	for _, r := range list {
		l.chats = append(l.chats, r.Key)
	}
	err = im.db.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) error {
		last := int64(0)
		added = 0
		clear(places)
		for i := range list {
			fresh, err := im.importRecord(ctx, tx, places, &list[i], len(list))
			if err != nil {
				return fmt.Errorf("import message %s: %w", list[i].ID, err)
			}
			if fresh {
				added++
				// An imported answer of this program contains its turn number; new turns must not reuse it.
				last = max(last, turnOfID(list[i].ID))
			}
		}
		if err := reserveTurns(ctx, tx, last); err != nil {
			return err
		}
		im.db.hotTurns.forgetAll() // conversations may have ended, and turns have other numbers
		return im.db.terms.addImported(ctx, tx, added)
	})
	if err != nil {
		return 0, err
	}
	for key, p := range places {
		im.chats[key] = *p
	}
	return added, nil
}

const addChat = `INSERT INTO chats (no, key, kind) VALUES (` + nextChat + `, ?1, ?2)
	ON CONFLICT (key) DO NOTHING`

// importRecord is idempotent: a known message is skipped, so an interrupted import can be repeated. Messages of the
// past are placed before the oldest one of the chat.
func (im *importer) importRecord(
	ctx context.Context, tx *sql.Tx, places map[chat.Key]*importPlace, r *Record, batch int,
) (fresh bool, err error) {
	p := places[r.Key]
	if known, ok := im.chats[r.Key]; p == nil && ok {
		p = &known
	} else if p == nil {
		if err := r.Key.Validate(); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, addChat, r.Key.String(), cmp.Or(r.Kind, chat.Private)); err != nil {
			return false, fmt.Errorf("add chat: %w", err)
		}
		if p, err = reserveRoom(ctx, tx, r.Key, batch); err != nil {
			return false, err
		}
	}
	places[r.Key] = p
	m := r.Message
	m.Turn = 0
	if err := replaceForeignID(ctx, tx, &m); err != nil {
		return false, err
	}
	known, err := isKnown(ctx, tx, &m)
	// In the export the conversation has ended, although it is the current one here.
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
	return true, im.db.Messages().storeMessage(ctx, tx, &m)
}

const oldestMessage = `SELECT sent_at, seq FROM messages WHERE chat_key = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1`

// reserveRoom reserves room for a batch before the oldest message, so that sequence numbers follow the order of time.
func reserveRoom(ctx context.Context, tx *sql.Tx, key chat.Key, batch int) (*importPlace, error) {
	p := importPlace{first: math.MinInt64}
	err := tx.QueryRowContext(ctx, oldestMessage, key.String(), firstSeq).Scan(&p.first, &p.seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("oldest message: %w", err)
	}
	p.front = p.seq - roomSize(p.seq, batch)
	return &p, nil
}

// roomSize is how many seqs an import reserves before a chat's first message, when its first step has batch messages of
// all chats. It suffices for thousands of such steps, but is always a small part of the remaining seqs, so that
// thousands of imports are possible, too. Seqs may be negative, see [firstSeq].
func roomSize(first int64, batch int) int64 {
	return min(max(1<<16, int64(batch)<<12), (first-firstSeq)>>8)
}

// locate gives a new message its sequence number and the epoch of the chat: after the last message if it is newer than
// the first one, otherwise in the room before it.
func (p *importPlace) locate(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
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
	epochInUse = `SELECT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND epoch = ?2 AND class = 'talk'
		AND role IN ('user', 'assistant'))`
	epochAfter = `UPDATE chats SET epoch = ?2, ` + noContext + ` WHERE key = ?1`
	endKnown   = `UPDATE chats SET epoch = epoch + 1, ` + noContext + `
		WHERE key = ?1 AND epoch = (SELECT epoch FROM messages WHERE chat_key = ?1 AND message_id = ?2)`
)

// pastEpoch returns the epoch for a record of an ended conversation. It is the one right before the current
// conversation, which such a record must not join. If there is no current one, the next conversation follows the
// record's.
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

// endConversation ends the current conversation if m, which is known, belongs to it: elsewhere it has been ended since
// m was imported.
func endConversation(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	if _, err := tx.ExecContext(ctx, keepTopic, m.Key.String()); err != nil {
		return fmt.Errorf("keep the title: %w", err)
	}
	if _, err := tx.ExecContext(ctx, endKnown, m.Key.String(), m.ID); err != nil {
		return fmt.Errorf("end a conversation: %w", err)
	}
	return nil
}

// maxTurns is a number that no turn reaches.
const maxTurns = 1 << 48

// turnOfID is the turn number in a message ID made by a database, see [AnswerID]; 0 = the platform made the ID.
func turnOfID(id string) int64 {
	for _, made := range []string{"answer:", continuePrefix} {
		if s, ok := strings.CutPrefix(id, made); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n < maxTurns {
				return n
			}
		}
	}
	return 0
}

// An open turn's answer is still to come.
const otherMessage = `SELECT 1 WHERE EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND message_id = ?2
	AND NOT (content = ?3 AND sent_at = ?4))
	OR EXISTS (SELECT 1 FROM turns WHERE id = ?5) AND NOT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1
	AND message_id = ?2)`

// replaceForeignID replaces an ID that another database made if it means something else in this one. The result is
// always the same for a message.
func replaceForeignID(ctx context.Context, tx *sql.Tx, m *chat.Message) error {
	turn := turnOfID(m.ID)
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

// Turns are numbered from here on; the row exists once there was a turn. Only the IDs of turns can be imported.
const (
	firstTurn = `INSERT INTO sqlite_sequence (name, seq) SELECT 'turns', 0 WHERE NOT EXISTS (SELECT 1
		FROM sqlite_sequence WHERE name = 'turns')`
	laterTurn = `UPDATE sqlite_sequence SET seq = MAX(seq, ?1) WHERE name = 'turns'`
)

// reserveTurns reserves the turn numbers up to last: the answer of such a turn would be taken for an imported one.
func reserveTurns(ctx context.Context, tx *sql.Tx, last int64) error {
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

const selectExport = `SELECT ` + messageColumns + `, key, kind, epoch < now
	FROM (SELECT key, kind, epoch AS now FROM chats WHERE ?1 = '' OR key = ?1 ORDER BY key) AS exported
	CROSS JOIN messages ON chat_key = key` + notRecalled + `
	ORDER BY key, seq`

const countExport = `SELECT COUNT(*) FROM messages WHERE (?1 = '' OR chat_key = ?1)` + notRecalled

// Count returns how many records [Messages.Export] yields. It reads no texts.
func (ms Messages) Count(ctx context.Context, key chat.Key) (n int64, err error) {
	only := ""
	if key != (chat.Key{}) {
		only = key.String()
	}
	if err := ms.db.read.QueryRowContext(ctx, countExport, only).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the history: %w", err)
	}
	return n, nil
}

// Export iterates over the current History of a chat, which need not exist, or with the zero key of all chats: chat by
// chat, each in order. It yields an error only if the caller still reads: yielding after a break would panic.
func (ms Messages) Export(ctx context.Context, of chat.Key) iter.Seq2[Record, error] {
	only := ""
	if of != (chat.Key{}) {
		only = of.String()
	}
	return func(yield func(Record, error) bool) {
		enough := false
		err := ms.walkRecords(ctx, only, func(r Record) bool {
			enough = !yield(r, nil)
			return !enough
		})
		if err != nil && !enough {
			yield(Record{}, fmt.Errorf("read the history: %w", err))
		}
	}
}

// walkRecords calls f for every message until f returns false. It reads row by row and occupies one connection
// meanwhile.
func (ms Messages) walkRecords(ctx context.Context, only string, f func(Record) bool) (err error) {
	rows, err := ms.db.read.QueryContext(ctx, selectExport, only)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Record
		var key string
		var at int64
		err := rows.Scan(&r.Seq, &r.Epoch, &r.Turn, &r.ID, &r.Role, &r.Class, &r.Actor.ID, &r.Actor.Name, &r.Text, &at,
			&key, &r.Kind, &r.Past)
		if err != nil {
			return err
		}
		r.Time = fromMillis(at)
		if r.Key, err = chat.ParseKey(key); err != nil {
			return err
		}
		if !f(r) {
			return nil
		}
	}
	return rows.Err()
}
