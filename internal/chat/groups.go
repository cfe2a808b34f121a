package chat

import (
	"slices"
	"time"
)

// MentionRule says which messages of a group are for the bot.
type MentionRule string

// The rules for groups. A message that mentions only others is for the bot by no rule.
const (
	MentionOnly     MentionRule = "mention"  // those that mention it
	MentionNone     MentionRule = "all"      // all, whoever is mentioned or not
	MentionCommands MentionRule = "commands" // those that mention it, and commands
)

// Known reports whether r is one of the rules.
func (r MentionRule) Known() bool {
	return slices.Contains([]MentionRule{MentionOnly, MentionNone, MentionCommands}, r)
}

// Change is what happened to the bot's place in a chat.
type Change struct {
	Key   Key // of the chat; what happens to it happens to its topics
	Kind  Kind
	Did   Doing
	Actor Actor  // who did it
	Title string // of the chat, when the platform told
	Time  time.Time
}

// Doing names what was done.
type Doing string

// What can be done with the bot.
const (
	Added     Doing = "added"     // to a group
	Removed   Doing = "removed"   // from a group
	Dissolved Doing = "dissolved" // the group itself
	Opened    Doing = "opened"    // the private chat, by its user, perhaps not for the first time
)
