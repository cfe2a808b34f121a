package feishu

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout is TCP_USER_TIMEOUT: how long sent data may stay unacknowledged. Keep-alive probes are not sent
// meanwhile.
const userTimeout = 30 * time.Second

func setUserTimeout(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
