//go:build !race

package contextmgr

// raced tells that the race detector watches this process.
const raced = false
