//go:build unix

package sqlite

import (
	"errors"
	"os"
)

// syncFolder makes a new name durable: fsync of a file does not store its directory entry.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
