package safepath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWherePathsLead(t *testing.T) {
	dir, err := Real(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(in("folder"), 0o700), os.Symlink(in("folder"), in("link")), os.Symlink(in("none"), in("dangling")),
		os.Symlink(in("loop"), in("loop")), os.WriteFile(in("file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"folder": "folder", "link": "folder", "link/new/x": "folder/new/x", "new": "new", "dangling": "",
		"dangling/x": "", "loop": "",
	} {
		if want != "" {
			want = in(want)
		}
		if got, err := Resolve(in(path)); got != want || (err == nil) != (want != "") {
			t.Errorf("Resolve(%s) = %s, %v", path, got, err)
		}
	}
	for path, want := range map[string]bool{
		"folder": true, "link": true, "file": false, "new": false, "dangling": false,
	} {
		if _, err := Dir(in(path)); (err == nil) != want {
			t.Errorf("Dir(%s): %v", path, err)
		}
	}
	if _, err := Dir(""); err == nil {
		t.Error("an empty path was accepted")
	}
}
