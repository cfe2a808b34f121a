package proctree

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ShowsStart says that [Started] is known on this system, and NotesStart that the CLI notes it as well.
const (
	ShowsStart = true
	NotesStart = false
)

// Started is when a process was started, as the system says it. A later process with the same ID has another one. Empty =
// it has ended, or cannot be seen from here.
func Started(pid int) string {
	const zombie = 5 // SZOMB of sys/proc.h
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid || k.Proc.P_stat == zombie {
		return ""
	}
	return fmt.Sprintf("%d.%06d", k.Proc.P_starttime.Sec, k.Proc.P_starttime.Usec)
}

// IsForeign takes every process for one of somebody else: environments cannot be read here.
func IsForeign(int, string, string) bool { return true }

// SignalStarted sends a signal to the process with that ID if that is when it was started.
func SignalStarted(pid int, started string, sig syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil && started != "" && Started(pid) == started {
		_ = p.Signal(sig) // it may end between the check and the signal
	}
}
