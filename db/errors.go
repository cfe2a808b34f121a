package db

import "errors"

var (
	// ErrNotFound means that the row does not exist.
	ErrNotFound = errors.New("not found")

	// ErrUnreadable means that a row has content that no program can have stored. The row stays until the operator
	// corrects it.
	ErrUnreadable = errors.New("a row of the database cannot be read: run magpie doctor")

	// ErrStopped means that somebody has stopped the turn meanwhile.
	ErrStopped = errors.New("the turn was stopped meanwhile")

	// errOver means that the conversation of the turn has ended meanwhile.
	errOver = errors.New("the conversation has ended meanwhile")

	// ErrRepeated means that the event was already handled.
	ErrRepeated = errors.New("the event is known already")
)

// Permanent reports whether repeating the query would always fail the same way: the row is gone, or cannot be read. A
// retry loop would never end.
func Permanent(err error) bool { return errors.Is(err, ErrUnreadable) || errors.Is(err, ErrNotFound) }
