package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// step is a schema upgrade. No tables yet = version 0.
type step struct{ from, to int64 }

// pendingUpgrade returns the upgrade to the program's schema, or [engine.ErrNewerSchema], or [engine.ErrEmpty] for
// readers, or [engine.ErrForeign] if there are other tables.
func (d *DB) pendingUpgrade(ctx context.Context) (s step, err error) {
	list, err := goose.NewProvider(goose.DialectPostgres, d.read, d.options.Schema)
	if err != nil {
		return s, fmt.Errorf("database schema: %w", err)
	}
	sources := list.ListSources()
	s.to = sources[len(sources)-1].Version
	if s.from, err = d.schemaVersion(ctx); err != nil {
		return s, err
	}
	if s.from > s.to {
		return s, i18n.Mistakef("%v：结构版本是 %d，当前的鹊桥最高支持 %d：请重新安装更新的版本，或恢复升级前的备份",
			"%v: it has schema version %d, and this version supports up to %d: install the newer version again, or restore a backup from before the upgrade",
			engine.ErrNewerSchema, s.from, s.to)
	}
	return s, nil
}

const (
	hasVersion = `SELECT COUNT(CASE WHEN tablename = 'goose_db_version' THEN 1 END), COUNT(CASE WHEN tablename = 'chats' THEN 1 END), COUNT(*)
		FROM pg_tables WHERE schemaname = current_schema()`
	selectVersion = `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`
)

// schemaVersion is 0 for a new database, which has no tables.
func (d *DB) schemaVersion(ctx context.Context) (v int64, err error) {
	var known, ours, tables int
	err = d.read.QueryRowContext(ctx, hasVersion).Scan(&known, &ours, &tables)
	if err == nil && known > 0 {
		err = d.read.QueryRowContext(ctx, selectVersion).Scan(&v)
	}
	if err != nil {
		return 0, fmt.Errorf("version of the database schema: %w", err)
	}
	// Others upgrade their schemas with goose, too. Before the first step its table is the only one.
	if v == 0 && tables > known || v > 0 && ours == 0 {
		return 0, i18n.Mistakef("%v：%s。在 [db] url 里换一个数据库", "%v: %s. Name another one in [db] url", engine.ErrForeign,
			d.config.Database)
	}
	return v, nil
}

// CheckSchema returns [engine.ErrOlderSchema] if the database has an older schema than this program, which could not read
// everything then.
func (d *DB) CheckSchema(ctx context.Context) error {
	s, err := d.pendingUpgrade(ctx)
	if err == nil && s.from != s.to {
		err = fmt.Errorf("%w: %s", engine.ErrOlderSchema, d.config.Database)
	}
	return err
}

// migrate upgrades the schema. Of several programs that start at once, one does it and the others wait.
func (d *DB) migrate(ctx context.Context) error {
	s, err := d.pendingUpgrade(ctx)
	if err != nil || s.from == s.to {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("lock for the upgrade: %w", err)
	}
	config := d.config.Copy() // an upgrade may take longer than a message
	for name := range limits {
		delete(config.RuntimeParams, name)
	}
	pool := sql.OpenDB(stdlib.GetConnector(*config)) // its statements are in PostgreSQL's words
	defer func() { err = errors.Join(err, pool.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, pool, d.options.Schema, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("database schema: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the database schema up to date: %w", err)
	}
	return nil
}
