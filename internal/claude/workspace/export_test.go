package workspace

import "strings"

// OpenCommands is the number of commands that can do anything.
func OpenCommands() (n int) {
	for _, names := range openCommands {
		n += len(strings.Fields(names))
	}
	return n
}
