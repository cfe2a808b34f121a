package db

import "errors"

var (
	// ErrNotFound says that no such row exists.
	ErrNotFound = errors.New("not found")

	// ErrUnreadable says that a row holds something that no program can have stored there. It stays as it is until its
	// operator has corrected it.
	ErrUnreadable = errors.New("a row of the database cannot be read: run magpie doctor")

	// ErrRepeated says that an event was taken already.
	ErrRepeated = errors.New("the event is known already")
)

// Permanent reports whether the same query would fail in the same way for ever: the row is gone, or cannot be read.
// Trying it again would never end.
func Permanent(err error) bool { return errors.Is(err, ErrUnreadable) || errors.Is(err, ErrNotFound) }
