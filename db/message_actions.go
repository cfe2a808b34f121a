package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/internal/chat"
)

// Action is a tool call of an agent, or a decision about one. It is the content of messages in the History whose role
// is tool or system. It is for people who want to know later what happened; no prompt contains it. Its texts are
// redacted for the History and shortened.
type Action struct {
	Use      string `json:"use,omitempty"` // the agent's ID of the tool call, or the ID of the approval
	Tool     string `json:"tool"`
	Input    string `json:"input,omitempty"`  // JSON, possibly shortened
	Output   string `json:"output,omitempty"` // of a tool that has finished
	Ended    bool   `json:"ended,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
	Decision string `json:"decision,omitempty"` // empty = the agent did it, see Ended
	Rule     int64  `json:"rule,omitempty"`     // the rule of the chat that allowed it, or that "always" made
	Reason   string `json:"reason,omitempty"`   // the reason of the decision, or the answers
}

// RecordedAction is an action with its place in the History.
type RecordedAction struct {
	Action
	Key   chat.Key
	Turn  int64
	Epoch int64
	By    chat.Actor // who decided; an empty ID = nobody
	Time  time.Time

	Of Rule // the rule with the number Action.Rule, revoked or not; only in what was read
}

// id is the message ID of an action: an action recorded twice is one message.
func (r RecordedAction) id() string {
	kind := "tool"
	switch {
	case r.Decision != "":
		kind = "decision"
	case r.Ended:
		kind = "result"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s:%d:%s:%s", kind, r.Turn, r.Use, r.Decision), ":")
}

// message converts the action for the History.
func (r RecordedAction) message() (chat.Message, error) {
	var content bytes.Buffer
	out := json.NewEncoder(&content)
	out.SetEscapeHTML(false) // people read it
	if err := out.Encode(r.Action); err != nil {
		return chat.Message{}, fmt.Errorf("record the use of %s: %w", r.Tool, err)
	}
	role := chat.Tool
	if r.Decision != "" {
		role = chat.System
	}
	return chat.Message{
		Key: r.Key, Epoch: r.Epoch, Turn: r.Turn, ID: r.id(), Role: role, Class: chat.Command, Actor: r.By,
		Text: string(bytes.TrimSpace(content.Bytes())), Time: r.Time,
	}, nil
}

// RecordActions adds actions of turns to the History.
func (ms Messages) RecordActions(ctx context.Context, list []RecordedAction) error {
	keys := make([]chat.Key, len(list))
	for i, r := range list {
		keys[i] = r.Key
	}
	err := ms.db.chatsTx(ctx, keys, func(ctx context.Context, tx *sql.Tx) error { return ms.recordActions(ctx, tx, list) })
	if err != nil {
		return fmt.Errorf("record what an agent did: %w", err)
	}
	return nil
}

func (ms Messages) recordActions(ctx context.Context, tx *sql.Tx, list []RecordedAction) error {
	for _, r := range list {
		m, err := r.message()
		if err != nil {
			return err
		}
		known, err := isKnown(ctx, tx, &m)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if err := tx.QueryRowContext(ctx, nextAction, r.Key.String(), firstAction, firstSeq).Scan(&m.Seq); err != nil {
			return fmt.Errorf("number the use of %s: %w", r.Tool, err)
		}
		if err := ms.storeMessage(ctx, tx, &m); err != nil {
			return err
		}
	}
	return nil
}

// firstAction is before all messages: their seqs must be dense, since search treats messages with close seqs as
// neighbors.
const firstAction = -1 << 62

const nextAction = `SELECT COALESCE(MAX(seq), ?2) + 1 FROM messages WHERE chat_key = ?1 AND seq < ?3`

const selectDecided = `SELECT ` + messageColumns + `, chat_key FROM messages INDEXED BY messages_decided
	WHERE role = 'system' AND chat_key = ?3 AND sent_at >= ?1 AND sent_at < ?2 ORDER BY sent_at, seq`

const selectAllDecided = `SELECT ` + messageColumns + `, chat_key FROM messages INDEXED BY messages_decided
	WHERE role = 'system' AND sent_at >= ?1 AND sent_at < ?2 ORDER BY sent_at, chat_key, seq`

// Decisions lists the decisions about tool calls in a chat between two times, oldest first, with their rules. The zero
// key means all chats.
func (ms Messages) Decisions(ctx context.Context, key chat.Key, from, until time.Time) ([]RecordedAction, error) {
	query, args := selectDecided, []any{millis(from), millis(until), key.String()}
	if key == (chat.Key{}) {
		query, args = selectAllDecided, args[:2]
	}
	list, err := queryAll(ctx, ms.db.read, scanDecided, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list decisions: %w", err)
	}
	rules := map[chat.Key]map[int64]Rule{}
	for i, r := range list {
		if r.Rule == 0 {
			continue
		}
		if rules[r.Key] == nil {
			if rules[r.Key], err = ms.db.Access().everyRule(ctx, r.Key); err != nil {
				return nil, err
			}
		}
		list[i].Of = rules[r.Key][r.Rule]
	}
	return list, nil
}

func scanDecided(scan scanner) (RecordedAction, error) {
	var m chat.Message
	var key string
	var at int64
	err := scan(&m.Seq, &m.Epoch, &m.Turn, &m.ID, &m.Role, &m.Class, &m.Actor.ID, &m.Actor.Name, &m.Text, &at, &key)
	if err != nil {
		return RecordedAction{}, err
	}
	r := RecordedAction{Turn: m.Turn, Epoch: m.Epoch, By: m.Actor, Time: fromMillis(at)}
	if r.Key, err = chat.ParseKey(key); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(m.Text), &r.Action); err != nil || r.Decision == "" {
		return r, errors.Join(err, fmt.Errorf("message %s is no decision", m.ID))
	}
	return r, nil
}
