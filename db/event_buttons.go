package db

import "strings"

// PressID is the message id of a pressed button that asks a question. It follows from the id of the
// platform's event, so a repeated event is one message.
func PressID(event string) string { return pressPrefix + event }

// Pressed reports whether a message of the History is a pressed button: the platform knows no message of this id.
func Pressed(id string) bool {
	return strings.HasPrefix(id, pressPrefix) || strings.HasPrefix(id, continuePrefix)
}

// What the message ids of pressed buttons begin with: of any that asks for something, and of one that lets a turn go
// on.
const (
	pressPrefix    = "press:"
	continuePrefix = "continue:"
)

// ForeignID is the message id of what was said to another program, which has an id of its own for it, or to which one
// was given. The platform knows no message of this id, so nothing follows from it about which of its messages are
// known.
func ForeignID(program, id string) string { return foreignPrefix + program + ":" + id }

const foreignPrefix = "foreign:"

// written leaves the pressed buttons out, see [Pressed]: none of them can be answered, and none was written. What was
// said to another program is left out, too.
const written = ` AND message_id NOT LIKE '` + pressPrefix + `%' AND message_id NOT LIKE '` + continuePrefix + `%'` +
	` AND message_id NOT LIKE '` + foreignPrefix + `%'`
