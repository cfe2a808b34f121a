package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What lies in a folder whose name is a pattern to some is found there.
func TestAFolderNameIsNoPattern(t *testing.T) {
	data := filepath.Join(t.TempDir(), "da[t]a (1) *")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := folder{path: filepath.Join(data, "agent")}
	write(filepath.Join(f.path, stateFile), "\x00")
	write(filepath.Join(f.path, "backups", stateFile+".backup.1"), `{"numStartups": 7}`)
	if repaired, err := f.repairState(); err != nil || !strings.Contains(repaired.Error(), "taken from") {
		t.Errorf("repaired: %v, %v", repaired, err)
	}
}
