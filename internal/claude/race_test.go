//go:build race

package claude_test

// raced tells that the race detector watches this process.
const raced = true
