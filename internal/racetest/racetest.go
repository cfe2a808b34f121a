// Package racetest reports whether tests run under the race detector. It makes everything ten to twenty times slower
// and takes a multiple of the memory. So a test that checks a limit, or does much work in one goroutine, where there is
// nothing to detect, is left to the step of scripts/test that runs without it. Which limits are tested is up to the
// tests.
package racetest

import "testing"

// Skip skips a test that scripts/test runs without the race detector, and must therefore list.
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("scripts/test runs this without the race detector")
	}
}
