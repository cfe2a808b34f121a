package claude

import "testing"

// On Windows a command interpreter would carry out what stands in the title of a chat.
func TestABatchFileIsNoCLI(t *testing.T) {
	for _, c := range []struct {
		system, path string
		refused      bool
	}{
		{"windows", `C:\npm\claude.cmd`, true},
		{"windows", `C:\npm\CLAUDE.BAT`, true},
		{"windows", `C:\bin\claude.exe`, false},
		{"linux", "/usr/bin/claude.cmd", false},
	} {
		if err := refuseBatchFile(c.system, c.path); (err != nil) != c.refused {
			t.Errorf("%s on %s: %v", c.path, c.system, err)
		}
	}
}
