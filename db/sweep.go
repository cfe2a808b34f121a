package db

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/internal/chat"
)

// Swept counts the deletions of a sweep.
type Swept struct {
	Messages int
	Events   int
	Files    int // received and temporary files, and those of ended sessions; the caller deletes them
}

const forgetEvents = `DELETE FROM events WHERE seen_at < ?1`

// A summary goes with the newest message that it covers.
const (
	areSummed       = ` WHERE summary <> '' AND summary_at < ?1`
	chatsOfOldSums  = `SELECT key FROM chats` + areSummed
	forgetSummaries = `UPDATE chats SET summary = ''` + areSummed + ` AND key = ?2`
)

// theSweep names what nothing but the sweep writes any more.
const theSweep = "sweep"

// Sweep deletes expired data according to c, and merges the index, if this bridge leads. The History is kept forever unless the configuration
// limits it.
func Sweep(ctx context.Context, d *DB, c Config) (s Swept, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sweep: %w", err)
		}
	}()
	if !d.place.Leads() {
		return s, nil
	}
	if err := d.place.Sweep(ctx); err != nil {
		return s, err
	}
	before := millis(d.now().Add(-c.CacheTTL.Duration))
	res, err := d.namedExec(ctx, theSweep, forgetEvents, before)
	if err != nil {
		return s, err
	}
	n, err := res.RowsAffected()
	if s.Events = int(n); err != nil {
		return s, err
	}
	if _, err := d.eachChat(ctx, chatsOfSettled, forgetApprovals, before); err != nil {
		return s, err
	}
	if err := d.Programs().Forget(ctx, fromMillis(before)); err != nil {
		return s, err
	}
	if _, err := d.namedExec(ctx, theSweep, forgetFileDeliveries, before); err != nil {
		return s, err
	}
	if c.HistoryTTL.Duration > 0 {
		if s.Messages, err = sweepMessages(ctx, d, c); err != nil {
			return s, err
		}
	}
	return s, d.terms.merge(ctx)
}

// sweepMessages deletes expired messages in small transactions, so that other writes can run in between.
func sweepMessages(ctx context.Context, d *DB, c Config) (swept int, err error) {
	until := millis(d.now().Add(-c.HistoryTTL.Duration))
	for last := int64(0); ; {
		list, err := listExpired(ctx, d, until, last)
		if err != nil {
			return swept, err
		}
		if len(list) == 0 {
			break
		}
		keys := make([]chat.Key, len(list))
		for i, m := range list {
			keys[i] = m.chat
		}
		err = d.chatsTx(ctx, keys, func(ctx context.Context, tx *sql.Tx) error { return deleteMessages(ctx, d, tx, list) })
		if err != nil {
			return swept, err
		}
		swept += len(list)
		last = list[len(list)-1].id
	}
	// A summary may repeat deleted messages, so it goes with them.
	_, err = d.eachChat(ctx, chatsOfOldSums, forgetSummaries, until)
	return swept, err
}

// sweepBatch is how many messages are deleted in one transaction, during which other writes wait.
const sweepBatch = 500

// Keeps messages that are being asked, or that a button can still ask.
const expiredMessages = `SELECT m.id, c.no, m.seq, c.key FROM messages m JOIN chats c ON c.key = m.chat_key
	WHERE m.id > ?2 AND m.sent_at < ?1 AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = m.turn_id AND m.turn_id > 0
		AND (t.state IN ('queued', 'running') OR t.state = 'interrupted' AND t.failure = 'late'))
	ORDER BY m.id LIMIT ?3`

// storedRow is the location of a message.
type storedRow struct {
	id  int64
	no  int64 // of its chat
	seq int64
}

// expired is a message to be deleted.
type expired struct {
	storedRow
	chat chat.Key
}

// listExpired lists the next messages by ID that were written before until.
func listExpired(ctx context.Context, d *DB, until, after int64) ([]expired, error) {
	list, err := queryAll(ctx, d.read, scanExpired, expiredMessages, until, after, sweepBatch)
	if err != nil {
		return nil, fmt.Errorf("old messages: %w", err)
	}
	return list, nil
}

func scanExpired(scan scanner) (m expired, err error) {
	var key string
	if err := scan(&m.id, &m.no, &m.seq, &key); err != nil {
		return m, err
	}
	m.chat, err = chat.ParseKey(key)
	return m, err
}

const (
	deleteEmbedding = `DELETE FROM embeddings
		WHERE (chat_key, epoch, seq) = (SELECT chat_key, epoch, seq FROM messages WHERE id = ?1)`
	deleteMessage = `DELETE FROM messages WHERE id = ?1`
)

// deleteMessages is the only place that removes messages from the History.
func deleteMessages(ctx context.Context, d *DB, tx *sql.Tx, list []expired) error {
	for _, m := range list {
		if err := d.Search().forget(ctx, tx, m.storedRow); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, deleteMessage, m.id); err != nil {
			return fmt.Errorf("delete a message: %w", err)
		}
	}
	return d.terms.swept(ctx, tx)
}
