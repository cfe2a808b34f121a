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
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(in("file"), []byte("text"), 0o600), os.WriteFile(in("large"), []byte("texts"), 0o600),
		os.Symlink("file", in("link")), os.Symlink("/dev/zero", in("device")), os.Symlink("pipe", in("pipe-link")),
		syscall.Mkfifo(in("pipe"), 0o600), os.Mkdir(in("folder"), 0o700),
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
		f, err := Open(in(name))
		if !errors.Is(err, want.opened) {
			t.Errorf("%s opened: %v, want %v", name, err, want.opened)
		}
		if err == nil {
			_ = f.Close()
		}
		data, err := ReadFile(in(name), 4)
		if !errors.Is(err, want.read) || err == nil && string(data) != "text" {
			t.Errorf("%s read: %q, %v, want %v", name, data, err, want.read)
		}
	}
}
