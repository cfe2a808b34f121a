package safepath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRel(t *testing.T) {
	for _, tc := range []struct {
		dir, path, rel string
		ok             bool
	}{
		{"/a", "/a", ".", true}, {"/a", "/a/b/c", "b/c", true}, {"/a", "/ab", "", false}, {"/a/b", "/a", "", false},
		{"/a", "/a/../b", "", false}, {"/a", "/a/..b", "..b", true}, {"/", "/a", "a", true}, {"/a", "b", "", false},
	} {
		if rel, ok := Rel(tc.dir, tc.path); rel != filepath.FromSlash(tc.rel) || ok != tc.ok {
			t.Errorf("Rel(%q, %q) = %q, %v", tc.dir, tc.path, rel, ok)
		}
	}
}

func TestReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got, err := Real(link); got != dir || err != nil {
		t.Errorf("the link leads to %s, %v", got, err)
	}
	if _, err := Real(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing file has a path")
	}
}
