package account

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canRunAs reports whether this system can work on files as another user without starting a process of that user.
const canRunAs = true

// RunAs works on files with the account's rights, so that new files belong to it.
func (u *User) RunAs(work func() error) error {
	if u == nil || u.credential.Uid == uint32(os.Geteuid()) {
		return work()
	}
	done := make(chan error)
	go func() { done <- u.runOnThread(work) }()
	return <-done
}

// runOnThread runs work on a thread whose file system identity is the account's. The thread is locked and not unlocked,
// so it ends with the goroutine, and nothing else ever runs with that identity.
func (u *User) runOnThread(work func() error) error {
	runtime.LockOSThread()
	groups := append([]uint32{u.credential.Gid}, u.credential.Groups...)
	// The functions of package syscall would change all threads.
	_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	if e != 0 {
		return fmt.Errorf("act as user %s: %w", u.Name, e)
	}
	for call, id := range map[uintptr]uint32{unix.SYS_SETFSGID: u.credential.Gid, unix.SYS_SETFSUID: u.credential.Uid} {
		_, _, _ = unix.RawSyscall(call, uintptr(id), 0, 0) // returns the previous ID, and no error
		if now, _, _ := unix.RawSyscall(call, ^uintptr(0), 0, 0); uint32(now) != id {
			return errors.New("act as user " + u.Name + ": not allowed")
		}
	}
	return work()
}
