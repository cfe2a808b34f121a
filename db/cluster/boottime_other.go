//go:build !linux

package cluster

import "time"

// bootTime is the time by the wall clock, which also runs while the machine sleeps.
func bootTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
