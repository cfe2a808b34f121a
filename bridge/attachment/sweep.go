package attachment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"magpie/db"
)

// Sweep deletes files older than ttl, and the remains of interrupted downloads. It returns their number.
func (c Config) Sweep(ctx context.Context, store *db.DB, ttl time.Duration) (files int, err error) {
	if c.Folder == "" {
		return 0, nil
	}
	before := time.Now().Add(-ttl)
	// The database first: a file without an entry only wastes space, but an entry without a file would mislead the
	// agent.
	if _, err := store.Messages().ExpireFiles(ctx, before); err != nil {
		return 0, err
	}
	files, err = c.sweep(before)
	if err != nil {
		err = fmt.Errorf("delete files that are past: %w", err)
	}
	return files, err
}

// sweep deletes files written before a time in the folders of chats. It does not follow links.
func (c Config) sweep(before time.Time) (deleted int, err error) {
	root, err := os.OpenRoot(c.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	var errs []error
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().Before(before) {
			if err = root.Remove(path); err == nil {
				deleted++
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a turn may be downloading right now
			errs = append(errs, err)
		}
		return nil
	})
	return deleted, errors.Join(append(errs, err)...)
}
