//go:build unix

package deliverytest

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Picture is a small PNG.
func Picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// HostileProject makes a folder "project" with everything an agent might use to get at files that it must not send, and
// returns the parent folder. Forbidden files contain the word "canary". In "project", "data" and "magpie.toml" belong
// to the program. It changes the working directory to "project".
func HostileProject(t testing.TB) (base string) {
	t.Helper()
	base = t.TempDir()
	project := filepath.Join(base, "project")
	for _, name := range []string{
		"secret", "project-2/near", "project/magpie.toml", "project/data/magpie.db", "project/data/magpie.db-wal",
		"project/data/files/another/1-1-a.txt", "project/data/outgoing/copy",
	} {
		WriteFile(t, filepath.Join(base, name), []byte("canary"))
	}
	WriteFile(t, filepath.Join(project, "a.txt"), []byte("words"))
	WriteFile(t, filepath.Join(project, "sub", "f"), []byte("words"))
	for name, to := range map[string]string{
		"out": "../secret", "up": base, "again": "out", "environ": "/proc/self/environ", "fd": "/proc/self/fd/0",
		"zero": "/dev/zero", "loop": "loop", "d": "data",
	} {
		Link(t, to, filepath.Join(project, name))
	}
	err := errors.Join(
		os.Link(filepath.Join(project, "magpie.toml"), filepath.Join(project, "hard")),
		syscall.Mkfifo(filepath.Join(project, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(project) // a socket's name must be short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return base
}
