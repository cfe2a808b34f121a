package workspace

import "strings"

// homeVariable names the user's home folder.
const homeVariable = "USERPROFILE"

// systemVariables are inherited, too: programs on this system do not work without them.
var systemVariables = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"PROGRAMFILES(X86)", "TEMP", "TMP",
}

// variableName is the canonical name of the variable: in capitals, since names are not case-sensitive on this system.
func variableName(name string) string { return strings.ToUpper(name) }
