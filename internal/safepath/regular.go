package safepath

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrTooLarge means that a file is larger than its reader accepts.
var ErrTooLarge = errors.New("it is too large")

// Open opens a file, unless it is a link or not a regular file. Links in the path of its folder are followed. It does
// not block on a pipe.
func Open(path string) (*os.File, error) {
	want, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !want.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	got, err := f.Stat()
	if err == nil {
		err = checkSame(want, got, nil)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a file of at most that many bytes. It follows links, but it does not block on a pipe, and a device
// without an end is not read.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotRegular
	case info.Size() > most:
		return nil, ErrTooLarge
	}
	return io.ReadAll(io.LimitReader(f, most)) // it may grow
}
