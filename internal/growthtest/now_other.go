//go:build !linux

package growthtest

import "time"

var began = time.Now()

// now is the time that has passed: on a busy machine more than this thread has spent on a processor.
func now() time.Duration { return time.Since(began) }
