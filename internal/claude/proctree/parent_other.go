//go:build !linux

package proctree

import "syscall"

// withParent needs Linux. On Windows processes end with this program in any case.
func withParent(*syscall.SysProcAttr) (in func(start func() error) error) {
	return func(start func() error) error { return start() }
}
