// Package contextmgr decides what the agent is told for a turn: which session it resumes, which part of the chat's
// History comes with the question, and in what form.
package contextmgr

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Mode says which contexts a prompt carries.
type Mode string

// The modes.
const (
	Hybrid   Mode = "hybrid"   // the session and the history prefix, both
	Resume   Mode = "resume"   // the session only
	Database Mode = "database" // the prefix only
	Economy  Mode = "economy"  // the prefix only when there is no verified session; else what the session has not seen
)

// SessionMode says how long a session lives.
type SessionMode string

// The session modes.
const (
	Stable SessionMode = "stable" // one session per chat, until it is lost
	Fresh  SessionMode = "fresh"  // every message in a new session, with the prefix in every mode
)

// Config is the [context] section.
type Config struct {
	Mode            Mode        `toml:"mode" env:"MODE"`
	MinChars        int         `toml:"min_chars" env:"MIN_CHARS"` // runes
	MinUserMessages int         `toml:"min_user_messages" env:"MIN_USER_MESSAGES"`
	MaxTokens       int         `toml:"max_tokens" env:"MAX_TOKENS"`     // estimated
	RecallChars     int         `toml:"recall_chars" env:"RECALL_CHARS"` // runes of older messages that the question is about; 0 = none
	SessionMode     SessionMode `toml:"session_mode" env:"SESSION_MODE"`
	AutoChatContext int         `toml:"auto_chat_context" env:"AUTO_CHAT_CONTEXT"` // messages of a group that were not for the bot; 0 = none
	TimeZone        string      `toml:"time_zone" env:"TIME_ZONE"`                 // in which people name days, as in "Asia/Shanghai"; empty = this machine's
}

// Defaults is the configuration of a program that configures nothing.
func Defaults() Config {
	return Config{Mode: Hybrid, MinChars: 5000, MinUserMessages: 3, MaxTokens: 24000, RecallChars: 5000, SessionMode: Stable, AutoChatContext: 25}
}

// minTokens is the least budget in which a prefix makes sense.
const minTokens = 500

// mostOverheard is the most that auto_chat_context can be: the platform lists so many messages in one answer.
const mostOverheard = 50

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if !slices.Contains([]Mode{Hybrid, Resume, Database, Economy}, c.Mode) {
		errs = append(errs, fmt.Errorf("[context] mode %q: want hybrid, resume, database or economy", c.Mode))
	}
	if c.SessionMode != Stable && c.SessionMode != Fresh {
		errs = append(errs, fmt.Errorf("[context] session_mode %q: want stable or fresh", c.SessionMode))
	}
	if c.MinChars < 0 {
		errs = append(errs, errors.New("[context] min_chars: want 0 or more"))
	}
	if c.MinUserMessages < 0 {
		errs = append(errs, errors.New("[context] min_user_messages: want 0 or more"))
	}
	if c.RecallChars < 0 {
		errs = append(errs, errors.New("[context] recall_chars: want 0 or more"))
	}
	if c.MaxTokens < minTokens {
		errs = append(errs, fmt.Errorf("[context] max_tokens %d: want at least %d", c.MaxTokens, minTokens))
	}
	if c.AutoChatContext < 0 || c.AutoChatContext > mostOverheard {
		errs = append(errs, fmt.Errorf("[context] auto_chat_context %d: want 0 to %d", c.AutoChatContext, mostOverheard))
	}
	if _, err := time.LoadLocation(c.TimeZone); err != nil {
		errs = append(errs, fmt.Errorf("[context] time_zone %q: want a name such as Asia/Shanghai", c.TimeZone))
	}
	return errors.Join(errs...)
}

// zone is the time zone in which people name days.
func (c Config) zone() *time.Location {
	if c.TimeZone == "" {
		return time.Local
	}
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC // Validate has refused it
	}
	return zone
}

// recallBudget is how many runes are recalled, which leave most of the prefix to the recent part.
func (c Config) recallBudget() int { return min(c.RecallChars, c.MaxTokens/3) }

// Resumes reports whether a chat's session is used again.
func (c Config) Resumes() bool { return c.Mode != Database && c.SessionMode == Stable }

// Limits are the bounds of the history prefix.
func (c Config) Limits() Limits {
	return Limits{MinChars: c.MinChars, MinUserMessages: c.MinUserMessages, MaxTokens: c.MaxTokens}
}

// Zone is the time zone in which people name days.
func (m *Manager) Zone() *time.Location { return m.cfg.zone() }
