//go:build !linux && !darwin

package proctree

import "syscall"

// ShowsStart says that [Started] is known on this system, and NotesStart that the CLI notes it as well.
const (
	ShowsStart = false
	NotesStart = false
)

// Started is when a process was started; here it is unknown.
func Started(int) string { return "" }

// IsForeign takes every process for one of somebody else: environments cannot be read here.
func IsForeign(int, string, string) bool { return true }

// SignalStarted does nothing, since nothing is known of processes here.
func SignalStarted(int, string, syscall.Signal) {}
