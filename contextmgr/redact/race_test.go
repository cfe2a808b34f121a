//go:build race

package redact

// largest is how long hostile texts get. The race detector makes everything twenty times slower.
const largest = 128 << 10
