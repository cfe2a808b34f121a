// Package racetest tells tests whether the race detector watches them. It makes everything ten to twenty times slower
// and takes a multiple of the memory, so a test that states a bound, or that does much work in one goroutine, where
// there is nothing to detect, is left to the step of scripts/test that runs without it. Which bounds are tested does
// not belong here.
package racetest

import "testing"

// Skip skips a test that scripts/test runs without the race detector, and which it therefore must list.
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("scripts/test runs this without the race detector")
	}
}
