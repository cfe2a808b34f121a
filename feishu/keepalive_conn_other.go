//go:build !linux

package feishu

import "syscall"

// setUserTimeout does nothing here: the read deadline ends a connection whose other end is gone.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
