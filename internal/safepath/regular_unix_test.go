//go:build unix

package safepath

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pathOf := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(pathOf("file"), []byte("text"), 0o600), os.WriteFile(pathOf("large"), []byte("texts"), 0o600),
		os.Symlink("file", pathOf("link")), os.Symlink("/dev/zero", pathOf("device")), os.Symlink("pipe", pathOf("pipe-link")),
		syscall.Mkfifo(pathOf("pipe"), 0o600), os.Mkdir(pathOf("folder"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct{ opened, read error }{
		"file": {}, "large": {nil, ErrTooLarge}, "link": {ErrNotRegular, nil}, "device": {ErrNotRegular, ErrNotRegular},
		"pipe": {ErrNotRegular, ErrNotRegular}, "pipe-link": {ErrNotRegular, ErrNotRegular},
		"folder": {ErrNotRegular, ErrNotRegular}, "none": {os.ErrNotExist, os.ErrNotExist},
	} {
		f, err := Open(pathOf(name))
		if !errors.Is(err, want.opened) {
			t.Errorf("%s opened: %v, want %v", name, err, want.opened)
		}
		if err == nil {
			_ = f.Close()
		}
		data, err := ReadFile(pathOf(name), 4)
		if !errors.Is(err, want.read) || err == nil && string(data) != "text" {
			t.Errorf("%s read: %q, %v, want %v", name, data, err, want.read)
		}
	}
}
