package account

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

// Folders for the agents of another user belong to that user and are created with that user's rights.
func TestWorkAsAnotherUser(t *testing.T) {
	as, err := Find("nobody")
	if err != nil || os.Geteuid() != 0 || !canRunAs {
		t.Skip("needs root and Linux")
	}
	dir, err := os.MkdirTemp("", "magpie-act-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	secret, his := filepath.Join(dir, "secret"), filepath.Join(dir, "his")
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.WriteFile(secret, nil, 0o600), os.Mkdir(his, 0o700),
		os.Chown(his, int(as.credential.Uid), int(as.credential.Gid)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 50 { // on any thread
		if err := as.RunAs(func() error {
			return os.WriteFile(filepath.Join(his, uuid.NewString()), nil, 0o600)
		}); err != nil {
			t.Fatal(err)
		}
		if err := as.RunAs(func() error { _, err := os.ReadFile(secret); return err }); !errors.Is(err,
			fs.ErrPermission) {
			t.Fatalf("it can read files of other users: %v", err)
		}
		if _, err := os.ReadFile(secret); err != nil {
			t.Fatalf("the program itself has lost its rights: %v", err)
		}
	}
	files, err := os.ReadDir(his)
	if err != nil || len(files) != 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != as.credential.Uid || st.Gid != as.credential.Gid {
			t.Errorf("%s belongs to %+v", f.Name(), info.Sys())
		}
	}
}
