// Package contextmgr builds the context of a turn: which session the agent resumes, which part of the chat's History
// comes with the question, and in what form.
//
// It does not run the agent, store messages, or write texts for users.
package contextmgr

import (
	"errors"
	"slices"
	"time"

	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Mode is what a prompt contains.
type Mode string

// The modes.
const (
	Hybrid   Mode = "hybrid"   // the session and the history prefix, both
	Resume   Mode = "resume"   // the session only
	Database Mode = "database" // the prefix only
	Economy  Mode = "economy"  // the prefix if there is no verified session, otherwise only what the session lacks
)

// SessionMode is how long a session lives.
type SessionMode string

// The session modes.
const (
	Stable SessionMode = "stable" // one session per chat, until it is lost
	Fresh  SessionMode = "fresh"  // every message in a new session, always with the prefix
)

// Config is the [context] section.
type Config struct {
	Mode            Mode `toml:"mode" env:"MODE"`
	MinChars        int  `toml:"min_chars" env:"MIN_CHARS"` // runes
	MinUserMessages int  `toml:"min_user_messages" env:"MIN_USER_MESSAGES"`
	MaxTokens       int  `toml:"max_tokens" env:"MAX_TOKENS"` // estimated
	// runes of older messages that are related to the question; 0 = none
	RecallChars int         `toml:"recall_chars" env:"RECALL_CHARS"`
	SessionMode SessionMode `toml:"session_mode" env:"SESSION_MODE"`
	// messages of a group that were not addressed to the bot; 0 = none
	AutoChatContext int `toml:"auto_chat_context" env:"AUTO_CHAT_CONTEXT"`
	// the time zone of "today" and other days, as in "Asia/Shanghai"; empty = this machine's
	TimeZone string `toml:"time_zone" env:"TIME_ZONE"`

	// tokens that a session may hold; a smaller window of the model, if known, takes precedence
	Window int `toml:"window" env:"WINDOW"`
	// fraction of the window at which a session is replaced by a summary; 0 = never automatically
	CompactThreshold float64 `toml:"compact_threshold" env:"COMPACT_THRESHOLD"`
	// fraction of the window that bounds the input of a summary
	CompactHistory float64 `toml:"compact_history" env:"COMPACT_HISTORY"`
	// recent messages that are not summarized
	KeepRecent int `toml:"keep_recent" env:"KEEP_RECENT"`
	// a chat that was silent for longer starts a new session; 0 = never
	StaleAfter configtype.Duration `toml:"session_stale_after" env:"SESSION_STALE_AFTER"`
	Titles     bool                `toml:"titles" env:"TITLES"` // chats get titles
	// a separate section; the caller supplies it
	Memory MemoryConfig `toml:"-" env:"-"`
}

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{
		Mode: Hybrid, MinChars: 5000, MinUserMessages: 3, MaxTokens: 24000, RecallChars: 5000, SessionMode: Stable,
		AutoChatContext: 25,
		Window:          128_000, CompactThreshold: 0.8, CompactHistory: 0.7, KeepRecent: 5,
		StaleAfter: configtype.Duration{Duration: 48 * time.Hour}, Titles: true, Memory: MemoryDefaults(),
	}
}

// minTokens is the smallest budget with which a prefix is useful.
const minTokens = 500

// maxAutoContext is the maximum of auto_chat_context: the platform's page size for lists.
const maxAutoContext = 50

// minWindow is the smallest window, in tokens, with which a conversation is possible.
const minWindow = 4000

// errNegative rejects a number below zero.
func errNegative(key string) error {
	return i18n.Mistakef("%s：不能是负数", "%s: must be 0 or more", key)
}

// Validate reports all problems with c.
func (c Config) Validate() error {
	var errs []error
	if !slices.Contains([]Mode{Hybrid, Resume, Database, Economy}, c.Mode) {
		errs = append(errs, i18n.Mistakef("[context] mode %q：应为 hybrid、resume、database 或 economy",
			"[context] mode %q: must be hybrid, resume, database or economy", c.Mode))
	}
	if c.SessionMode != Stable && c.SessionMode != Fresh {
		errs = append(errs, i18n.Mistakef("[context] session_mode %q：应为 stable 或 fresh",
			"[context] session_mode %q: must be stable or fresh", c.SessionMode))
	}
	if c.MinChars < 0 {
		errs = append(errs, errNegative("[context] min_chars"))
	}
	if c.MinUserMessages < 0 {
		errs = append(errs, errNegative("[context] min_user_messages"))
	}
	if c.RecallChars < 0 {
		errs = append(errs, errNegative("[context] recall_chars"))
	}
	if c.MaxTokens < minTokens {
		errs = append(errs, i18n.Mistakef("[context] max_tokens %d：至少为 %d",
			"[context] max_tokens %d: must be at least %d", c.MaxTokens, minTokens))
	}
	if c.AutoChatContext < 0 || c.AutoChatContext > maxAutoContext {
		errs = append(errs, i18n.Mistakef("[context] auto_chat_context %d：应为 0 到 %d",
			"[context] auto_chat_context %d: must be from 0 to %d", c.AutoChatContext, maxAutoContext))
	}
	if c.Window < minWindow {
		errs = append(errs, i18n.Mistakef("[context] window %d：至少为 %d",
			"[context] window %d: must be at least %d", c.Window, minWindow))
	}
	if c.CompactThreshold < 0 || c.CompactThreshold > 1 {
		errs = append(errs, i18n.Mistakef("[context] compact_threshold %v：应为 0 到 1",
			"[context] compact_threshold %v: must be from 0 to 1", c.CompactThreshold))
	}
	if c.CompactHistory <= 0 || c.CompactHistory > 1 {
		errs = append(errs, i18n.Mistakef("[context] compact_history %v：应大于 0，最多为 1",
			"[context] compact_history %v: must be more than 0, and 1 at most", c.CompactHistory))
	}
	if c.KeepRecent < 0 {
		errs = append(errs, errNegative("[context] keep_recent"))
	}
	if c.StaleAfter.Duration < 0 {
		errs = append(errs, errNegative("[context] session_stale_after"))
	}
	if _, err := time.LoadLocation(c.TimeZone); err != nil {
		errs = append(errs, i18n.Mistakef("[context] time_zone %q：应为时区的名字，例如 Asia/Shanghai",
			"[context] time_zone %q: must be the name of a time zone, such as Asia/Shanghai", c.TimeZone))
	}
	return errors.Join(errs...)
}

// zone is the time zone of dates in questions and headings.
func (c Config) zone() *time.Location {
	if c.TimeZone == "" {
		return time.Local
	}
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC // Validate has rejected it
	}
	return zone
}

// retrievalBudget bounds the runes of retrieved messages, so that most of the prefix is left for the recent part.
func (c Config) retrievalBudget() int { return min(c.RecallChars, c.MaxTokens/3) }

// Resumes reports whether a chat's session is resumed.
func (c Config) Resumes() bool { return c.Mode != Database && c.SessionMode == Stable }

// Limits are the limits of the history prefix.
func (c Config) Limits() Limits {
	return Limits{MinChars: c.MinChars, MinUserMessages: c.MinUserMessages, MaxTokens: c.MaxTokens}
}

// Zone is the time zone of dates in questions and headings.
func (m *Manager) Zone() *time.Location { return m.cfg.zone() }
