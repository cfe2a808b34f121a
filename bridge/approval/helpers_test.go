package approval

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/internal/chat"
)

var asker = chat.Actor{ID: "ou_1", Name: "小明"}

// folders creates folders below a temporary one, whose path it returns.
func folders(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
}
