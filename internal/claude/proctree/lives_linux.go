package proctree

import (
	"path/filepath"
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

// IsForeign reports whether a process has a variable with this path in its environment, and is neither a CLI that this program
// has started nor anything that such a CLI has.
func IsForeign(pid int, name, path string) bool {
	value, ok := environVariable(pid, name)
	_, ours := environVariable(pid, markName)
	return ok && !ours && filepath.Clean(value) == filepath.Clean(path)
}

// SignalStarted sends a signal to the process with that ID if that is when it was started.
func SignalStarted(pid int, started string, sig syscall.Signal) {
	if ticks, err := strconv.ParseUint(started, 10, 64); err == nil {
		signalAll([]Descendant{{identity: identity{pid, ticks}}}, sig)
	}
}
