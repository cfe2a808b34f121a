//go:build race

package racetest

// Enabled reports whether the race detector is active.
const Enabled = true
