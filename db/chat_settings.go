package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"magpie/internal/chat"
)

// Settings are the settings of a chat. Zero values mean the configured ones.
type Settings struct {
	// project in which the agent works; empty = the configured one
	Project string `json:"project,omitempty"`
	Mode    string `json:"mode,omitempty"`   // permission mode; empty = the configured one
	Model   string `json:"model,omitempty"`  // empty = the configured one
	Effort  string `json:"effort,omitempty"` // empty = the configured one
	// language of the chat, "zh" or "en"; empty = as it writes itself
	Lang    string `json:"lang,omitempty"`
	Mention string `json:"mention,omitempty"` // mention rule of a group; empty = the configured one
	Notify  string `json:"notify,omitempty"`  // [NotifyOff], or empty
}

func parseSettings(stored string) (Settings, error) {
	var s Settings
	if err := json.Unmarshal([]byte(stored), &s); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// changeStored returns the stored settings with those of to that differ from those of from. Members that this version
// does not know are kept: a newer version has written them and will read them again.
func changeStored(stored string, from, to Settings) (string, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(stored), &all); err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	was, err := from.fields()
	if err != nil {
		return "", err
	}
	is, err := to.fields()
	if err != nil {
		return "", err
	}
	for name := range was {
		if _, set := is[name]; !set { // one that is cleared is none of the fields
			delete(all, name)
		}
	}
	for name, value := range is {
		if !bytes.Equal(was[name], value) {
			all[name] = value
		}
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// fields returns the non-empty settings by name.
func (s Settings) fields() (map[string]json.RawMessage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	set := map[string]json.RawMessage{}
	err = json.Unmarshal(data, &set)
	return set, err
}

const selectSettings = `SELECT settings FROM chats WHERE key = ?1`

const updateSettings = `UPDATE chats SET settings = ?2 WHERE key = ?1`

// Set changes the settings of a chat, or returns [ErrNotFound]. change may be called more than once.
func (cs Chats) Set(ctx context.Context, key chat.Key, change func(*Settings)) error {
	err := cs.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return changeSettings(ctx, tx, key, func(now Settings) (from, to Settings) {
			to = now
			change(&to)
			return now, to
		})
	})
	if err != nil {
		return fmt.Errorf("set up %v: %w", key, err)
	}
	return nil
}

// changeSettings stores what differs between two settings that how makes of the present ones.
func changeSettings(ctx context.Context, tx *sql.Tx, key chat.Key, how func(now Settings) (from, to Settings)) error {
	var stored string
	err := tx.QueryRowContext(ctx, selectSettings, key.String()).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	now, err := parseSettings(stored)
	if err != nil {
		return err
	}
	from, to := how(now)
	changed, err := changeStored(stored, from, to)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, updateSettings, key.String(), changed); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

const setChats = `SELECT settings FROM chats WHERE settings <> '{}' AND left_at <= joined_at`

// MentionRules lists the mention rules of the groups that have their own, except those that the bot has left.
func (cs Chats) MentionRules(ctx context.Context) (rules []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rules of groups: %w", err)
		}
	}()
	rows, err := cs.db.read.QueryContext(ctx, setChats)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var stored string
		if err := rows.Scan(&stored); err != nil {
			return nil, err
		}
		s, err := parseSettings(stored)
		if err != nil {
			continue // skipped, as in collect
		}
		if s.Mention != "" && !slices.Contains(rules, s.Mention) {
			rules = append(rules, s.Mention)
		}
	}
	return rules, rows.Err()
}
