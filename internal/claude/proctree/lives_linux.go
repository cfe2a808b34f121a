package proctree

import (
	"strconv"
	"syscall"
)

// ShowsStart says that [Started] is known on this system, and NotesStart that the CLI notes it as well.
const (
	ShowsStart = true
	NotesStart = true
)

// Started is when a process was started, as the system says it: in ticks since boot, which the CLI notes as well. A later
// process with the same ID has another one. Empty = it has ended, or cannot be seen from here.
func Started(pid int) string {
	if s, ok := readStat(pid); ok && !s.zombie {
		return strconv.FormatUint(s.started, 10)
	}
	return ""
}

// SignalStarted sends a signal to the process with that ID if that is when it was started.
func SignalStarted(pid int, started string, sig syscall.Signal) {
	if ticks, err := strconv.ParseUint(started, 10, 64); err == nil {
		signalAll([]Descendant{{identity: identity{pid, ticks}}}, sig)
	}
}
