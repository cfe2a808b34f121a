package sqlite

import (
	"errors"
	"fmt"
)

var (
	// ErrFull means that the disk is full. Nothing of the write was stored. Reads still work, and writes will as soon
	// as there is space.
	ErrFull = errors.New("no space left for the database: free some on its disk")

	// ErrNewerSchema means that a newer program has written the database.
	ErrNewerSchema = errors.New("the database was written by a newer magpie")

	// ErrOlderSchema means that this program has not served the database yet.
	ErrOlderSchema = errors.New(
		"the database was written by an older magpie: start this one's bridge, which brings it up to date",
	)
)

// CorruptError means that the database is damaged. No program can repair it; the operator has to act.
type CorruptError struct {
	Path string
	Err  error // the findings
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("database %s is corrupt: %v. Stop magpie, %s, and start magpie again",
		e.Path, e.Err, replace(e.Path, "the latest file made by `magpie backup`"))
}

func (e *CorruptError) Unwrap() error { return e.Err }

// replace describes how to replace a database by a copy. The old log must not be applied to the copy.
func replace(path, by string) string {
	return fmt.Sprintf("move %[1]s, %[1]s-wal and %[1]s-shm aside, copy %[2]s to %[1]s", path, by)
}

// LockedError means that another process, or another DB of this one, serves the database.
type LockedError struct {
	Path string
	PID  int // 0 = unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("database %s is in use by %s: stop that one first, or give this one a database of its own in [db] url", e.Path, who)
}

// Chinese is the error message in Chinese.
func (e *LockedError) Chinese() string {
	who := "另一个进程"
	if e.PID != 0 {
		who = fmt.Sprintf("进程 %d", e.PID)
	}
	return fmt.Sprintf("数据库 %s 正被%s使用：先停掉它，或在 [db] url 里给这里另外指定一个数据库", e.Path, who)
}

// explain converts errors that somebody has to act on to their types.
func explain(path string, err error) error {
	switch {
	case isFull(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case isDamage(err):
		return &CorruptError{Path: path, Err: err}
	}
	return err
}
