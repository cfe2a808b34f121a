// Package contextmgr decides what the agent is told for a turn: which session it resumes, which part of the chat's
// History comes with the question, and in what form.
package contextmgr

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/configtype"
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
	Mode            Mode `toml:"mode" env:"MODE"`
	MinChars        int  `toml:"min_chars" env:"MIN_CHARS"` // runes
	MinUserMessages int  `toml:"min_user_messages" env:"MIN_USER_MESSAGES"`
	MaxTokens       int  `toml:"max_tokens" env:"MAX_TOKENS"` // estimated
	// runes of older messages that the question is about; 0 = none
	RecallChars int         `toml:"recall_chars" env:"RECALL_CHARS"`
	SessionMode SessionMode `toml:"session_mode" env:"SESSION_MODE"`
	// messages of a group that were not for the bot; 0 = none
	AutoChatContext int `toml:"auto_chat_context" env:"AUTO_CHAT_CONTEXT"`
	// in which people name days, as in "Asia/Shanghai"; empty = this machine's
	TimeZone string `toml:"time_zone" env:"TIME_ZONE"`

	// tokens that a session may hold; a model's own window, where it is known and smaller, counts
	Window int `toml:"window" env:"WINDOW"`
	// part of the window from which on a session is replaced by a summary; 0 = never by itself
	CompactThreshold float64 `toml:"compact_threshold" env:"COMPACT_THRESHOLD"`
	// part of the window that a summary is made of at most
	CompactHistory float64 `toml:"compact_history" env:"COMPACT_HISTORY"`
	// messages that stay out of a summary
	KeepRecent int `toml:"keep_recent" env:"KEEP_RECENT"`
	// a chat that was silent for longer begins anew; 0 = never
	StaleAfter configtype.Duration `toml:"session_stale_after" env:"SESSION_STALE_AFTER"`
	Titles     bool                `toml:"titles" env:"TITLES"` // chats get titles
	// a section of its own; the caller supplies it
	Memory MemoryConfig `toml:"-" env:"-"`
}

// Defaults is the configuration of a program that configures nothing.
func Defaults() Config {
	return Config{
		Mode: Hybrid, MinChars: 5000, MinUserMessages: 3, MaxTokens: 24000, RecallChars: 5000, SessionMode: Stable,
		AutoChatContext: 25,
		Window:          128_000, CompactThreshold: 0.8, CompactHistory: 0.7, KeepRecent: 5,
		StaleAfter: configtype.Duration{Duration: 48 * time.Hour}, Titles: true, Memory: MemoryDefaults(),
	}
}

// minTokens is the least budget in which a prefix makes sense.
const minTokens = 500

// mostOverheard is the most that auto_chat_context can be: the platform lists so many messages in one answer.
const mostOverheard = 50

// minWindow is the least window in which a conversation makes sense, in tokens.
const minWindow = 4000

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
	if c.Window < minWindow {
		errs = append(errs, fmt.Errorf("[context] window %d: want at least %d", c.Window, minWindow))
	}
	if c.CompactThreshold < 0 || c.CompactThreshold > 1 {
		errs = append(errs, fmt.Errorf("[context] compact_threshold %v: want 0 to 1", c.CompactThreshold))
	}
	if c.CompactHistory <= 0 || c.CompactHistory > 1 {
		errs = append(errs, fmt.Errorf("[context] compact_history %v: want more than 0, 1 at most", c.CompactHistory))
	}
	if c.KeepRecent < 0 {
		errs = append(errs, errors.New("[context] keep_recent: want 0 or more"))
	}
	if c.StaleAfter.Duration < 0 {
		errs = append(errs, errors.New("[context] session_stale_after: want 0 or more"))
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
