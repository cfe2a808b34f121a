package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// The rows of a chat's turns, of the messages handed to them and of what people are asked are one value: [convo.Chat].
// It is loaded, decided about and stored in the transaction of the event.

// Of returns what is not over in a chat.
func (ts Turns) Of(ctx context.Context, key chat.Key) (convo.Chat, error) {
	tx, err := ts.db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // all at the same moment
	if err != nil {
		return convo.Chat{}, fmt.Errorf("turns of %v: %w", key, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	c, err := loadTurns(ctx, tx, key)
	if err != nil {
		return c, fmt.Errorf("turns of %v: %w", key, err)
	}
	return c, nil
}

// decide stores what becomes of a chat when these things happen, one after the other, and returns what is to be done.
func (d *DB) decide(ctx context.Context, tx *sql.Tx, key chat.Key, events ...convo.Event) ([]convo.Effect, error) {
	was, err := d.knownTurns(ctx, tx, key)
	if err != nil {
		return nil, fmt.Errorf("turns of %v: %w", key, err)
	}
	now := fromMillis(millis(d.now()))
	is, effects := decideAll(was, events, now)
	if was.Next == unnumbered && is.Next > was.Next {
		if err := d.numberTurns(ctx, tx, &was, is.Next-was.Next); err != nil {
			return nil, fmt.Errorf("number the turns of %v: %w", key, err)
		}
		is, effects = decideAll(was, events, now)
	}
	err = d.hotTurns.store(key, is.Open(), (turnDifference{ctx, tx, key, was, is, effects, now}).store)
	if err != nil {
		return nil, fmt.Errorf("store the turns of %v: %w", key, err)
	}
	if d.verify {
		return effects, verifyTurns(ctx, tx, key, is, "after "+named(events))
	}
	return effects, nil
}

// decideAll decides about events, one after the other.
func decideAll(is convo.Chat, events []convo.Event, now time.Time) (_ convo.Chat, effects []convo.Effect) {
	for _, e := range events {
		var more []convo.Effect
		is, more = convo.Decide(is, e, now)
		effects = append(effects, more...)
	}
	return is, effects
}

// numberTurns takes numbers for new turns of a chat, which follow each other. Other chats take some at the same time, so they
// are taken only when it is known that there are new turns: what is decided does not depend on them.
func (d *DB) numberTurns(ctx context.Context, tx *sql.Tx, c *convo.Chat, turns int64) error {
	for row := int64(0); row < turns; {
		var number int64
		if err := tx.QueryRowContext(ctx, takeTurn).Scan(&number); err != nil {
			return err
		}
		if row > 0 && number == c.Next+row {
			row++
		} else { // another chat has taken some in between
			c.Next, row = number, 1
		}
	}
	return nil
}

// knownTurns returns what is not over in a chat, from memory if the last decision about it is there.
func (d *DB) knownTurns(ctx context.Context, tx *sql.Tx, key chat.Key) (convo.Chat, error) {
	known, ok := d.hotTurns.get(key)
	if !ok {
		return loadTurns(ctx, tx, key)
	}
	if d.verify {
		return known, verifyTurns(ctx, tx, key, known, "in memory")
	}
	return known, nil
}

// Happens stores what becomes of a chat when these things happen, one after the other, and returns what is to be done: for
// events after which nothing else is to be stored. One that comes too late has no effect.
func (ts Turns) Happens(ctx context.Context, key chat.Key, events ...convo.Event) (effects []convo.Effect, err error) {
	err = ts.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		effects, err = ts.db.decide(ctx, tx, key, events...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%sin %v: %w", named(events), key, err)
	}
	return effects, nil
}

// postSettled shows what was decided about a turn.
func (d *DB) postSettled(ctx context.Context, tx *sql.Tx, key chat.Key, f convo.Settled, over chat.Card) error {
	what := map[convo.Phase]string{convo.Continued: continued, convo.Dropped: dropped, convo.Recalled: recalled}[f.As]
	t := Turn{ID: f.Turn.ID, Attempts: f.Turn.Attempts}
	return d.Outbox().post(ctx, tx, Post{Key: key, Turn: t.ID, Idem: cardIdem(t, what), ReplyTo: f.Turn.ReplyTo, Card: &over})
}

// named names events.
func named(events []convo.Event) (list string) {
	for _, e := range events {
		list += fmt.Sprintf("%T ", e)
	}
	return list
}

// verifyTurns fails if the rows give another value. When hundreds of questions wait, it looks now and then: each look
// takes as long as all of them.
func verifyTurns(ctx context.Context, tx *sql.Tx, key chat.Key, is convo.Chat, when string) error {
	questions := 0
	for _, t := range is.Turns {
		questions += len(t.Asked)
	}
	if questions > 50 && questions%50 != 0 {
		return nil
	}
	stored, err := loadTurns(ctx, tx, key)
	if err != nil {
		return err
	}
	if is = is.Open(); stored.Next == unnumbered {
		is.Next = unnumbered
	}
	if fmt.Sprintf("%+v", stored) != fmt.Sprintf("%+v", is) {
		return fmt.Errorf("%s: the rows of %v say\n%+v\ninstead of\n%+v", when, key, stored, is)
	}
	return nil
}

const selectNextTurn = `SELECT COALESCE((SELECT epoch FROM chats WHERE key = ?1), 0),
	` + nextTurn + `,
	EXISTS (SELECT 1 FROM approvals INDEXED BY approvals_open WHERE chat_key = ?1 AND delivered = 0)`

// openColumns has the order of scanOpen.
const openColumns = `id, epoch, state, failure, created_at, started_at, due_at, attempts, stopped, acted, continues, follows, reply_to`

// A turn about which people have decided is over.
const selectOpen = `SELECT ` + openColumns + ` FROM turns INDEXED BY turns_open WHERE chat_key = ?1` + isOpen + `
	UNION ALL SELECT ` + openColumns + ` FROM turns INDEXED BY turns_interrupted WHERE chat_key = ?1
		AND ` + undecided + ` ORDER BY id`

// loadTurns loads what is not over in a chat.
func loadTurns(ctx context.Context, q querier, key chat.Key) (c convo.Chat, err error) {
	var asks bool
	if err := q.QueryRowContext(ctx, selectNextTurn, key.String()).Scan(&c.Epoch, &c.Next, &asks); err != nil {
		return c, err
	}
	if asks {
		if c.Requests, err = queryAll(ctx, q, scanRequest, selectRequests, key.String()); err != nil {
			return c, err
		}
	}
	if c.Turns, err = queryAll(ctx, q, scanOpen, selectOpen, key.String()); err != nil {
		return c, err
	}
	for i := range c.Turns {
		if err := loadQuestions(ctx, q, key, &c.Turns[i]); err != nil {
			return c, err
		}
	}
	return c, nil
}

const selectOver = `SELECT ` + openColumns + ` FROM turns WHERE id = ?1 AND chat_key = ?2`

// loadOver loads a turn that is over, or returns [ErrNotFound].
func loadOver(ctx context.Context, q querier, key chat.Key, id int64) (convo.Turn, error) {
	t, err := queryOne(ctx, q, scanOpen, selectOver, id, key.String())
	if err != nil {
		return t, err
	}
	err = loadQuestions(ctx, q, key, &t)
	return t, err
}

func scanOpen(scan scanner) (t convo.Turn, err error) {
	var state, failure string
	var created, started, due int64
	err = scan(&t.ID, &t.Epoch, &state, &failure, &created, &started, &due, &t.Attempts, &t.Stopped, &t.Acted,
		&t.Continues, &t.Follows, &t.ReplyTo)
	t.Phase, t.Created, t.Due = phaseOf(state, failure, t.Follows != 0 && started == 0), fromMillis(created), fromMillis(due)
	return t, err
}

// phases are the phases of turns by their states, as far as the failure says no more.
var phases = map[string]convo.Phase{
	"queued": convo.Queued, "running": convo.Running, "interrupted": convo.Interrupted, "done": convo.Done,
	"failed": convo.Failed, "cancelled": convo.Cancelled,
}

// What the failure of a turn says of its phase. That of a turn that is held back is late.
const (
	late      = "late"
	continued = "continued"
	dropped   = "dropped"
)

// phaseOf is the phase of a turn; 0 = a program has stored it that this one does not know.
func phaseOf(state, failure string, background bool) convo.Phase {
	p := phases[state]
	switch {
	case p == convo.Running && background:
		return convo.Background
	case p == convo.Interrupted && failure == late:
		return convo.Late
	case p == convo.Interrupted && failure == continued:
		return convo.Continued
	case (p == convo.Interrupted || p == convo.Cancelled) && failure == dropped:
		return convo.Dropped
	case p == convo.Cancelled && failure == recalled:
		return convo.Recalled
	}
	return p
}

// stateOf is the state of a turn, and its failure, as long as nothing more is known of that.
func stateOf(p convo.Phase) (state, failure string) {
	switch p {
	case convo.Background:
		return "running", ""
	case convo.Late:
		return "interrupted", late
	case convo.Continued:
		return "interrupted", continued
	case convo.Dropped:
		return "cancelled", dropped
	case convo.Recalled:
		return "cancelled", recalled
	}
	return p.String(), ""
}

const selectTurnMessages = `SELECT m.seq, m.message_id, m.state, COALESCE(s.prompt_id, ''), COALESCE(s.is_read, 0)
	FROM messages m INDEXED BY messages_turn LEFT JOIN steers s ON s.turn_id = ?2 AND s.seq = m.seq
	WHERE m.chat_key = ?1 AND m.turn_id = ?2 AND m.turn_id > 0 AND m.role = 'user' ORDER BY m.seq`

// Nothing is handed to the agent of a turn that waits.
const selectWaitingMessages = `SELECT seq, message_id, state, '', 0 FROM messages INDEXED BY messages_turn
	WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'user' ORDER BY seq`

const selectActed = `SELECT acted FROM turns WHERE id = ?1`

// turnMessage is a message of a turn.
type turnMessage struct {
	convo.Added
	state string
}

func scanTurnMessage(scan scanner) (m turnMessage, err error) {
	var seq int64
	var id string
	err = scan(&seq, &id, &m.state, &m.Prompt, &m.Read)
	m.Message = questionOf(seq, id)
	return m, err
}

// questionOf is a message of the History as a question.
func questionOf(seq int64, id string) convo.Message {
	q := convo.Message{Seq: seq, Edited: PlatformID(id) != id}
	if isWritten(id) {
		q.ReplyTo = PlatformID(id)
	}
	return q
}

// loadQuestions loads the questions of a turn, what was handed to its agent, and what is left of the turn that it goes on
// with.
func loadQuestions(ctx context.Context, q querier, key chat.Key, t *convo.Turn) error {
	messages := selectTurnMessages
	if t.Phase == convo.Queued {
		messages = selectWaitingMessages
	}
	list, err := queryAll(ctx, q, scanTurnMessage, messages, key.String(), t.ID)
	if err != nil {
		return err
	}
	for _, m := range list {
		switch {
		case m.state == recalled:
			t.Gone = append(t.Gone, m.Message)
		case m.state != "":
		case m.Prompt != "":
			t.Added = append(t.Added, m.Added)
		default:
			t.Asked = append(t.Asked, m.Message)
		}
	}
	if t.Continues == 0 {
		return nil
	}
	if list, err = queryAll(ctx, q, scanTurnMessage, selectTurnMessages, key.String(), t.Continues); err != nil {
		return err
	}
	for _, m := range list {
		switch m.state {
		case recalled:
			t.Earlier.Gone = true
		case "":
			t.Earlier.Left = append(t.Earlier.Left, m.Message)
		}
	}
	err = q.QueryRowContext(ctx, selectActed, t.Continues).Scan(&t.Earlier.Acted)
	if errors.Is(err, sql.ErrNoRows) { // deleted with the old History
		return nil
	}
	return err
}

const selectRequests = `SELECT id, needed_by, state FROM approvals INDEXED BY approvals_open
	WHERE chat_key = ?1 AND delivered = 0 ORDER BY id`

func scanRequest(scan scanner) (r convo.Request, err error) {
	var state string
	err = scan(&r.ID, &r.NeededBy, &state)
	r.Verdict = verdicts[state]
	return r, err
}

// verdicts are the states of approvals.
var verdicts = map[string]convo.Verdict{
	"waiting": convo.Waiting, "approved": convo.Allowed, "refused": convo.Denied, "expired": convo.Expired,
	"withdrawn": convo.Withdrawn,
}

// turnDifference stores the difference between two values of a chat.
type turnDifference struct {
	ctx     context.Context
	tx      *sql.Tx
	key     chat.Key
	was, is convo.Chat
	effects []convo.Effect
	now     time.Time
}

func (d turnDifference) exec(statement string, args ...any) error {
	_, err := d.tx.ExecContext(d.ctx, statement, args...)
	return err
}

func (d turnDifference) store() error {
	for _, t := range d.is.Turns {
		old := convo.Turn{}
		if i := slices.IndexFunc(d.was.Turns, func(o convo.Turn) bool { return o.ID == t.ID }); i >= 0 {
			old = d.was.Turns[i]
		}
		if reflect.DeepEqual(old, t) {
			continue
		}
		if err := d.storeTurn(old, t); err != nil {
			return err
		}
		if err := d.storeQuestions(old, t); err != nil {
			return err
		}
	}
	return d.storeRequests()
}

const (
	// what people are asked is stored beside it
	insertRequest = `INSERT INTO approvals (id, chat_key, turn_id, needed_by, tool, input, hash, project, askers, state,
		created_at, expires_at) VALUES (?1, ?2, ?3, ?3, '', '', '', '', '[]', 'waiting', ?4, 0)`
	setNeededBy = `UPDATE approvals SET needed_by = ?2 WHERE id = ?1`
	setState    = `UPDATE approvals SET state = ?2 WHERE id = ?1`
	endRequest  = `UPDATE approvals SET state = ?2, delivered = 1 WHERE id = ?1`
)

func (d turnDifference) storeRequests() error {
	stored := map[string]convo.Request{}
	for _, r := range d.was.Requests {
		stored[r.ID] = r
	}
	for _, r := range d.is.Requests {
		old, known := stored[r.ID]
		delete(stored, r.ID)
		var err error
		if !known {
			err = d.exec(insertRequest, r.ID, d.key.String(), r.NeededBy, millis(d.now))
		} else if r.NeededBy != old.NeededBy {
			err = d.exec(setNeededBy, r.ID, r.NeededBy)
		}
		if err == nil && known && r.Verdict != old.Verdict {
			err = d.exec(setState, r.ID, stateOfVerdict(r.Verdict))
		}
		if err != nil {
			return err
		}
	}
	for _, f := range d.effects {
		if c, ok := f.(convo.Counts); ok {
			if _, over := stored[c.Request.ID]; over {
				stored[c.Request.ID] = c.Request
			}
		}
	}
	for id, r := range stored {
		if err := d.exec(endRequest, id, stateOfVerdict(r.Verdict)); err != nil {
			return err
		}
	}
	return nil
}

func stateOfVerdict(v convo.Verdict) string {
	for state, is := range verdicts {
		if is == v {
			return state
		}
	}
	return "waiting"
}

const (
	insertTurn = `INSERT INTO turns (id, chat_key, epoch, state, failure, created_at, reply_to, continues, attempts, started_at,
		follows) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
	updateTurn = `UPDATE turns SET due_at = ?2, attempts = ?3, stopped = ?4, acted = ?5, continues = ?6, reply_to = ?7
		WHERE id = ?1`
	setPhase  = `UPDATE turns SET state = ?2, failure = ?3 WHERE id = ?1`
	beginTurn = `UPDATE turns SET started_at = ?2 WHERE id = ?1`
	// the prompt keeps its ID, since a session may know it by that
	resetTurn = `UPDATE turns SET session_id = '', ` + askedBefore + `, prompt_id = '', started_at = 0, ended_at = 0 WHERE id = ?1`
	overTurn  = `UPDATE turns SET ended_at = ?2, draft = '' WHERE id = ?1`
)

// storeTurn stores a turn without its questions.
func (d turnDifference) storeTurn(old, t convo.Turn) error {
	state, failure := stateOf(t.Phase)
	began := int64(0)
	if t.Phase == convo.Running && old.Phase != convo.Running {
		began = millis(d.now)
	}
	if t.ID >= d.was.Next {
		return d.exec(insertTurn, t.ID, d.key.String(), t.Epoch, state, failure, millis(t.Created), t.ReplyTo, t.Continues,
			t.Attempts, began, t.Follows)
	}
	err := d.exec(updateTurn, t.ID, millis(t.Due), t.Attempts, t.Stopped, t.Acted, t.Continues, t.ReplyTo)
	if err == nil && t.Phase != old.Phase { // not else: each index of what waits holds the state
		err = d.exec(setPhase, t.ID, state, failure)
	}
	switch {
	case err != nil || t.Phase == old.Phase:
		return err
	case began != 0 || t.Phase == convo.Background:
		return d.exec(beginTurn, t.ID, began)
	case old.Phase == convo.Background && t.Phase == convo.Queued: // it stays in the session of its agent
	case t.Phase == convo.Queued && old.Phase != convo.Late:
		return d.exec(resetTurn, t.ID)
	case t.Phase >= convo.Interrupted && !old.IsUndecided() || t.Phase == convo.Recalled:
		return d.exec(overTurn, t.ID, millis(d.now))
	}
	return nil
}

const (
	setMessageTurn = `UPDATE messages SET turn_id = ?3 WHERE chat_key = ?1 AND seq = ?2`
	recallMessage  = `UPDATE messages SET state = 'recalled' WHERE chat_key = ?1 AND seq = ?2`

	insertSteer = `INSERT INTO steers (turn_id, chat_key, seq, prompt_id) VALUES (?1, ?2, ?3, ?4)`
	readSteer   = `UPDATE steers SET is_read = 1 WHERE turn_id = ?1 AND seq = ?2`
	deleteSteer = `DELETE FROM steers WHERE turn_id = ?1 AND seq = ?2`
	// kept with the earlier prompts of the turn, so that a session that ends with it is recognized
	steerTurn = `UPDATE turns SET asked_before = asked_before || ?2 || ' ' WHERE id = ?1`
)

// storeQuestions stores which messages a turn asks, and what its agent has read of what it was handed.
func (d turnDifference) storeQuestions(old, t convo.Turn) error {
	key := d.key.String()
	bind := func(q convo.Message) error {
		if old.Holds(q.Seq) {
			return nil
		}
		return d.exec(setMessageTurn, key, q.Seq, t.ID)
	}
	for _, q := range t.Asked {
		if err := bind(q); err != nil {
			return err
		}
	}
	for _, a := range t.Added {
		i := slices.IndexFunc(old.Added, func(o convo.Added) bool { return o.Seq == a.Seq })
		err := bind(a.Message)
		if err == nil && i < 0 {
			err = errors.Join(d.exec(insertSteer, t.ID, key, a.Seq, a.Prompt), d.exec(steerTurn, t.ID, a.Prompt))
		}
		if err == nil && a.Read && (i < 0 || !old.Added[i].Read) {
			err = d.exec(readSteer, t.ID, a.Seq)
		}
		if err != nil {
			return err
		}
	}
	for _, a := range old.Added {
		if !slices.ContainsFunc(t.Added, func(o convo.Added) bool { return o.Seq == a.Seq }) {
			if err := d.exec(deleteSteer, t.ID, a.Seq); err != nil {
				return err
			}
		}
	}
	for _, q := range t.Gone {
		if !slices.Contains(old.Gone, q) {
			if err := d.exec(recallMessage, key, q.Seq); err != nil {
				return err
			}
		}
	}
	return nil
}
