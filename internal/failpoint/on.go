//go:build crashtest

// Package failpoint marks the steps between a message and its answer at which the crash test kills the program.
//
// What must survive a crash does not belong here: the crash test says that.
package failpoint

import (
	"os"
	"syscall"
)

// at is the step at which the program kills itself; empty = none.
var at = os.Getenv("MAGPIE_CRASH_AT")

// At marks a step. If it is the chosen one, the program is killed as by kill -9.
func At(step string) {
	if step == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
