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
	pathOf := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(pathOf("folder"), 0o700), os.Symlink(pathOf("folder"), pathOf("link")), os.Symlink(pathOf("none"), pathOf("dangling")),
		os.Symlink(pathOf("loop"), pathOf("loop")), os.WriteFile(pathOf("file"), nil, 0o600),
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
			want = pathOf(want)
		}
		if got, err := Resolve(pathOf(path)); got != want || (err == nil) != (want != "") {
			t.Errorf("Resolve(%s) = %s, %v", path, got, err)
		}
	}
	for path, want := range map[string]bool{
		"folder": true, "link": true, "file": false, "new": false, "dangling": false,
	} {
		if _, err := Dir(pathOf(path)); (err == nil) != want {
			t.Errorf("Dir(%s): %v", path, err)
		}
	}
	if _, err := Dir(""); err == nil {
		t.Error("an empty path was accepted")
	}
}
