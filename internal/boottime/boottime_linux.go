// Package boottime is a clock that also runs while the machine sleeps, and that all programs of a machine share.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine was started.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
