package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is the time since the machine was started, with the time for which it slept.
func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
