package db

import "strings"

// PressID is the message ID of a pressed button that asks a question. It is derived from the platform's event ID, so a
// repeated event is one message.
func PressID(event string) string { return pressPrefix + event }

// IsPressID reports whether the ID of a message in the History is that of a pressed button: the platform knows no
// message of this ID.
func IsPressID(id string) bool {
	return strings.HasPrefix(id, pressPrefix) || strings.HasPrefix(id, continuePrefix)
}

// The prefixes of pressed buttons' message IDs: of any question, and of one that continues a turn.
const (
	pressPrefix    = "press:"
	continuePrefix = "continue:"
)

// ForeignID is the message ID of a message to another program, made from an ID there. The platform knows no message of
// this ID, so nothing follows from it about which of its messages are known.
func ForeignID(program, id string) string { return foreignPrefix + program + ":" + id }

const foreignPrefix = "foreign:"

// written excludes pressed buttons, see [IsPressID]: nobody wrote them, and they cannot be replied to. It also excludes
// messages to other programs.
const written = ` AND message_id NOT LIKE '` + pressPrefix + `%' AND message_id NOT LIKE '` + continuePrefix + `%'` +
	` AND message_id NOT LIKE '` + foreignPrefix + `%'`

// isWritten says of a message ID what [written] says.
func isWritten(id string) bool { return !IsPressID(id) && !strings.HasPrefix(id, foreignPrefix) }
