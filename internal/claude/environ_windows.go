package claude

import "strings"

// homeVariable names the user's home folder.
const homeVariable = "USERPROFILE"

// systemVariables are inherited, too: programs of this system do not work without them.
var systemVariables = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"PROGRAMFILES(X86)", "TEMP", "TMP",
}

// variableName is the name under which the variable is known: in capitals, since case does not matter here.
func variableName(name string) string { return strings.ToUpper(name) }
