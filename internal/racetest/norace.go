//go:build !race

package racetest

// Enabled tells that the race detector watches this process.
const Enabled = false
