//go:build unix

package workspace

// homeVariable names the user's home folder.
const homeVariable = "HOME"

// systemVariables are inherited, too: programs on this system do not work without them.
var systemVariables []string

// variableName is the canonical name of the variable.
func variableName(name string) string { return name }
