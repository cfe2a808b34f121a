package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
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
		v.row = indexRow(no) + v.Seq
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
	return d.Index().forget(ctx, tx, v.storedRow)
}

// Recall marks a message as recalled, with its files, and with the answer and its follow-ups if it was the only
// question, also if its turn was interrupted and another one continues it. The other questions of a running turn are
// asked again, unless a tool may have been used for it. A turn that waited to answer it ends, and its card shows over.
// The session that may contain it is dropped, as are the summary that covers it and memories derived from it. An unknown
// message is recorded as recalled in case it still arrives, and Recall returns [ErrNotFound].
func (ms Messages) Recall(ctx context.Context, room chat.Key, id string, over chat.Card) (r Recalled, err error) {
	err = ms.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r = Recalled{}
		list, err := versions(ctx, tx, room.String(), id)
		if err != nil {
			return err
		}
		if r.Files, err = ms.db.Files().deleteRecalled(ctx, tx, room, []string{id}); err != nil {
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
			if err := v.withdraw(ctx, ms.db, tx, recalled); err != nil {
				return err
			}
			if err := v.forgetContext(ctx, tx); err != nil {
				return err
			}
			running, err := ms.db.Turns().withdraw(ctx, tx, v.Message, over)
			if err != nil {
				return err
			}
			r.Running = max(r.Running, running)
			if err := r.withdrawFollowUps(ctx, ms.db, tx, v.Message); err != nil {
				return err
			}
			paths, err := ms.db.Files().deleteRecalled(ctx, tx, v.Key, []string{v.ID})
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

const knownEvent = `SELECT 1 FROM events WHERE id = ?1`

// checkRecalled marks a message that is being stored if it was recalled before it arrived: the two events have no
// order.
func (ms Messages) checkRecalled(ctx context.Context, tx *sql.Tx, m chat.Message) (bool, error) {
	var one int
	err := tx.QueryRowContext(ctx, knownEvent, recallEvent(m.Key, m.ID)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("check whether message %s was recalled: %w", m.ID, err)
	}
	list, err := versions(ctx, tx, m.Key.String(), m.ID)
	if err != nil {
		return false, err
	}
	for _, v := range list {
		if err := v.withdraw(ctx, ms.db, tx, recalled); err != nil {
			return false, err
		}
	}
	_, err = ms.db.Files().deleteRecalled(ctx, tx, m.Key, []string{m.ID})
	return true, err
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

// AllRecalled reports whether all questions that a turn answers were recalled, or moved to another turn after some of
// them were.
func (ts Turns) AllRecalled(ctx context.Context, t Turn) (bool, error) {
	return allRecalled(ctx, ts.db.read, t.Key, t.questionTurn())
}

func allRecalled(ctx context.Context, q querier, key chat.Key, turn int64) (bool, error) {
	left, gone, err := countQuestions(ctx, q, key, turn)
	return gone > 0 && left == 0, err
}

const cancelTurn = `UPDATE turns SET state = 'cancelled', failure = 'recalled', ended_at = ?2, draft = '' WHERE id = ?1`

// withdraw removes a question from its turn, and returns the turn's number if it is running. A turn
// without questions ends, and its answer is hidden.
func (ts Turns) withdraw(ctx context.Context, tx *sql.Tx, m chat.Message, over chat.Card) (running int64, err error) {
	if m.Turn == 0 || m.Role != chat.User {
		return 0, nil
	}
	t, err := loadTurn(ctx, tx, m.Key, m.Turn)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	left, _, err := countQuestions(ctx, tx, m.Key, t.ID)
	switch {
	case err != nil:
		return 0, err
	case t.State == Running:
		if _, err := tx.ExecContext(ctx, stopTurn, t.ID, t.Key.String()); err != nil {
			return 0, fmt.Errorf("stop turn %d: %w", t.ID, err)
		}
		// The rest is asked again, unless the agent has already used tools: repeating its commands could do harm.
		if left > 0 && !t.Acted {
			return t.ID, ts.db.Queue().requeueRest(ctx, tx, t)
		}
		return t.ID, ts.db.Turns().Steers().requeueUnread(ctx, tx, t) // nothing of that has run yet
	case left > 0:
		return 0, nil
	case t.State == Queued || t.State == Interrupted && t.Failure == Late:
		return 0, ts.db.Queue().cancel(ctx, tx, t, over)
	case t.State == Interrupted: // nobody can continue it
		if _, err := tx.ExecContext(ctx, dropTurn, t.ID); err != nil {
			return 0, err
		}
	}
	return 0, hideAnswer(ctx, ts.db, tx, t)
}

const moveQuestions = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user'` + notRecalled

const lastQuestion = `SELECT message_id FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user'` + notRecalled + written + `
	ORDER BY seq DESC LIMIT 1`

// requeueRest moves the remaining questions of a turn that is being stopped into the waiting turn, or into a new one:
// they were not recalled, and are older than what waits.
func (q Queue) requeueRest(ctx context.Context, tx *sql.Tx, t Turn) error {
	continues := t.Continues
	if recalled, err := allRecalled(ctx, tx, t.Key, continues); err != nil {
		return err
	} else if recalled {
		continues = 0
	}
	if err := q.requeueQuestions(ctx, tx, t, moveQuestions, continues); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, forgetSteers, t.ID)
	return err
}

// requeueQuestions moves questions of a turn that ends into the waiting turn, or into a new one, which continues the
// same turn as the old one did.
func (q Queue) requeueQuestions(ctx context.Context, tx *sql.Tx, t Turn, move string, continues int64) error {
	var id int64
	var last string
	err := tx.QueryRowContext(ctx, queuedTurn, t.Key.String(), t.Epoch).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, insertTurn, t.Key.String(), t.Epoch, Queued, "", millis(q.db.now())).Scan(&id)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, move, t.Key.String(), t.ID, id)
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, lastQuestion, t.Key.String(), id).Scan(&last)
	}
	if errors.Is(err, sql.ErrNoRows) {
		last, err = t.ReplyTo, nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, askTurn, id, PlatformID(last), continues)
	}
	if err != nil {
		return fmt.Errorf("ask questions of turn %d again: %w", t.ID, err)
	}
	return nil
}

// cancel ends a turn that has not begun, or will not continue.
func (q Queue) cancel(ctx context.Context, tx *sql.Tx, t Turn, over chat.Card) error {
	if _, err := tx.ExecContext(ctx, cancelTurn, t.ID, millis(q.db.now())); err != nil {
		return fmt.Errorf("cancel turn %d: %w", t.ID, err)
	}
	if t.State == Queued && t.Card == "" { // nobody has seen it
		_, err := tx.ExecContext(ctx, forgetPosts, t.ID)
		return err
	}
	return q.db.Outbox().post(
		ctx, tx, Post{Key: t.Key, Turn: t.ID, Idem: cardIdem(t, recalled), ReplyTo: t.ReplyTo, Card: &over},
	)
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
