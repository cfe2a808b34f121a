//go:build unix

package claude

// homeVariable names the user's home folder.
const homeVariable = "HOME"

// systemVariables are inherited, too: programs of this system do not work without them.
var systemVariables []string

// variableName is the name under which the variable is known.
func variableName(name string) string { return name }
