package growthtest

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the time that this thread has spent on a processor.
func now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}
