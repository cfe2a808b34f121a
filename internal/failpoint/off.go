//go:build !crashtest

// Package failpoint marks the steps between a message and its answer at which the crash test kills the program. In all
// other builds it does nothing.
//
// The crash test defines what must survive.
package failpoint

// At marks a step. Its name never changes: "part: what has just happened or is about to".
func At(string) {}

// Skips reports whether a check is left out.
func Skips(string) bool { return false }
