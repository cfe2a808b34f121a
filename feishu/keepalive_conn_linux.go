package feishu

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unanswered is how long what was sent may stay without TCP's acknowledgement; probes are not sent meanwhile.
const unanswered = 30 * time.Second

func limitSilence(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unanswered.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
