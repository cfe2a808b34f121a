package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

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
