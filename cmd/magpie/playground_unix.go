//go:build !windows

package main

import (
	"os"
	"os/exec"
	"syscall"
)

const canPlay = true

// lockFile locks a file until it is closed, or fails at once if another process holds the lock.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// closeOnExec keeps a descriptor from being inherited by child processes.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// leaveTerminal starts cmd where Ctrl-C does not reach it, and stops it with SIGTERM.
func leaveTerminal(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
