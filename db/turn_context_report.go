package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// ContextReport is what the agent was told in a turn beside the question, and why not more.
type ContextReport struct {
	Session Way `json:"session"`
	// why an earlier session was not gone on with; empty = it was, or there was none
	Lost       string `json:"lost,omitempty"`
	Incomplete bool   `json:"behind,omitempty"`   // the session did not hold all that it should
	Unsure     bool   `json:"unsure,omitempty"`   // the session could not be compared with the database
	Messages   int    `json:"messages,omitempty"` // of the History
	Unread     bool   `json:"unread,omitempty"`   // the History could not be read
}

// Way is how a turn came to its session.
type Way string

// The ways.
const (
	Live    Way = "live"    // a process that had served the chat before was still there
	Resumed Way = "resumed" // a new process went on with an earlier session
	Begun   Way = "begun"   // a new session
)

// store is the report as the turns table has it.
func (t *ContextReport) store() (string, error) {
	if t == nil {
		return "", nil
	}
	data, err := json.Marshal(t)
	return string(data), err
}

const lastContextReport = `SELECT told FROM turns WHERE chat_key = ?1 AND epoch = ?2 AND told <> '' ORDER BY id DESC LIMIT 1`

// LastReport is what the agent was told in the last turn of an epoch of which that is known, or [ErrNotFound].
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
