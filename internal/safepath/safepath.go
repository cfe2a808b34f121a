// Package safepath resolves paths, opens files without following symbolic links, and makes file names safe. It does not
// decide who may read or write which files.
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Resolve resolves the symbolic links in the existing part of a path.
func Resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, ok := Follow(abs)
	if !ok {
		return "", fmt.Errorf("%s: this link leads nowhere, or may not be followed", path)
	}
	return real, nil
}

// Dir resolves the symbolic links in the path of an existing folder.
func Dir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no folder")
	}
	real, err := Real(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", real)
	}
	return real, err
}

// Contains reports whether a folder is another one or an ancestor of it.
func Contains(dir, other string) bool {
	_, ok := Rel(dir, other)
	return ok
}

// Reasons why a file is not opened.
var (
	// ErrChanged means that the file was replaced between the check and the opening.
	ErrChanged = errors.New("it was changed meanwhile")
	// ErrNotRegular means that it is a folder, a pipe, a device or a link.
	ErrNotRegular = errors.New("it is no regular file")
)

// OpenDir opens a subfolder, unless it is a link, or refuse returns an error for it; refuse may be nil.
func OpenDir(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.Root, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	// OpenRoot follows links, so the opened folder is compared with the one that was checked.
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil {
		err = checkSame(want, got, refuse)
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// OpenRegular opens a file of a folder, unless it is a link or not a regular file, or refuse returns an error for it;
// refuse may be nil. It does not block on a pipe.
func OpenRegular(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.File, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	// Checked before opening: closing the database's file would release SQLite's locks.
	if refuse != nil {
		if err := refuse(want); err != nil {
			return nil, err
		}
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	got, err := f.Stat()
	if err == nil {
		err = checkSame(want, got, refuse)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkSame returns an error if the opened file is not the one that was checked.
func checkSame(want, got fs.FileInfo, refuse func(fs.FileInfo) error) error {
	if !os.SameFile(want, got) {
		return ErrChanged
	}
	if refuse == nil {
		return nil
	}
	return refuse(got)
}

// Follow resolves the symbolic links in the existing part of a path. It returns false for a dangling link, whose target
// may be created anywhere.
func Follow(path string) (string, bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, true
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) || filepath.Dir(path) == path {
		return "", false
	}
	parent, ok := Follow(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), ok
}
