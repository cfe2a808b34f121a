package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// schemaStep is a schema upgrade. No database yet = version 0.
type schemaStep struct{ from, to int64 }

// pendingUpgrade returns the upgrade to the schema in files, or [engine.ErrNewerSchema] if the database is newer, or
// [engine.ErrOldestSchema] if it is too old.
func pendingUpgrade(ctx context.Context, d *DB, files fs.FS) (schemaStep, error) {
	list, err := goose.NewProvider(goose.DialectSQLite3, d.read, files)
	if err != nil {
		return schemaStep{}, fmt.Errorf("database schema: %w", err)
	}
	sources := list.ListSources()
	s := schemaStep{to: sources[len(sources)-1].Version}
	s.from, err = schemaVersion(ctx, d)
	if err != nil {
		return schemaStep{}, err
	}
	if s.from > s.to {
		before := i18n.Mistakef(" %s ", "%s", beforeUpgrade(d, s.to+1))
		return schemaStep{}, i18n.Mistakef("%v：%s 的结构版本是 %d，当前的鹊桥最高支持 %d：请重新安装更新的版本，或恢复升级前的副本：%v",
			"%v: %s has schema version %d, and this version supports up to %d: install the newer version again, or restore the copy from before the upgrade: %v",
			engine.ErrNewerSchema, d.path, s.from, s.to, replaceAdvice(d.path, before))
	}
	if first := sources[0].Version; s.from > 0 && s.from < first {
		return schemaStep{}, i18n.Mistakef("%v：%s 的结构版本是 %d，至少要 %d：请换一个数据库文件，旧的可以用写它的那个版本导出",
			"%v: %s has schema version %d, at least %d is needed: use another file; the version that wrote this one can export it",
			engine.ErrOldestSchema, d.path, s.from, first)
	}
	return s, nil
}

// CheckSchema returns [engine.ErrOlderSchema] if the database has an older schema than this program, which could not read
// everything then.
func (d *DB) CheckSchema(ctx context.Context) error {
	s, err := pendingUpgrade(ctx, d, d.options.Schema)
	if err == nil && s.from != s.to {
		err = fmt.Errorf("%w: %s", engine.ErrOlderSchema, d.path)
	}
	return err
}

const hasVersion = `SELECT COUNT(CASE WHEN name = 'goose_db_version' THEN 1 END), COUNT(*) FROM sqlite_master`

const selectVersion = `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`

// schemaVersion is 0 for a new file, which has no version table yet, nor any other.
func schemaVersion(ctx context.Context, d *DB) (v int64, err error) {
	var known, tables int
	err = d.read.QueryRowContext(ctx, hasVersion).Scan(&known, &tables)
	switch {
	case err == nil && known > 0:
		err = d.read.QueryRowContext(ctx, selectVersion).Scan(&v)
	case err == nil && tables > 0:
		return 0, i18n.Mistakef("%v：%s", "%v: %s", engine.ErrForeign, d.path)
	}
	if err != nil {
		return 0, fmt.Errorf("version of the database schema: %w", err)
	}
	return v, nil
}

// beforeUpgrade is the path of the copy from before a migration.
func beforeUpgrade(d *DB, version int64) string {
	return fmt.Sprintf("%s.before-%d", d.path, version)
}

// migrate upgrades the schema. A database that is not empty is copied first, as a fallback for a failed upgrade. Only
// the latest copy per version is kept.
func migrate(ctx context.Context, d *DB, files fs.FS) error {
	s, err := pendingUpgrade(ctx, d, files)
	if err != nil || s.from == s.to {
		return err
	}
	if s.from > 0 {
		copied := beforeUpgrade(d, s.from+1)
		if err := os.Remove(copied); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy from before an earlier upgrade: %w", err)
		}
		if err := d.Backup(ctx, copied); err != nil {
			return fmt.Errorf("copy to %s before the upgrade: %w", copied, err)
		}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, d.write, files)
	if err != nil {
		return fmt.Errorf("database schema: %w", err)
	}
	for v := s.from; ; v++ {
		if s.from > 0 { // a new file is not upgraded
			d.report(engine.Upgrading, v-s.from, s.to-s.from)
		}
		if _, err := p.UpByOne(ctx); errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		} else if err != nil {
			return fmt.Errorf("bring the database schema up to date: %w", err)
		}
	}
}
