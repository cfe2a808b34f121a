package proctree

import (
	"runtime"
	"sync"
	"syscall"
)

// withParent has a process killed when its parent ends, and returns how it is started. The parent is the thread that has
// started it, not this program, so it is one that does not end; see PR_SET_PDEATHSIG(2const).
func withParent(attr *syscall.SysProcAttr) (in func(start func() error) error) {
	attr.Pdeathsig = syscall.SIGKILL
	return func(start func() error) error {
		done := make(chan error)
		parent() <- func() { done <- start() }
		return <-done
	}
}

// parent is a thread that does what it is sent, as long as this program runs.
var parent = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})
