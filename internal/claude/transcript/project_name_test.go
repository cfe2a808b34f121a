package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// A transcript below a folder whose name is a pattern to some is found.
func TestAFolderNameOfTranscriptsIsNoPattern(t *testing.T) {
	tr, session := Files{root: filepath.Join(t.TempDir(), "da[t]a (1) *")}, uuid.NewString()
	moved := filepath.Join(tr.root, "-elsewhere", session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(moved), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(moved, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := tr.find(t.TempDir(), session); err != nil || path != moved {
		t.Errorf("found %q, %v", path, err)
	}
}
