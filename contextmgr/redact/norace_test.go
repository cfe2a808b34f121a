//go:build !race

package redact

// raced tells that the race detector watches this process.
const raced = false
