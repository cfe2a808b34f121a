//go:build !crashtest

// Package failpoint names the steps between a message and its answer at which the crash test kills the program. In
// every other build they cost nothing.
package failpoint

// At is a step. Its name stays the same for good: "part: what has just happened or is about to".
func At(string) {}
