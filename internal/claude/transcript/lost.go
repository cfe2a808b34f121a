package transcript

import "fmt"

// LostCause is why a session cannot be resumed.
type LostCause string

// The causes of a lost session.
const (
	LostMissing   LostCause = "transcript missing"
	LostEmpty     LostCause = "transcript empty"
	LostCorrupt   LostCause = "transcript unreadable"
	LostElsewhere LostCause = "transcript belongs to another project path"
	LostMachine   LostCause = "transcript lies on another machine"
	LostForeign   LostCause = "transcript holds another conversation"
	LostUnknown   LostCause = "unknown to the CLI"
	LostTooLong   LostCause = "too long for the model"
	LostRefused   LostCause = "refused by the model's API"
)

// LostError means that a session cannot be resumed; the conversation continues in another one.
type LostError struct {
	Session string
	Cause   LostCause
}

func (e *LostError) Error() string { return fmt.Sprintf("session %s: %s", e.Session, e.Cause) }
