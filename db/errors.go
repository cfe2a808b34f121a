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
