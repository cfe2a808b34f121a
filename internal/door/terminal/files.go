package terminal

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"magpie/internal/chat"
	"magpie/internal/safepath"
)

// maxKept is how many bytes of files wait for their terminals; the oldest go first.
const maxKept = 1 << 30

// Upload implements [door.Attacher]: the file stays here until the terminal has fetched it.
func (d *Door) Upload(_ context.Context, _ chat.Ref, u chat.Upload) (name string, err error) {
	folder := d.files()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	d.makeRoom(int64(len(u.Data)))
	name = uuid.NewString() + "-" + cmp.Or(safepath.FileName(u.Name), "file")
	return name, os.WriteFile(filepath.Join(folder, name), u.Data, 0o600)
}

func (d *Door) files() string { return filepath.Join(d.folder, "files") }

// nameOf is a file's name for people.
func nameOf(key string) string { return key[min(len(key), len(uuid.Nil.String())+1):] }

// makeRoom deletes the oldest files until there is room for that many bytes.
func (d *Door) makeRoom(need int64) {
	entries, _ := os.ReadDir(d.files())
	var kept []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			kept = append(kept, info)
			need += info.Size()
		}
	}
	slices.SortFunc(kept, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if need <= maxKept {
			return
		}
		_ = os.Remove(filepath.Join(d.files(), info.Name()))
		need -= info.Size()
	}
}

// serveFile hands out a file. The terminal asks for its deletion once it has saved the file.
func (d *Door) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if safepath.FileName(name) != name || strings.HasPrefix(name, ".") {
		http.NotFound(w, r)
		return
	}
	path := filepath.Join(d.files(), name)
	if r.Method == http.MethodDelete {
		_ = os.Remove(path)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeFile(w, r, path)
}
