//go:build !windows

package main

import (
	"os"
	"os/exec"
	"syscall"
)

const canPlay = true

// lockFile locks a file until it is closed, or fails at once when another process holds it.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// closeOnExec keeps a descriptor from the processes that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// leaveTerminal starts cmd where Ctrl-C does not reach it, and ends it by SIGTERM.
func leaveTerminal(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
