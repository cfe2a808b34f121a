package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"
)

//go:embed schema/*.sql
var schema embed.FS

// step is the way that a database's schema has to go. No database yet = version 0.
type step struct{ from, to int64 }

// pending says which way the schema in files is away, or returns [ErrNewerSchema] when it is behind.
func pending(ctx context.Context, d *DB, files fs.FS) (step, error) {
	list, err := goose.NewProvider(goose.DialectSQLite3, d.read, files)
	if err != nil {
		return step{}, fmt.Errorf("database schema: %w", err)
	}
	sources := list.ListSources()
	s := step{to: sources[len(sources)-1].Version}
	s.from, err = schemaVersion(ctx, d)
	if err != nil {
		return step{}, err
	}
	if s.from > s.to {
		return step{}, fmt.Errorf("%w: %s has schema version %d, this one knows up to %d: install the newer one again, "+
			"or go back to before the upgrade: %s", ErrNewerSchema, d.path, s.from, s.to, replace(d.path, beforeUpgrade(d, s.to+1)))
	}
	return s, nil
}

// Current returns [ErrOlderSchema] when the schema is not that of this program: what is new in it cannot be read then.
func (d *DB) Current(ctx context.Context) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	s, err := pending(ctx, d, files)
	if err == nil && s.from != s.to {
		err = fmt.Errorf("%w: %s", ErrOlderSchema, d.path)
	}
	return err
}

const hasVersion = `SELECT COUNT(*) FROM sqlite_master WHERE name = 'goose_db_version'`

const selectVersion = `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`

func schemaVersion(ctx context.Context, d *DB) (v int64, err error) {
	var known int
	err = d.read.QueryRowContext(ctx, hasVersion).Scan(&known)
	if err == nil && known > 0 {
		err = d.read.QueryRowContext(ctx, selectVersion).Scan(&v)
	}
	if err != nil {
		return 0, fmt.Errorf("version of the database schema: %w", err)
	}
	return v, nil
}

// beforeUpgrade names the copy that is kept from before a migration.
func beforeUpgrade(d *DB, version int64) string { return fmt.Sprintf("%s.before-%d", d.path, version) }

// migrate brings the schema up to date. A database that holds something is copied first: the way back from a bad
// upgrade. There is one copy per version, the latest.
func migrate(ctx context.Context, d *DB, files fs.FS) error {
	s, err := pending(ctx, d, files)
	if err != nil || s.from == s.to {
		return err
	}
	if s.from > 0 {
		copied := beforeUpgrade(d, s.from+1)
		if err := os.Remove(copied); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy from before an earlier upgrade: %w", err)
		}
		if err := d.Backup(ctx, copied); err != nil {
			return fmt.Errorf("before the upgrade: %w", err)
		}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, d.write, files)
	if err != nil {
		return fmt.Errorf("database schema: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the database schema up to date: %w", err)
	}
	return nil
}
