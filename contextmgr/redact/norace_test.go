//go:build !race

package redact

// largest is how long hostile texts get.
const largest = 1 << 20
