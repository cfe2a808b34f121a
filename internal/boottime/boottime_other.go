//go:build !linux

// Package boottime is a clock that also runs while the machine sleeps, and that all programs of a machine share.
package boottime

import "time"

// Now is the time by the wall clock.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
