package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
