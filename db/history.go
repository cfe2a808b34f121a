package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"magpie/internal/chat"
)

// historyPage is how many messages are read at a time.
const historyPage = 32

const (
	selectTalk = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND epoch = ?2 AND seq < ?3 AND seq > ?4 AND class = 'talk' AND role IN ('user', 'assistant')
	AND `
	latestTalk = notRecalled + ` ORDER BY seq DESC LIMIT ?6`

	selectHistory  = selectTalk + `turn_id < ?5` + latestTalk
	selectTaken    = selectTalk + `turn_id < (` + oldestOpen + `)` + notRefused + latestTalk
	selectAnswered = selectTalk + `(turn_id < ?5 OR turn_id > ?5 AND EXISTS (
	SELECT 1 FROM turns t WHERE t.id = turn_id AND t.state NOT IN ('queued', 'running')
		AND NOT (t.state = 'interrupted' AND t.failure = '` + late + `')))` + notRefused + latestTalk
)

// notRefused excludes questions that the model's API has refused for what they say: it would refuse a context with them,
// too. One that it has begun to answer, by a tool, was not what it refused.
const notRefused = ` AND NOT EXISTS (SELECT 1 FROM turns f WHERE f.id = turn_id
	AND f.failure IN ('request', 'refused', 'too_long') AND f.acted = 0)`

// Range iterates backwards over the conversation of one epoch, from the newest message to the one after seq after (0 =
// to the first). It omits the messages of turn before and later ones, which are being asked or wait to be asked. It
// reads page by page, so the cost only depends on what the caller pulls.
func (ms Messages) Range(ctx context.Context, key chat.Key, epoch, after, before int64) iter.Seq2[chat.Message, error] {
	return ms.walk(ctx, selectHistory, key, epoch, after, before)
}

// ForTurn is [Messages.Range] for a running turn. The turn may have waited while later ones were answered; those belong
// to its History, too.
func (ms Messages) ForTurn(ctx context.Context, key chat.Key, epoch, after, turn int64) iter.Seq2[chat.Message, error] {
	return ms.walk(ctx, selectAnswered, key, epoch, after, turn)
}

// walk reads page by page, so that no read transaction stays open while the caller works: an open one prevents
// truncation of the write-ahead log.
func (ms Messages) walk(
	ctx context.Context, query string, key chat.Key, epoch, after, turn int64,
) iter.Seq2[chat.Message, error] {
	return func(yield func(chat.Message, error) bool) {
		if after == 0 {
			after = math.MinInt64 // imported messages may be before seq 0
		}
		seq := int64(math.MaxInt64)
		for {
			page, err := queryMessages(ctx, ms.db.read, key, query, key.String(), epoch, seq, after, turn, historyPage)
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
	AND class = 'talk' AND role IN ('user', 'assistant')` + notRecalled + notRefused + ` ORDER BY seq DESC LIMIT ?5`

// unseenLimit limits the messages that a session can have missed.
const unseenLimit = 500

// Unseen returns the conversation of the turns after seen and before the turn before, oldest first: what a session that
// holds the turns up to seen has missed.
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

// Latest is the end of a chat's History, oldest first, regardless of /new.
func (ms Messages) Latest(ctx context.Context, key chat.Key, most int) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, key, selectLatest, key.String(), most)
	if err != nil {
		return nil, fmt.Errorf("read the last messages of %v: %w", key, err)
	}
	slices.Reverse(list)
	return list, nil
}

const selectMessages = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?2))` + notRecalled + notRefused + ` ORDER BY seq`

// BySeq returns those of a chat's messages that exist with these seqs, oldest first, for a context.
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

// turnReach is how far apart the messages of a turn are looked for, in seqs: in a group, others write in between.
const turnReach = 64

// Not by the index of turns: a turn may have very many rows of tools.
const selectSameTurn = `SELECT ` + messageColumns + ` FROM json_each(?2) j CROSS JOIN messages
	WHERE chat_key = ?1 AND seq BETWEEN CAST(j.key AS BIGINT) - ?3 AND CAST(j.key AS BIGINT) + ?3
	AND +turn_id = CAST(j.value AS BIGINT)
	AND class = 'talk' AND role IN ('user', 'assistant')` + notRecalled + notRefused + ` ORDER BY +seq`

// SameTurn returns what else was asked and answered in the turns of messages, oldest first.
func (ms Messages) SameTurn(ctx context.Context, key chat.Key, of []chat.Message) ([]chat.Message, error) {
	turns := make(map[int64]int64, len(of)) // by seq
	for _, m := range of {
		turns[m.Seq] = m.Turn
	}
	data, err := json.Marshal(turns)
	if err != nil {
		return nil, err
	}
	msgs, err := queryMessages(ctx, ms.db.read, key, selectSameTurn, key.String(), string(data), turnReach)
	if err != nil {
		return nil, fmt.Errorf("read turns of %v: %w", key, err)
	}
	return msgs, nil
}

const selectMessagesByID = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND message_id IN (SELECT value FROM json_each(?2))` + notRecalled + ` ORDER BY +seq`

// ByID returns those of a chat's messages that exist with these platform IDs, oldest first.
func (ms Messages) ByID(ctx context.Context, key chat.Key, ids []string) ([]chat.Message, error) {
	msgs, err := queryMessages(ctx, ms.db.read, key, selectMessagesByID, key.String(), encodeList(ids))
	if err != nil {
		return nil, fmt.Errorf("read messages of %v: %w", key, err)
	}
	return msgs, nil
}

// The pair of roles is what the index of talk says: without it SQLite does not use that.
const selectFirstQuestion = `SELECT ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND epoch = ?2 AND class = 'talk' AND role IN ('user', 'assistant') AND role = 'user'` +
	notRecalled + ` ORDER BY seq LIMIT 1`

// FirstQuestion returns the question with which an epoch of a chat began, or [ErrNotFound].
func (ms Messages) FirstQuestion(ctx context.Context, key chat.Key, epoch int64) (chat.Message, error) {
	msgs, err := queryMessages(ctx, ms.db.read, key, selectFirstQuestion, key.String(), epoch)
	switch {
	case err != nil:
		return chat.Message{}, fmt.Errorf("read first question of %v: %w", key, err)
	case len(msgs) == 0:
		return chat.Message{}, ErrNotFound
	}
	return msgs[0], nil
}

// oldestOpen is a part of the statement that reads the messages: a question that comes in between would be taken for an
// answered one. ?5 = no turn is open.
const oldestOpen = `SELECT COALESCE(MIN(id), ?5) FROM turns INDEXED BY turns_open WHERE chat_key = ?1
	AND follows = 0` + isOpen

// Answered returns the answered messages of an epoch of a chat after sequence number after (0 = from the first), at
// most this many. Questions of running or waiting turns are left out, and those that the model's API has refused.
func (ms Messages) Answered(
	ctx context.Context, key chat.Key, epoch, after int64, most int,
) (newestFirst []chat.Message, err error) {
	for m, err := range ms.walk(ctx, selectTaken, key, epoch, after, math.MaxInt64) {
		if err != nil {
			return nil, err
		}
		if newestFirst = append(newestFirst, m); len(newestFirst) == most {
			break
		}
	}
	return newestFirst, nil
}

// isLate limits the search to the newest messages of the chat.
const isLate = ` AND seq >= (SELECT next_seq FROM chats WHERE key = ?1) - 500`

const selectOverheard = `SELECT ` + messageColumns + ` FROM messages WHERE chat_key = ?1 AND epoch = ?2
	AND class = 'overheard' AND role = 'user'
	AND sent_at > COALESCE(
		(SELECT MAX(sent_at) FROM messages WHERE chat_key = ?1 AND turn_id = ?3 AND turn_id > 0 AND role = 'user'), -1
	)
	AND sent_at <= ?4` + notRecalled + isLate + ` ORDER BY sent_at DESC, seq DESC LIMIT ?5`

// Overheard returns the group messages that were not addressed to the bot, after the questions of turn seen and until a
// time: the newest of an epoch, in the order in which they were written. Without such a turn it goes back further.
func (ms Messages) Overheard(
	ctx context.Context, key chat.Key, epoch, seen int64, until time.Time, most int,
) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, key, selectOverheard, key.String(), epoch, seen, millis(until), most)
	if err != nil {
		return nil, fmt.Errorf("read overheard messages of %v: %w", key, err)
	}
	slices.Reverse(list)
	return list, nil
}

const lastAddressed = `SELECT sent_at, (SELECT COUNT(*) FROM messages o WHERE o.chat_key = ?1 AND o.seq > m.seq
	AND o.class = 'overheard')
	FROM messages m WHERE chat_key = ?1 AND role = 'user' AND class <> 'overheard' AND turn_id < ?2` + isLate + `
	ORDER BY seq DESC LIMIT 1`

// LastAddressed returns when the bot was last addressed in a chat before a turn, and the number of overheard messages
// since; the zero time if that is long ago.
func (ms Messages) LastAddressed(
	ctx context.Context, key chat.Key, turn int64,
) (at time.Time, overheard int, err error) {
	var sent int64
	err = ms.db.read.QueryRowContext(ctx, lastAddressed, key.String(), turn).Scan(&sent, &overheard)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, 0, nil
	} else if err != nil {
		return time.Time{}, 0, fmt.Errorf("when %v was last addressed: %w", key, err)
	}
	return fromMillis(sent), overheard, nil
}

// StoreOverheard stores messages of a chat for which no event arrived, unless a new conversation has begun there. Known
// messages are ignored.
func (ms Messages) StoreOverheard(ctx context.Context, key chat.Key, epoch int64, list []chat.Incoming) error {
	err := ms.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		c, err := loadChat(ctx, tx, key)
		if err != nil || c.Epoch != epoch {
			return err
		}
		for _, in := range list {
			m := chat.Message{
				Key: key, ID: in.ID, Role: chat.User, Class: chat.Overheard, Actor: in.Actor, Text: in.Text, Time: in.Time,
			}
			fresh, gone, err := ms.insert(ctx, tx, &m)
			if err == nil && fresh {
				_, err = ms.insertFiles(ctx, tx, key, in.ID, in.Files)
			}
			if err == nil && gone { // the list may have been read before
				err = ms.withdrawNew(ctx, tx, m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store overheard messages of %v: %w", key, err)
	}
	return nil
}
