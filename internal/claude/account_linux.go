package claude

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canActAs says that this system knows a way to work on files as another user without a process of that user's.
const canActAs = true

// do works on files as the account: with its rights, and so that what is made is its own.
func (a *account) do(work func() error) error {
	if a == nil || a.credential.Uid == uint32(os.Geteuid()) {
		return work()
	}
	done := make(chan error)
	go func() { done <- a.doHere(work) }()
	return <-done
}

// doHere does work on a thread of its own, whose identity in the file system is the account's. The thread ends with the
// goroutine, since it stays locked: nothing of that identity is left.
func (a *account) doHere(work func() error) error {
	runtime.LockOSThread()
	groups := append([]uint32{a.credential.Gid}, a.credential.Groups...)
	// The functions of the package syscall would change all threads.
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
		return fmt.Errorf("act as user %s: %w", a.name, e)
	}
	for call, id := range map[uintptr]uint32{unix.SYS_SETFSGID: a.credential.Gid, unix.SYS_SETFSUID: a.credential.Uid} {
		_, _, _ = unix.RawSyscall(call, uintptr(id), 0, 0) // it returns what was before, and no error
		if now, _, _ := unix.RawSyscall(call, ^uintptr(0), 0, 0); uint32(now) != id {
			return errors.New("act as user " + a.name + ": not allowed")
		}
	}
	return work()
}
