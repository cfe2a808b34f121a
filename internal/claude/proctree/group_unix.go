//go:build unix

package proctree

import (
	"os"
	"syscall"
)

// OwnGroup starts a process in a process group of its own.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func sendSignal(p *os.Process, s syscall.Signal) error { return p.Signal(s) }
