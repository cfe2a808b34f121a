package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// cancelledChat is the failure of a turn that was cancelled because the bot has left its chat.
const cancelledChat = "chat"

// inChat matches a chat and all its topics.
const inChat = `(chat_key = ?1 OR chat_key > ?1 || ':thread:' AND chat_key < ?1 || ':thread;')`

const (
	upsertMembership = `INSERT INTO chats (no, key, kind, title, tenant)
		VALUES (` + nextChat + `, ?1, ?2, ?3, ?4)
		ON CONFLICT (key) DO UPDATE SET title = CASE WHEN excluded.title = '' THEN chats.title ELSE excluded.title END,
		tenant = CASE WHEN chats.tenant = '' THEN excluded.tenant ELSE chats.tenant END`
	setJoined = `UPDATE chats SET joined_at = ?2 WHERE key = ?1 AND joined_at < ?2 AND left_at < ?2`
	setLeft   = `UPDATE chats SET left_at = ?2 WHERE key = ?1 AND left_at < ?2 AND joined_at <= ?2`
	toTopics  = `UPDATE chats SET (joined_at, left_at) = (SELECT joined_at, left_at FROM chats WHERE key = ?1)
		WHERE key > ?1 || ':thread:' AND key < ?1 || ':thread;'`

	setGreeted = `UPDATE chats SET greeted_at = ?2 WHERE key = ?1 AND greeted_at = 0 AND next_seq = 1`

	cancelQueued = `UPDATE turns INDEXED BY turns_open
		SET state = 'cancelled', failure = '` + cancelledChat + `', ended_at = ?2
		WHERE ` + inChat + ` AND state = 'queued'` + isOpen
	dropFileDeliveries = `UPDATE file_deliveries SET state = 'dropped', caption = '' WHERE state = 'waiting'
		AND id IN (SELECT file_delivery_id FROM outbox WHERE ` + inChat + `)`
	dropPosts = `DELETE FROM outbox WHERE ` + inChat

	unsilenceAll = `DELETE FROM silenced WHERE ` + inChat

	// A follow-up that is queued has been started by its agent.
	selectWorking = `SELECT chat_key, id FROM turns INDEXED BY turns_open WHERE ` + inChat + `
		AND (state = 'running' OR follows > 0)` + isOpen
)

// Join records that the bot was added to a chat, or that a user has opened the private chat, and enqueues a greeting; nil
// enqueues nothing. It reports false and changes nothing for an event that is repeated or out of date, or if something
// was said in the private chat before. A chat in which the bot might not write, before it was removed, is tried again.
func (cs Chats) Join(ctx context.Context, c chat.Change, greeting *Post) (fresh bool, err error) {
	note, at := setJoined, c.Time
	if c.Did == chat.Opened {
		note, at = setGreeted, cs.db.now()
	}
	l := locks{own: c.Key, room: c.Key}
	if greeting != nil { // perhaps to the person who has added it
		l.chats = []chat.Key{greeting.Key}
	}
	err = cs.db.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) error {
		if fresh, err = recordChange(ctx, tx, c, note, at); err != nil || !fresh {
			return err
		}
		if _, err := tx.ExecContext(ctx, unsilenceAll, c.Key.String()); err != nil || greeting == nil {
			return err
		}
		return cs.db.Outbox().post(ctx, tx, *greeting)
	})
	if err != nil {
		return false, fmt.Errorf("note the bot's place in %v: %w", c.Key, err)
	}
	return fresh, nil
}

const hasBot = `SELECT EXISTS (SELECT 1 FROM chats WHERE key = ?1 AND left_at <= joined_at)`

// HasBot reports whether a chat is known, and the bot has not left it.
func (cs Chats) HasBot(ctx context.Context, key chat.Key) (has bool, err error) {
	if err := cs.db.read.QueryRowContext(ctx, hasBot, key.String()).Scan(&has); err != nil {
		return false, fmt.Errorf("whether the bot is in %v: %w", key, err)
	}
	return has, nil
}

// Leave records that the bot has left a chat. Turns that wait there and in its topics are cancelled, and pending
// deliveries are dropped. It returns the turns whose agents work, by chat, for the caller to stop. It returns false and
// changes nothing for an event that is repeated or out of date.
func (cs Chats) Leave(ctx context.Context, c chat.Change) (working map[chat.Key][]int64, fresh bool, err error) {
	key := c.Key.String()
	err = cs.db.roomTx(ctx, c.Key, func(ctx context.Context, tx *sql.Tx) error {
		working = nil
		if fresh, err = recordChange(ctx, tx, c, setLeft, c.Time); err != nil || !fresh {
			return err
		}
		if working, err = workingIn(ctx, tx, key); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, cancelQueued, key, millis(cs.db.now())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, dropFileDeliveries, key); err != nil {
			return err
		}
		// Overwritten, not only deleted: the texts belong to people whose chat the bot cannot see any more.
		return overwritePost(ctx, tx, dropPosts, key)
	})
	if err != nil {
		return nil, false, fmt.Errorf("leave %v: %w", c.Key, err)
	}
	return working, fresh, nil
}

// workingIn returns the turns in a chat and its topics whose agents work.
func workingIn(ctx context.Context, tx *sql.Tx, key string) (turns map[chat.Key][]int64, err error) {
	rows, err := tx.QueryContext(ctx, selectWorking, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	turns = map[chat.Key][]int64{}
	for rows.Next() {
		var stored string
		var id int64
		if err := rows.Scan(&stored, &id); err != nil {
			return nil, err
		}
		if place, err := chat.ParseKey(stored); err == nil { // damaged keys are skipped, as in collect
			turns[place] = append(turns[place], id)
		}
	}
	return turns, rows.Err()
}

// recordChange reports whether a membership change is new.
func recordChange(ctx context.Context, tx *sql.Tx, c chat.Change, note string, at time.Time) (bool, error) {
	if err := c.Key.Validate(); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, upsertMembership, c.Key.String(), c.Kind, c.Title, c.Tenant); err != nil {
		return false, err
	}
	res, err := tx.ExecContext(ctx, note, c.Key.String(), millis(at))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	_, err = tx.ExecContext(ctx, toTopics, c.Key.String())
	return true, err
}

// What people wrote, but not answers and pressed buttons: those have this machine's time, which may be later than that
// of a missed message.
const activeChats = `SELECT key, kind, said FROM (
	SELECT key, kind, (SELECT sent_at FROM messages WHERE chat_key = chats.key AND role = 'user'` + written + `
		ORDER BY seq DESC LIMIT 1) AS said FROM chats WHERE (?1 = '' OR ` + ofChannel + `) AND left_at <= joined_at
	) AS active WHERE said >= ?2 ORDER BY said DESC LIMIT ?3`

// Active lists the chats of a channel, or of all if it is empty, with the most recent messages of people, latest first.
// It omits chats that were silent since then, or that the bot has left.
func (cs Chats) Active(ctx context.Context, channel string, since time.Time, most int) ([]chat.Activity, error) {
	list, err := queryAll(ctx, cs.db.read, scanActivity, activeChats, channel, since.UnixMilli(), most)
	if err != nil {
		return nil, fmt.Errorf("list active chats: %w", err)
	}
	return list, nil
}

const silentChats = `SELECT key FROM chats WHERE turned_at > ?1 AND turned_at <= ?2 AND left_at <= joined_at
	ORDER BY turned_at`

// SilentBetween names the chats whose last turn ended after one time and not after another, but none where the bot is
// not any more.
func (cs Chats) SilentBetween(ctx context.Context, after, until time.Time) ([]chat.Key, error) {
	return cs.db.ownKeys(ctx, silentChats, after.UnixMilli(), until.UnixMilli())
}

func scanActivity(scan scanner) (a chat.Activity, err error) {
	var key string
	var said int64
	if err := scan(&key, &a.Kind, &said); err != nil {
		return a, err
	}
	a.Since = time.UnixMilli(said).UTC()
	a.Key, err = chat.ParseKey(key)
	return a, err
}

// silence is how long nothing is sent to a chat in which the bot may not write, unless somebody writes to it there.
const silence = 3 * 24 * time.Hour

// Silenced is a chat in which the platform does not let the bot write.
type Silenced struct {
	Key   chat.Key
	Title string // in a private chat the person's name; empty = unknown
	Kind  chat.Kind
	Since time.Time
	Why   string // the platform's reason, for operators
}

const insertSilenced = `INSERT INTO silenced (chat_key, since, why) VALUES (?1, ?2, ?3)
	ON CONFLICT (chat_key) DO UPDATE SET since = excluded.since, why = excluded.why`

// Silence notes that the platform lets the bot say nothing in a chat.
func (cs Chats) Silence(ctx context.Context, key chat.Key, why string) error {
	if err := cs.db.chatExec(ctx, key, insertSilenced, key.String(), millis(cs.db.now()), why); err != nil {
		return fmt.Errorf("silence %v: %w", key, err)
	}
	return nil
}

// unsilence applies when somebody writes to the bot in the chat, who may want an answer.
const unsilence = `DELETE FROM silenced WHERE chat_key = ?1`

const isSilenced = `SELECT COUNT(*) FROM silenced WHERE chat_key = ?1 AND since > ?2`

// IsSilenced reports whether sending to a chat is suspended.
func (cs Chats) IsSilenced(ctx context.Context, key chat.Key) (bool, error) {
	var n int
	since := millis(cs.db.now().Add(-silence))
	if err := cs.db.read.QueryRowContext(ctx, isSilenced, key.String(), since).Scan(&n); err != nil {
		return false, fmt.Errorf("is %v silenced: %w", key, err)
	}
	return n > 0, nil
}

const selectSilenced = `SELECT s.chat_key, CASE c.kind WHEN 'p2p' THEN COALESCE((SELECT m.actor_name FROM messages m
		WHERE m.chat_key = s.chat_key AND m.actor_name <> '' ORDER BY m.seq DESC LIMIT 1), c.title) ELSE c.title END,
	c.kind, s.since, s.why FROM silenced s JOIN chats c ON c.key = s.chat_key
	WHERE s.since > ?1 AND c.left_at <= c.joined_at ORDER BY s.since DESC`

// Silenced lists the chats to which sending is suspended, latest first.
func (cs Chats) Silenced(ctx context.Context) ([]Silenced, error) {
	list, err := queryAll(ctx, cs.db.read, scanSilenced, selectSilenced, millis(cs.db.now().Add(-silence)))
	if err != nil {
		return nil, fmt.Errorf("list silenced chats: %w", err)
	}
	return list, nil
}

func scanSilenced(scan scanner) (s Silenced, err error) {
	var key string
	var since int64
	if err := scan(&key, &s.Title, &s.Kind, &since, &s.Why); err != nil {
		return s, err
	}
	s.Since = fromMillis(since)
	s.Key, err = chat.ParseKey(key)
	return s, err
}
