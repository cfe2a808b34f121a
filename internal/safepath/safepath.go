// Package safepath says where paths really lead, opens files without following links, and makes names of files safe.
// Which files somebody may have does not belong here.
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Resolve is a path without symbolic links, as far as it exists.
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

// Dir is a folder that is there, without symbolic links.
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

// Contains reports whether a folder is another one, or above it.
func Contains(dir, other string) bool {
	_, ok := Rel(dir, other)
	return ok
}

// What is not opened.
var (
	// ErrChanged says that a link or another file has taken the place of what was seen there.
	ErrChanged = errors.New("it was changed meanwhile")
	// ErrNotRegular says that it is a folder, a pipe, a device or a link.
	ErrNotRegular = errors.New("it is no regular file")
)

// OpenDir opens a folder of a folder, unless that is a link, or refuse returns an error for it; nil refuses
// nothing.
func OpenDir(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.Root, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil {
		err = checked(want, got, refuse)
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// OpenRegular opens a file of a folder, unless that is a link or no regular file, or refuse returns an error for it; nil
// refuses nothing. It does not wait for a pipe's other end.
func OpenRegular(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.File, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	// Before it is opened: closing the file of the database would drop SQLite's locks.
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
		err = checked(want, got, refuse)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checked refuses what was opened when it is not what was seen there.
func checked(want, got fs.FileInfo, refuse func(fs.FileInfo) error) error {
	if !os.SameFile(want, got) {
		return ErrChanged
	}
	if refuse == nil {
		return nil
	}
	return refuse(got)
}

// Follow is a path without symbolic links, as far as it exists. A link that leads nowhere may lead anywhere.
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
