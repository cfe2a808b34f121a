package deliverytest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes a file and the folders above it. It returns the path.
func WriteFile(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Folders makes folders below a temporary one, whose path it returns.
func Folders(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	for _, name := range names {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Link makes a symbolic link.
func Link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
