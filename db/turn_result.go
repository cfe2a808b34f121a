package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// TurnResult is how a turn ended.
type TurnResult struct {
	Turn    Turn
	State   convo.Phase
	Failure string    // class of the failure, for operators
	Answer  string    // the agent's answer; may be partial; empty = none
	Card    chat.Card // the final card
	// the session that now holds the turn; with an empty ID the chat's stays as it is. Its Turn is set here
	Session Session
	Usage   *Usage // nil if the agent did not report it
	// the answer as a file: its name, and its text; no name = none
	FileName, FileText string

	Notice  *Notice          // nil = no notification
	Report  *ContextReport   // nil if the agent was not asked, or if unknown
	Actions []RecordedAction // tool calls that are not stored yet
	// prompt IDs of the steered messages that the agent has read; see [convo.Reads]. The others are queued again,
	// unless the turn was stopped or interrupted
	SteersRead []string
	// the agent keeps working in the background, and a follow-up exists, see [Turns]
	WorksOn bool
	// the result is that of a turn that nobody has stopped: if somebody has, it is [ErrStopped], and nothing is stored
	Unstopped bool
}

// Usage is what a turn cost.
type Usage struct {
	Model                              string
	Input, Output, CacheRead, CacheNew int64 // tokens
	CostUSD                            float64
	FirstText, Duration                time.Duration
}

// Tokens is the total of all kinds.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheNew }

const endTurn = `UPDATE turns SET failure = ?2, context_report = ?3,
	prompt_id = CASE WHEN follows > 0 THEN ?4 ELSE prompt_id END WHERE id = ?1`

const setTurned = `UPDATE chats SET turned_at = ?2 WHERE key = ?1`

// Finish ends a running turn in one transaction: the answer joins the History, the final card is enqueued, the session
// becomes the chat's unless /new came in between, and the cost is booked. A turn cannot become interrupted after /new:
// then it fails, and nothing is stored.
func (ts Turns) Finish(ctx context.Context, e TurnResult) error {
	err := ts.db.chatTx(ctx, e.Turn.Key, func(ctx context.Context, tx *sql.Tx) error {
		return turnEnd{e, ts.db, tx, ts.db.now()}.store(ctx)
	})
	if err != nil {
		return fmt.Errorf("finish turn %d: %w", e.Turn.ID, err)
	}
	return nil
}

// turnEnd stores the end of a turn in a transaction.
type turnEnd struct {
	TurnResult

	db  *DB
	tx  *sql.Tx
	now time.Time
}

func (e turnEnd) store(ctx context.Context) error {
	report, err := e.Report.store()
	if err != nil {
		return err
	}
	users, err := e.usersToNotify(ctx)
	if err != nil {
		return err
	}
	if err := e.decide(ctx); err != nil {
		return err
	}
	if _, err := e.tx.ExecContext(ctx, endTurn, e.Turn.ID, e.Failure, report, e.Turn.Prompt); err != nil {
		return err
	}
	if err := e.db.Messages().recordActions(ctx, e.tx, e.Actions); err != nil {
		return err
	}
	if err := e.recordAnswer(ctx); err != nil {
		return err
	}
	if err := e.post(ctx, users); err != nil {
		return err
	}
	if err := e.keepSession(ctx); err != nil {
		return err
	}
	if _, err := e.tx.ExecContext(ctx, setTurned, e.Turn.Key.String(), millis(e.now)); err != nil {
		return fmt.Errorf("note when the turn ended: %w", err)
	}
	return e.book(ctx)
}

// decide stores what becomes of the turn and of what its agent has not read, and the follow-up. Something else may have
// ended the turn, for example a recall: then it returns [ErrNotFound].
func (e turnEnd) decide(ctx context.Context) error {
	events := []convo.Event{convo.Ends{
		Turn: e.Turn.ID, Phase: e.State, Read: e.SteersRead, Unstopped: e.Unstopped,
	}}
	fs := e.db.Turns()
	if e.WorksOn {
		on, err := fs.worksOn(ctx, e.tx, e.Turn)
		if err != nil {
			return err
		}
		events = append(events, on)
	}
	effects, err := e.db.decide(ctx, e.tx, e.Turn.Key, events...)
	if err != nil {
		return err
	} else if len(effects) == 0 {
		return ErrNotFound
	}
	switch effects[0].(type) {
	case convo.Refused:
		return ErrStopped
	case convo.Follows: // nothing has ended
		return ErrNotFound
	}
	if e.State == convo.Interrupted {
		if t, err := loadTurn(ctx, e.tx, e.Turn.Key, e.Turn.ID); err != nil {
			return err
		} else if t.State != convo.Interrupted { // its card would offer to continue
			return errOver
		}
	}
	return fs.beginFollowUp(ctx, e.tx, e.Turn.ID, effects)
}

// post enqueues what people see: the final card, the answer as a file, and the notification.
func (e turnEnd) post(ctx context.Context, users []string) error {
	err := e.db.Outbox().post(ctx, e.tx, Post{
		Key: e.Turn.Key, Turn: e.Turn.ID, Idem: cardIdem(e.Turn, "end"), ReplyTo: e.Turn.ReplyTo, Card: &e.Card,
	})
	if err == nil && e.FileName != "" {
		_, err = e.db.Outbox().postFile(ctx, e.tx, Post{
			Key: e.Turn.Key, Turn: e.Turn.ID, ReplyTo: e.Turn.ReplyTo, Idem: fmt.Sprintf("answer:%d", e.Turn.ID),
			Text: e.FileText, File: &FileDelivery{Name: e.FileName, Size: int64(len(e.FileText))},
		})
	}
	if err != nil {
		return err
	}
	return e.enqueueNotice(ctx, users)
}

// book records the cost of a turn, as far as it is known.
func (e turnEnd) book(ctx context.Context) error {
	if e.Usage == nil {
		return nil
	}
	return e.db.Access().book(ctx, e.tx, Expense{
		Key: e.Turn.Key, Turn: e.Turn.ID, Follows: e.Turn.Follows, Usage: *e.Usage,
	})
}

const ownSession = `SELECT session_id FROM turns WHERE id = ?1`

// keepSession makes the session of a turn the chat's session. If a question of the turn was recalled while it ran, no
// session may contain it, and an answer to nothing else is excluded from later contexts. If an earlier message in the
// turn's context was recalled, its session has already been dropped.
func (e turnEnd) keepSession(ctx context.Context) error {
	left, gone, err := countQuestions(ctx, e.tx, e.Turn.Key, e.Turn.questionTurn())
	if err == nil && e.Turn.Continues != 0 {
		var recalled bool
		if recalled, err = allRecalled(ctx, e.tx, e.Turn.Key, e.Turn.Continues); recalled {
			gone++
		}
	}
	switch {
	case err != nil:
		return err
	case gone > 0 && left == 0:
		if err := hideAnswer(ctx, e.db, e.tx, e.Turn); err != nil {
			return err
		}
		return dropSessions(ctx, e.tx, e.Turn.Key, e.Turn.Epoch)
	case gone > 0:
		return dropSessions(ctx, e.tx, e.Turn.Key, e.Turn.Epoch)
	case e.Session.ID == "":
		return nil
	}
	var own string
	if err := e.tx.QueryRowContext(ctx, ownSession, e.Turn.ID).Scan(&own); err != nil {
		return fmt.Errorf("session of the turn: %w", err)
	}
	if own == "" {
		return nil
	}
	return e.Turn.keepSession(ctx, e.tx, e.Session)
}

// recordAnswer uses an ID derived from the turn, so an answer that is recorded twice is one message.
func (e turnEnd) recordAnswer(ctx context.Context) error {
	if e.Answer == "" {
		return nil
	}
	m := chat.Message{
		Key: e.Turn.Key, Epoch: e.Turn.Epoch, Turn: e.Turn.ID, ID: AnswerID(e.Turn.ID),
		Role: chat.Assistant, Class: chat.Talk, Text: e.Answer, Time: e.now,
	}
	_, _, err := e.db.Messages().insert(ctx, e.tx, &m)
	return err
}

// ContextReport describes the agent's context in a turn besides the question, and why it was limited.
type ContextReport struct {
	Session string `json:"session"` // how the turn got its session
	// why an earlier session was not continued; empty = it was, or there was none
	Lost       string `json:"lost,omitempty"`
	Incomplete bool   `json:"behind,omitempty"`   // the session lacked messages
	Unsure     bool   `json:"unsure,omitempty"`   // the session could not be compared with the database
	Messages   int    `json:"messages,omitempty"` // from the History
	Unread     bool   `json:"unread,omitempty"`   // the History could not be read
}

// store encodes the report for the turns table.
func (t *ContextReport) store() (string, error) {
	if t == nil {
		return "", nil
	}
	data, err := json.Marshal(t)
	return string(data), err
}

const lastContextReport = `SELECT context_report FROM turns WHERE chat_key = ?1 AND epoch = ?2 AND context_report <> ''
	ORDER BY id DESC LIMIT 1`

// LastReport is the latest known report of an epoch's turns, or [ErrNotFound].
func (ts Turns) LastReport(ctx context.Context, key chat.Key, epoch int64) (ContextReport, error) {
	var data string
	var t ContextReport
	err := ts.db.read.QueryRowContext(ctx, lastContextReport, key.String(), epoch).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return ContextReport{}, ErrNotFound
	} else if err == nil {
		err = json.Unmarshal([]byte(data), &t)
	}
	if err != nil {
		return ContextReport{}, fmt.Errorf("last context report of %v: %w", key, err)
	}
	return t, nil
}

// Notice notifies the askers of a turn when it has ended: changes of a card notify nobody.
type Notice struct {
	// no notification if the turn took less time, nor to anyone who decided something for it within this time
	After time.Duration
	Text  string
}

// NotifyOff is the [Settings.Notify] of a chat without notifications.
const NotifyOff = "off"

// A user who has written since, or added something to the turn, needs no notification. Messages are compared by seq,
// not by time.
const quietAskers = `SELECT DISTINCT actor_id FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user'` + notRecalled + `
	AND actor_id <> '' AND EXISTS (SELECT 1 FROM turns WHERE id = ?2 AND stopped = 0 AND started_at < ?3)
	AND NOT EXISTS (SELECT 1 FROM steers WHERE turn_id = ?2)
	AND NOT EXISTS (SELECT 1 FROM messages l WHERE l.chat_key = ?1 AND l.actor_id = messages.actor_id AND l.role = 'user'
		AND l.seq > (SELECT MAX(+seq) FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user'))
	AND NOT EXISTS (SELECT 1 FROM approvals WHERE turn_id = ?2 AND decided_by = messages.actor_id AND decided_at >= ?3)`

// usersToNotify lists the users to notify about the end of a turn. It reads what the end is about to delete.
func (e turnEnd) usersToNotify(ctx context.Context) ([]string, error) {
	if e.Notice == nil || e.State == convo.Cancelled {
		return nil, nil
	}
	c, err := loadChat(ctx, e.tx, e.Turn.Key)
	if err != nil {
		return nil, err
	}
	if c.Settings.Notify == NotifyOff || c.BotTurns > 0 { // another bot would answer a mention
		return nil, nil
	}
	since := e.now.Add(-e.Notice.After)
	users, err := queryAll(ctx, e.tx, scanText, quietAskers, e.Turn.Key.String(), e.Turn.ID, millis(since))
	if err != nil {
		return nil, fmt.Errorf("who has asked: %w", err)
	}
	return users, nil
}

// enqueueNotice enqueues the notification.
func (e turnEnd) enqueueNotice(ctx context.Context, users []string) error {
	if len(users) == 0 {
		return nil
	}
	return e.db.Outbox().post(ctx, e.tx, Post{
		Key: e.Turn.Key, Idem: fmt.Sprintf("notice:%d", e.Turn.ID), ReplyTo: e.Turn.ReplyTo,
		Text: e.Notice.Text, Mentions: users,
	})
}
