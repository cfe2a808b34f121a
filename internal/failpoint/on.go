//go:build crashtest

// Package failpoint marks the steps between a message and its answer at which the crash test kills the program.
//
// The crash test defines what must survive.
package failpoint

import (
	"os"
	"syscall"
)

// at is the step at which the program kills itself; empty = none.
var at = os.Getenv("MAGPIE_CRASH_AT")

// At marks a step. If it is the chosen one, the program is killed as with kill -9.
func At(step string) {
	if step == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

// skipped is the check that the program leaves out; empty = none.
var skipped = os.Getenv("MAGPIE_TEST_SKIP")

// Skips reports whether a check is the one that is left out, so that a test shows what happens without it.
func Skips(check string) bool { return check == skipped && check != "" }
