package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"magpie/db/dsn"
	"magpie/db/engine"
	"magpie/db/postgres"
	"magpie/db/sqlite"
	"magpie/internal/filelock"
	"magpie/internal/i18n"
)

// Copy copies everything that one database holds into another one, which is empty or does not exist, and compares them
// at the end. Nobody serves either of them meanwhile. If it is interrupted in any way, the same copy goes on where it was;
// until it is complete, [Open] refuses the other database. It returns how many rows there are. The first database is not
// changed.
func Copy(ctx context.Context, from, to Config) (rows int64, err error) {
	if placeOf(from.DSN()) == placeOf(to.DSN()) {
		return 0, i18n.Mistakef("两边是同一个数据库：%s", "both are the same database: %s", to.DSN())
	}
	source, release, err := openSource(ctx, from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(source.engine.Explain(err), source.Close(), release()) }()
	if err := checkTarget(ctx, to); err != nil {
		return 0, err
	}
	target, err := openTarget(ctx, to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	c := &copier{from: source, to: target, report: to.Progress}
	if c.report == nil {
		c.report = func(engine.Work, int64, int64) {}
	}
	if c.tables, err = tablesToCopy(ctx, source.read, target.store().read); err != nil {
		return 0, err
	}
	return c.run(ctx, placeOf(from.DSN()))
}

// placeOf names a database for a copy into another one.
func placeOf(at dsn.DSN) string {
	if path, err := filepath.Abs(sqlite.RealPath(at.File())); at.IsFile() && err == nil {
		return path
	}
	return at.String()
}

// openSource opens a database that has the schema of this program, and that nobody serves until release.
func openSource(ctx context.Context, c Config) (d *DB, release func() error, err error) {
	if d, err = openReadOnly(ctx, c, copyRun); err != nil {
		return nil, nil, err
	}
	var lock *filelock.Lock
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(), lock.Release())
		}
	}()
	if at := c.DSN(); at.IsFile() {
		lock, err = sqlite.Lock(sqlite.RealPath(at.File()))
	} else {
		lock, err = at.Lock()
	}
	for _, check := range []func(context.Context) error{d.checkComplete, d.CheckSchema, d.checkUnused, d.checkHandled} {
		if err == nil {
			err = check(ctx)
		}
	}
	return d, lock.Release, err
}

// copyRun names the connections of a copy among those of the programs that serve.
const copyRun = "copy"

// checkUnused returns an error if other programs are connected to PostgreSQL's database. A connection ends a moment after
// its program.
func (d *DB) checkUnused(ctx context.Context) error {
	server, ok := d.engine.(*postgres.DB)
	if !ok {
		return nil
	}
	var n int
	for range 30 {
		var err error
		if n, err = server.Others(ctx); err != nil || n == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return i18n.Mistakef("鹊桥正在使用 PostgreSQL 里的数据库 %[2]s（%[1]d 个连接）：先停掉所有使用它的鹊桥",
		"Magpie is using the PostgreSQL database %[2]s (%[1]d connections): stop every Magpie that uses it first", n, server.Name())
}

const countForwarded = `SELECT COUNT(*) FROM forwarded`

// checkHandled returns an error if something has arrived that no program has handled: only a program that serves it can.
func (d *DB) checkHandled(ctx context.Context) error {
	if _, ok := d.engine.(*postgres.DB); !ok {
		return nil
	}
	var n int
	err := d.read.QueryRowContext(ctx, countForwarded).Scan(&n)
	if err == nil && n > 0 {
		err = i18n.Mistakef("还有 %d 条到达的消息没有鹊桥处理：启动鹊桥，等它处理完，停掉以后再复制",
			"%d messages have arrived that no Magpie has handled: start it, wait until it has, and stop it before you copy", n)
	}
	return err
}

// checkTarget looks at a database before it is opened for writing, which would upgrade its schema.
func checkTarget(ctx context.Context, c Config) error {
	d, err := openReadOnly(ctx, c, copyRun)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, engine.ErrEmpty) {
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(d.CheckSchema(ctx), d.checkUnused(ctx), d.Close())
}

// The table copying exists in a database until a copy into it is complete. The row without a name says from where, and the
// others how far it is, by the keys of tables' rows.
const (
	hasCopying    = `SELECT COUNT(*) FROM sqlite_schema WHERE name = 'copying'`
	createCopying = `CREATE TABLE copying (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)`
	dropCopying   = `DROP TABLE copying`
	selectCopying = `SELECT value FROM copying WHERE name = ?1`
	setCopying    = `INSERT INTO copying (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	beginAgain    = `DELETE FROM copying WHERE name <> ''`
)

// checkComplete returns [engine.ErrUnfinishedCopy] if something is being copied into the database.
func (d *DB) checkComplete(ctx context.Context) error {
	var n int
	err := d.read.QueryRowContext(ctx, hasCopying).Scan(&n)
	if err == nil && n > 0 {
		err = engine.ErrUnfinishedCopy
	}
	return err
}

// copier copies.
type copier struct {
	from   *DB
	to     copyTarget
	tables []copiedTable
	chats  map[string]int64 // their numbers, by key
	report func(w engine.Work, done, total int64)

	done, total int64 // rows
}

func (c *copier) run(ctx context.Context, place string) (rows int64, err error) {
	if err := c.begin(ctx, place); err != nil {
		return 0, err
	}
	if c.chats, err = chatNumbers(ctx, c.from.read); err != nil {
		return 0, err
	}
	for _, t := range c.tables {
		rows, err := t.count(ctx, c.from.read)
		if err != nil {
			return 0, err
		}
		stored, err := t.count(ctx, c.to.store().read)
		if err != nil {
			return 0, err
		}
		c.total, c.done = c.total+rows, c.done+stored
	}
	for _, t := range c.tables {
		if err := c.copyTable(ctx, t); err != nil {
			return 0, fmt.Errorf("copy the table %s: %w", t.name, err)
		}
	}
	different, err := c.compare(ctx)
	if err != nil {
		return 0, err
	}
	if different != "" {
		return 0, errors.Join(i18n.Mistakef("两边的表 %s 不一样，可能复制开始后有鹊桥写过原来的数据库：再运行一次，会把全部再复制一遍",
			"the tables %s of both databases differ; a Magpie may have written to the first one since the copy began: run it again to copy everything once more",
			different), c.empty(ctx))
	}
	if err := c.from.checkUnused(ctx); err != nil { // somebody may have begun to serve it
		return 0, err
	}
	return c.total, c.finish(ctx)
}

// begin marks the database as the target of this copy.
func (c *copier) begin(ctx context.Context, place string) error {
	store := c.to.store()
	if errors.Is(store.checkComplete(ctx), engine.ErrUnfinishedCopy) {
		var before string
		err := store.read.QueryRowContext(ctx, selectCopying, "").Scan(&before)
		if err == nil && before != place {
			err = i18n.Mistakef("那里有一次没做完的复制，来自 %s，而不是 %s：换一个空的数据库，或者接着做完那一次",
				"an unfinished copy of %s is there, and not one of %s: name an empty database, or finish that one", before, place)
		}
		return err
	}
	for _, t := range c.tables {
		n, err := t.count(ctx, store.read)
		if err != nil {
			return err
		} else if n > 0 {
			return i18n.Mistakef("那里已经有数据（表 %s 有 %d 行）：换一个空的数据库", "data is there already (%[2]d rows in the table %[1]s): name an empty database",
				t.name, n)
		}
	}
	return c.to.fill(ctx, func(ctx context.Context, tx *sql.Tx, _ postgres.Insert) error {
		if _, err := tx.ExecContext(ctx, createCopying); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, setCopying, "", place); err != nil {
			return err
		}
		return c.to.prepare(ctx, tx)
	})
}

// copyTable copies the rows behind those that are copied already. The next rows are read while some are written.
func (c *copier) copyTable(ctx context.Context, t copiedTable) error {
	var after string
	err := c.to.store().read.QueryRowContext(ctx, selectCopying, t.name).Scan(&after)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	batches := make(chan copiedRows, 1)
	g.Go(func() error {
		defer close(batches)
		return t.read(ctx, c.from.read, after, func(b copiedRows) error {
			if t.name == "messages" {
				if err := c.to.findTerms(&b, c.chats); err != nil {
					return err
				}
			}
			select {
			case batches <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	g.Go(func() error {
		for b := range batches {
			if err := c.write(ctx, t, b); err != nil {
				return err
			}
			c.done += int64(len(b.rows))
			c.report(engine.Moving, c.done, c.total)
		}
		return nil
	})
	return g.Wait()
}

// write stores rows, and how far the copy is.
func (c *copier) write(ctx context.Context, t copiedTable, b copiedRows) error {
	return c.to.fill(ctx, func(ctx context.Context, tx *sql.Tx, insert postgres.Insert) error {
		if err := insert(t.name, t.names(), b.rows); err != nil {
			return err
		}
		if len(b.postings) > 0 {
			if err := insert("postings", []string{"chat", "term", "seq"}, b.postings); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, setCopying, t.name, b.last)
		return err
	})
}

// compare reads both databases. It returns the tables that differ.
func (c *copier) compare(ctx context.Context) (different string, err error) {
	done := int64(0)
	for _, t := range c.tables {
		var from, to checksum
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() (err error) {
			from, err = t.sum(ctx, c.from.read, func(int) {})
			return err
		})
		g.Go(func() (err error) {
			to, err = t.sum(ctx, c.to.store().read, func(rows int) {
				done += int64(rows)
				c.report(engine.Comparing, done, c.total)
			})
			return err
		})
		if err := g.Wait(); err != nil {
			return "", fmt.Errorf("compare the table %s: %w", t.name, err)
		}
		if from != to {
			if different != "" {
				different += ", "
			}
			different += t.name
		}
	}
	return different, nil
}

// empty has the copy begin anew.
func (c *copier) empty(ctx context.Context) error {
	return c.to.fill(ctx, func(ctx context.Context, tx *sql.Tx, _ postgres.Insert) error {
		for i := range c.tables {
			if _, err := tx.ExecContext(ctx, c.tables[len(c.tables)-1-i].deleting()); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, beginAgain); err != nil {
			return err
		}
		return c.to.prepare(ctx, tx)
	})
}

// finish completes the index, and has new rows get the numbers behind those of the first database.
func (c *copier) finish(ctx context.Context) error {
	given, err := numbersGiven(ctx, c.from.read)
	if err != nil {
		return err
	}
	if err := c.to.complete(ctx, c.report); err != nil {
		return err
	}
	return c.to.fill(ctx, func(ctx context.Context, tx *sql.Tx, _ postgres.Insert) error {
		if err := c.to.finish(ctx, tx, given); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, dropCopying)
		return err
	})
}
