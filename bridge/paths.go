package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// placeOf is a path without symbolic links, as far as it exists.
func placeOf(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, ok := resolved(abs)
	if !ok {
		return "", fmt.Errorf("%s: this link leads nowhere, or may not be followed", path)
	}
	return real, nil
}

// realDir is a folder that is there, without symbolic links.
func realDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no folder")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", real)
	}
	return real, err
}

// holds reports whether a folder is another one, or above it.
func holds(dir, other string) bool {
	rel, err := filepath.Rel(dir, other)
	return err == nil && filepath.IsLocal(rel)
}

// What is not opened.
var (
	errChanged    = errors.New("it was changed meanwhile")
	errNotRegular = errors.New("it is no regular file")
)

// openDir opens a folder of a folder, unless that is a link, or refuse returns an error for it; nil refuses
// nothing.
func openDir(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.Root, error) {
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

// openRegular opens a file of a folder, unless that is a link or no regular file, or refuse returns an error for it; nil
// refuses nothing. It does not wait for a pipe's other end.
func openRegular(dir *os.Root, name string, refuse func(fs.FileInfo) error) (*os.File, error) {
	want, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, errNotRegular
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
		return errChanged
	}
	if refuse == nil {
		return nil
	}
	return refuse(got)
}
