package chat

import (
	"slices"
	"time"
)

// MentionRule says which messages of a group are for the bot.
type MentionRule string

// The rules. A message that mentions only others is never for the bot.
const (
	MentionOnly     MentionRule = "mention"  // those that mention it
	MentionNone     MentionRule = "all"      // all messages
	MentionCommands MentionRule = "commands" // those that mention it, and commands
)

// IsValid reports whether r is one of the rules.
func (r MentionRule) IsValid() bool {
	return slices.Contains([]MentionRule{MentionOnly, MentionNone, MentionCommands}, r)
}

// Change is a change of the bot's membership in a chat.
type Change struct {
	Key    Key    // of the chat; its topics are affected, too
	Tenant string // see [Incoming]
	Kind   Kind
	Did    ChangeKind
	Actor  Actor  // who did it
	Title  string // of the chat, if the platform reports it
	Time   time.Time
}

// ChangeKind is the kind of a [Change].
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"     // to a group
	Removed   ChangeKind = "removed"   // from a group
	Dissolved ChangeKind = "dissolved" // the group itself
	Opened    ChangeKind = "opened"    // its user has opened the private chat, maybe not for the first time
)
