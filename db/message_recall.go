package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Recalled tells the caller what is left to do after a recall.
type Recalled struct {
	Key     chat.Key
	Running int64    // the running turn with this question; 0 = none
	Over    []int64  // turns whose last question it was
	Files   []string // paths of its files, relative to the files folder
	// the follow-up of this question that was cancelled before anybody read it; no ID = none. Its agent still works
	FollowUp Turn
}

// Includes the messages of topics: a recall only names the chat.
const ofRoom = ` WHERE c.key >= ?1 AND c.key < ?1 || ':thread;' AND (c.key = ?1 OR c.key > ?1 || ':thread:')`

const selectVersions = `SELECT id, (SELECT no FROM chats WHERE key = chat_key), chat_key, state,
	` + messageColumns + ` FROM messages WHERE id IN (
	SELECT m.id FROM chats c CROSS JOIN messages m ON m.chat_key = c.key AND m.message_id = ?2` + ofRoom + `
	UNION ALL SELECT m.id FROM chats c CROSS JOIN messages m ON m.chat_key = c.key
		AND m.message_id > 'edit:' || ?2 || ':' AND m.message_id < 'edit:' || ?2 || ';'` + ofRoom + `) ORDER BY seq`

// version is one version of a message: the original or an edit.
type version struct {
	chat.Message
	storedRow
	state string
}

// The states of a message that is no longer valid.
const (
	recalled = "recalled"
	edited   = "edited"
)

// versions lists all versions of a message of a chat or one of its topics, oldest first.
func versions(ctx context.Context, q querier, room, id string) (list []version, err error) {
	rows, err := q.QueryContext(ctx, selectVersions, room, id)
	if err != nil {
		return nil, fmt.Errorf("look for message %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v version
		var no int64
		var key string
		var unreadable error
		if v.Message, unreadable = scanMessage(rows, chat.Key{}, &v.id, &no, &key, &v.state); unreadable != nil {
			continue // skipped, as in collect
		}
		if v.Key, unreadable = chat.ParseKey(key); unreadable != nil {
			continue
		}
		v.no, v.seq = no, v.Seq
		list = append(list, v)
	}
	return list, rows.Err()
}

const countNotRecalled = `SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND message_id IN (
	SELECT value FROM json_each(?2))` + notRecalled

// requireAll returns [ErrNotFound] unless all these messages of a chat are still valid, so that what was read of them
// earlier can be used.
func (ms Messages) requireAll(ctx context.Context, tx *sql.Tx, key chat.Key, ids []string) error {
	var n int
	if err := tx.QueryRowContext(ctx, countNotRecalled, key.String(), encodeList(ids)).Scan(&n); err != nil {
		return fmt.Errorf("check for recalled messages: %w", err)
	}
	if n < len(ids) {
		return ErrNotFound
	}
	return nil
}

const setMessageState = `UPDATE messages SET state = ?2 WHERE id = ?1`

// withdraw removes a version from every later context.
func (v version) withdraw(ctx context.Context, d *DB, tx *sql.Tx, state string) error {
	if _, err := tx.ExecContext(ctx, setMessageState, v.id, state); err != nil {
		return fmt.Errorf("mark message %s as %s: %w", v.ID, state, err)
	}
	d.hotTurns.forget(v.Key)
	return d.Search().forget(ctx, tx, v.storedRow)
}

// Recall marks a message as recalled, with its files, and with the answer and its follow-ups if it was the only
// question, also if its turn was interrupted and another one continues it. The other questions of a running turn are
// asked again when it has stopped, unless a tool may have been used for it. A turn that waited to answer it ends, and its card shows over.
// The session that may contain it is dropped, as are the summary that covers it and memories derived from it. An unknown
// message is recorded as recalled in case it still arrives, and Recall returns [ErrNotFound].
func (ms Messages) Recall(ctx context.Context, room chat.Key, id string, over chat.Card) (r Recalled, err error) {
	err = ms.db.roomTx(ctx, room, func(ctx context.Context, tx *sql.Tx) error {
		r = Recalled{}
		list, err := versions(ctx, tx, room.String(), id)
		if err != nil {
			return err
		}
		if r.Files, err = ms.deleteRecalled(ctx, tx, room, []string{id}); err != nil {
			return err
		}
		if len(list) == 0 {
			if len(r.Files) > 0 { // others quote it
				r.Key = room
			}
			return ms.recordUnknownRecall(ctx, tx, room, id)
		}
		r.Key = list[0].Key
		for i := 0; i < len(list); i++ { // it grows
			v := list[i]
			if v.state == recalled {
				continue
			}
			if err := r.takeOut(ctx, ms.db, tx, v.Message, over); err != nil {
				return err
			}
			if err := v.withdraw(ctx, ms.db, tx, recalled); err != nil {
				return err
			}
			if err := v.forgetContext(ctx, tx); err != nil {
				return err
			}
			if err := ms.db.Turns().hideRecalledAnswer(ctx, tx, v.Message); err != nil {
				return err
			}
			if err := r.withdrawFollowUps(ctx, ms.db, tx, v.Message, over); err != nil {
				return err
			}
			paths, err := ms.deleteRecalled(ctx, tx, v.Key, []string{v.ID})
			if err != nil {
				return err
			}
			r.Files = append(r.Files, paths...)
			requests, err := r.withdrawContinuations(ctx, ms.db, tx, v.Message)
			if err != nil {
				return err
			}
			list = append(list, requests...)
		}
		return ms.retract(ctx, tx, list)
	})
	if err == nil && r.Key == (chat.Key{}) {
		err = ErrNotFound
	}
	if err != nil {
		return Recalled{}, fmt.Errorf("take back message %s: %w", id, err)
	}
	return r, nil
}

// retract removes memories of recalled messages from every later context.
func (ms Messages) retract(ctx context.Context, tx *sql.Tx, list []version) error {
	var ids []string
	for _, v := range list {
		if v.state != recalled {
			ids = append(ids, v.ID)
		}
	}
	return ms.db.Memories().retract(ctx, tx, list[0].Key, ids)
}

func recallEvent(room chat.Key, id string) string {
	room.Thread = ""
	return "recalled:" + room.String() + ":" + id
}

// recordUnknownRecall records the recall of an unknown message: the message itself may still arrive.
func (ms Messages) recordUnknownRecall(ctx context.Context, tx *sql.Tx, room chat.Key, id string) error {
	err := takeEvent(ctx, ms.db, tx, recallEvent(room, id))
	if errors.Is(err, ErrRepeated) {
		return nil
	}
	return err
}

// withdrawNew marks a message that is being stored as recalled.
func (ms Messages) withdrawNew(ctx context.Context, tx *sql.Tx, m chat.Message) error {
	list, err := versions(ctx, tx, m.Key.String(), m.ID)
	if err != nil {
		return err
	}
	for _, v := range list {
		if err := v.withdraw(ctx, ms.db, tx, recalled); err != nil {
			return err
		}
	}
	_, err = ms.deleteRecalled(ctx, tx, m.Key, []string{m.ID})
	return err
}

// Messages that were not addressed to the bot go into the prompt of the next question, no matter when they arrived.
const firstContextReport = `SELECT COALESCE(CASE WHEN ?2 > 0 THEN (SELECT id FROM turns WHERE chat_key = ?1
	AND id = ?2 AND attempts > 0)
	ELSE (SELECT MIN(+turn_id) FROM messages WHERE chat_key = ?1 AND +turn_id > 0 AND +epoch = ?3
	AND seq > ?4 - 500 AND (seq > ?4 OR sent_at >= ?5))
	END, 0)`

// A session holds the context of its turns, so one that ran later may hold it as well.
const forgetPastSessions = `UPDATE turns SET session_id = '' WHERE +chat_key = ?1 AND session_id <> '' AND session_id IN
	(SELECT session_id FROM turns WHERE chat_key = ?1 AND epoch = ?2 AND id >= ?3 AND session_id <> '')`

const giveSessionUp = `UPDATE chats SET ` + noSession + ` WHERE key = ?1 AND epoch = ?2`

const giveSummaryUp = `UPDATE chats SET summary = '', summary_seq = 0, summary_at = 0 WHERE key = ?1
	AND epoch = ?2 AND summary_seq >= ?3 AND summary_seq <> 0`

// forgetContext drops everything that may repeat the message in other words: the summary, the session, and the past
// sessions that a chat could resume.
func (v version) forgetContext(ctx context.Context, tx *sql.Tx) error {
	var turn int64
	key := v.Key.String()
	if err := tx.QueryRowContext(ctx, firstContextReport, key, v.Turn, v.Epoch, v.Seq,
		millis(v.Time)).Scan(&turn); err != nil {
		return fmt.Errorf("check whether the agent has seen message %s: %w", v.ID, err)
	}
	if turn > 0 {
		if err := dropSessions(ctx, tx, v.Key, v.Epoch); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, forgetPastSessions, key, v.Epoch, turn); err != nil {
			return fmt.Errorf("give past sessions up: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, giveSummaryUp, key, v.Epoch, v.Seq); err != nil {
		return fmt.Errorf("give a summary up: %w", err)
	}
	return nil
}

// dropSessions drops the sessions of a chat, if they belong to that epoch.
func dropSessions(ctx context.Context, tx *sql.Tx, key chat.Key, epoch int64) error {
	_, err := tx.ExecContext(ctx, giveSessionUp, key.String(), epoch)
	if err == nil {
		_, err = tx.ExecContext(ctx, forgetSessionsAside, key.String())
	}
	if err != nil {
		return fmt.Errorf("give a session up: %w", err)
	}
	return nil
}

const questionsLeft = `SELECT COUNT(*) FILTER (WHERE state = ''), COUNT(*) FILTER (WHERE state = 'recalled')
	FROM messages
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'`

// countQuestions counts a turn's remaining and recalled questions.
func countQuestions(ctx context.Context, q querier, key chat.Key, turn int64) (left, gone int, err error) {
	if err := q.QueryRowContext(ctx, questionsLeft, key.String(), turn).Scan(&left, &gone); err != nil {
		return 0, 0, fmt.Errorf("questions of turn %d: %w", turn, err)
	}
	return left, gone, nil
}

// A recall has stopped the turn, and what it has asked besides is asked again.
const isAskedAgain = `SELECT EXISTS (SELECT 1 FROM turns WHERE id = ?1 AND stopped = 2 AND acted = 0)`

// AllRecalled reports whether all questions that a turn answers were recalled, or are asked by another turn after some
// of them were.
func (ts Turns) AllRecalled(ctx context.Context, t Turn) (gone bool, err error) {
	if gone, err = allRecalled(ctx, ts.db.read, t.Key, t.questionTurn()); err != nil || gone {
		return gone, err
	}
	if err := ts.db.read.QueryRowContext(ctx, isAskedAgain, t.ID).Scan(&gone); err != nil {
		return false, fmt.Errorf("why turn %d was stopped: %w", t.ID, err)
	}
	return gone, nil
}

func allRecalled(ctx context.Context, q querier, key chat.Key, turn int64) (bool, error) {
	left, gone, err := countQuestions(ctx, q, key, turn)
	return gone > 0 && left == 0, err
}

// takeOut takes a question out of its turn. A turn that is running stops; one that waits and asks nothing else ends.
func (r *Recalled) takeOut(ctx context.Context, d *DB, tx *sql.Tx, m chat.Message, over chat.Card) error {
	if m.Turn == 0 || m.Role != chat.User {
		return nil
	}
	effects, err := d.decide(ctx, tx, m.Key, convo.Recalls{Turn: m.Turn, Seq: m.Seq})
	if err != nil {
		return err
	}
	for _, f := range effects {
		switch f := f.(type) {
		case convo.Halt:
			r.Running = max(r.Running, f.Turn)
		case convo.Settled:
			err = d.cancelled(ctx, tx, m.Key, f, over)
		}
		if err != nil {
			return fmt.Errorf("turn %d: %w", m.Turn, err)
		}
	}
	return nil
}

// cancelled shows that a turn ended before it began, if people have seen it.
func (d *DB) cancelled(ctx context.Context, tx *sql.Tx, key chat.Key, f convo.Settled, over chat.Card) error {
	t, err := loadTurn(ctx, tx, key, f.Turn.ID)
	if err == nil && t.Card == "" && f.Was == convo.Queued {
		_, err = tx.ExecContext(ctx, forgetPosts, t.ID)
		return err
	} else if err != nil {
		return err
	}
	return d.postSettled(ctx, tx, key, f, over)
}

// hideRecalledAnswer hides the answer of a turn that is over if all its questions were recalled.
func (ts Turns) hideRecalledAnswer(ctx context.Context, tx *sql.Tx, m chat.Message) error {
	if m.Turn == 0 || m.Role != chat.User {
		return nil
	}
	t, err := loadTurn(ctx, tx, m.Key, m.Turn)
	if errors.Is(err, ErrNotFound) {
		return nil
	} else if err != nil || t.State == convo.Running || t.State == convo.Queued {
		return err
	}
	left, _, err := countQuestions(ctx, tx, m.Key, t.ID)
	if err != nil || left > 0 {
		return err
	}
	return hideAnswer(ctx, ts.db, tx, t)
}

const recallActions = `UPDATE messages SET state = 'recalled' WHERE chat_key = ?1 AND turn_id = ?2
	AND turn_id > 0 AND role = 'tool'`

// hideAnswer removes a turn's answer from every later context, and its tool calls from every export.
func hideAnswer(ctx context.Context, d *DB, tx *sql.Tx, t Turn) error {
	if _, err := tx.ExecContext(ctx, recallActions, t.Key.String(), t.ID); err != nil {
		return fmt.Errorf("hide what turn %d did: %w", t.ID, err)
	}
	answers, err := versions(ctx, tx, t.Key.String(), AnswerID(t.ID))
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := a.withdraw(ctx, d, tx, recalled); err != nil {
			return err
		}
	}
	return nil
}
