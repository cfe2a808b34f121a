//go:build !linux

package feishu

import "syscall"

// setUserTimeout does nothing on this system: the read deadline ends a connection whose peer is gone.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
