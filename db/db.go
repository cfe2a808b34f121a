// Package db stores what must survive a crash: chats, their History, and the turns that answer it.
//
// It makes no decisions: who may talk to the bot, when a turn runs, what a prompt contains. SQLite itself is in
// db/sqlite.
package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"magpie/db/cluster"
	"magpie/db/dsn"
	"magpie/db/engine"
	"magpie/db/postgres"
	"magpie/db/sqlite"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Config is the [db] section.
type Config struct {
	// sqlite:///absolute/path.db, sqlite://relative/path.db or postgres://user@host/database
	URL        string              `toml:"url" env:"URL"`
	HistoryTTL configtype.Duration `toml:"history_ttl" env:"HISTORY_TTL"` // how long messages are kept; 0 = forever
	// how long working data is kept, such as known events
	CacheTTL configtype.Duration `toml:"cache_ttl" env:"CACHE_TTL"`
	// Password is that of PostgreSQL's user if the URL has none; empty = it is in a password file. The caller sets it.
	Password string `toml:"-" env:"-"`
	// Data and Node are the folder of what belongs to this machine, whose lock the caller holds, and its name. With PostgreSQL
	// a bridge serves beside those of other names. The caller sets them; no Node = it serves no chats, and takes no place
	// among the bridges.
	Data string `toml:"-" env:"-"`
	Node string `toml:"-" env:"-"`
	// PlaceTTL is how long a bridge that is silent keeps its chats, see [cluster.Member]. Tests set it.
	PlaceTTL time.Duration `toml:"-" env:"-"`
	// Progress reports the progress of work that may take minutes, see [sqlite.Options]. The caller sets it; nil = no
	// reports.
	Progress func(w engine.Work, done, total int64) `toml:"-" env:"-"`
	// Verify has each change of a chat's turns fail whose rows do not give back what was decided. The tests set it.
	Verify bool `toml:"-" env:"-"`
}

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{URL: "sqlite://data/magpie.db", CacheTTL: configtype.Duration{Duration: 30 * 24 * time.Hour}}
}

// leastTTL is the minimum time for which everything is kept: the platform repeats an event for 7.1 hours (page "Event
// subscription overview"), and a forgotten event would count as new.
const leastTTL = 24 * time.Hour

// Validate reports all problems with c.
func (c Config) Validate() error {
	errs := []error{c.DSN().Check()}
	if d := c.HistoryTTL.Duration; d != 0 && d < leastTTL {
		errs = append(errs, i18n.Mistakef("[db] history_ttl %v：至少为 %v，或写 0 保留全部",
			"[db] history_ttl %v: must be %v or more, or 0 to keep everything", d, leastTTL))
	}
	if d := c.CacheTTL.Duration; d < leastTTL {
		errs = append(errs, i18n.Mistakef("[db] cache_ttl %v：至少为 %v",
			"[db] cache_ttl %v: must be %v or more", d, leastTTL))
	}
	return errors.Join(errs...)
}

// DSN is where the database is.
func (c Config) DSN() dsn.DSN {
	return dsn.DSN{URL: c.URL, Password: c.Password, Data: c.Data, Node: c.Node}
}

// DB is the store. Its methods are safe for concurrent use; each is one transaction.
type DB struct {
	engine.Upkeep

	engine  engine.Engine
	locking lockWords // of the engine
	read    *sql.DB
	now     func() time.Time
	verify  bool       // see [Config.Verify]
	chats   *chatCache // nil if read-only, or if others may write
	// the turns of chats; nil if read-only, or if others may write
	hotTurns *turnCache

	place *cluster.Place // among the bridges that serve the database; nil if it is the only one, or serves no chats

	terms    termIndex
	indexing *indexer // the index of SQLite; nil with another engine
}

//go:embed schema/*.sql schema/postgres/*.sql
var schema embed.FS

// optionsOf tells the engine about the tables of d.
func optionsOf(d *DB, c Config) sqlite.Options {
	migrations, err := fs.Sub(schema, "schema")
	if err != nil {
		panic(err) // the schema is part of the program
	}
	return sqlite.Options{
		Schema: migrations, Progress: c.Progress,
		Changed: func(table string, row int64) {
			switch table {
			case "chats":
				d.chats.markChanging(row)
			case "turns":
				d.hotTurns.turnChanged(row)
			}
		},
		Finished: func() {
			d.chats.publishGroup()
			d.indexing.groupFinished()
		},
		Unknown: func() { d.hotTurns.forgetAll() },
		Derived: isIndexDamage,
		Renew: func(ctx context.Context, file *sqlite.DB) error {
			d.use(file)
			return d.indexing.renew(ctx)
		},
	}
}

// use sets the engine of d.
func (d *DB) use(e engine.Engine) { d.Upkeep, d.engine, d.read = e, e, e.Readers() }

// Open opens the database for serving, and upgrades its schema. A file and its folder are created if necessary, the file is
// checked, and nobody else can open that for serving meanwhile; see [sqlite.LockedError], [sqlite.CorruptError],
// [engine.ErrNewerSchema] and [engine.ErrUnfinishedCopy].
func Open(ctx context.Context, c Config) (*DB, error) {
	run := uuid.NewString()
	d, err := open(ctx, c, run)
	if err != nil {
		return nil, err
	}
	err = d.checkComplete(ctx)
	if server, ok := d.engine.(*postgres.DB); ok && err == nil && c.Node != "" {
		err = d.join(ctx, server, c, run)
	}
	if err == nil { // before anything is stored: the index must be complete when the first search runs
		err = d.terms.build(ctx, c.Progress)
	}
	if err != nil {
		return nil, errors.Join(d.engine.Explain(err), d.Close())
	}
	if file, ok := d.engine.(*sqlite.DB); ok {
		if err := file.RecordOpenFiles(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.indexing.start()
	}
	return d, nil
}

// open opens the database for writing. With PostgreSQL run names the connections.
func open(ctx context.Context, c Config, run string) (*DB, error) {
	at := c.DSN()
	if err := at.Check(); err != nil {
		return nil, err
	}
	if !at.IsFile() {
		return openPostgres(ctx, c, run)
	}
	d := &DB{now: time.Now, verify: c.Verify, chats: newChatCache(hotChats), hotTurns: newTurnCache()}
	d.indexing = newIndexer(d)
	d.terms = d.indexing
	file, err := sqlite.Open(ctx, at.File(), optionsOf(d, c))
	if err != nil {
		return nil, err
	}
	d.use(file)
	return d, nil
}

func openPostgres(ctx context.Context, c Config, run string) (*DB, error) {
	at := c.DSN()
	to, err := at.Postgres()
	if err != nil {
		return nil, err
	}
	server, err := postgres.Open(ctx, to, postgresOptions(at, run))
	if err != nil {
		return nil, err
	}
	d := ofPostgres(server)
	d.verify = c.Verify
	return d, nil
}

// join takes the place of this bridge among those that serve the database.
func (d *DB) join(ctx context.Context, server *postgres.DB, c Config, run string) (err error) {
	m := cluster.Member{Name: c.Node, Session: run, TTL: c.PlaceTTL}
	if m.Instance, err = c.DSN().FolderID(); err == nil {
		d.place, err = cluster.Join(ctx, server, m)
	}
	return err
}

// ofPostgres returns the store in a database that others may write, too: nothing of it is kept in memory.
func ofPostgres(server *postgres.DB) *DB {
	d := &DB{now: time.Now, locking: locksOfPostgres}
	d.terms = postings{d}
	d.use(server)
	return d
}

func postgresOptions(at dsn.DSN, run string) postgres.Options {
	migrations, err := fs.Sub(schema, "schema/postgres")
	if err != nil {
		panic(err) // the schema is part of the program
	}
	return postgres.Options{Schema: migrations, Words: wordsOfPostgres, Run: run, Instance: at.Instance()}
}

// Place is the place of this bridge among those that serve the database; nil if it is the only one, or serves no chats.
func (d *DB) Place() *cluster.Place { return d.place }

// Bridges lists the bridges of a database, see [cluster.Bridges]; none with SQLite.
func (d *DB) Bridges(ctx context.Context) ([]cluster.Bridge, error) {
	if d.locking != locksOfPostgres {
		return nil, nil
	}
	return cluster.Bridges(ctx, d.read)
}

// Close closes the database after the running write.
func (d *DB) Close() error {
	d.terms.close()
	return errors.Join(d.place.Leave(), d.engine.Close())
}

// OpenReadOnly opens a database that another process may be serving, for backups and checks. It takes no lock, changes
// nothing, and every write through it fails. It accepts an older schema than that of [Open].
func OpenReadOnly(ctx context.Context, c Config) (*DB, error) {
	d, err := openReadOnly(ctx, c, "")
	if err != nil {
		return nil, err
	}
	if err := d.checkComplete(ctx); err != nil {
		return nil, errors.Join(d.engine.Explain(err), d.Close())
	}
	return d, nil
}

func openReadOnly(ctx context.Context, c Config, run string) (*DB, error) {
	at := c.DSN()
	if err := at.Check(); err != nil {
		return nil, err
	}
	if !at.IsFile() {
		to, err := at.Postgres()
		if err != nil {
			return nil, err
		}
		server, err := postgres.OpenReadOnly(ctx, to, postgresOptions(at, run))
		if err != nil {
			return nil, err
		}
		return ofPostgres(server), nil
	}
	d := &DB{now: time.Now}
	d.indexing = newIndexer(d)
	d.terms = d.indexing
	file, err := sqlite.OpenReadOnly(ctx, at.File(), optionsOf(d, c))
	if err != nil {
		return nil, err
	}
	d.use(file)
	return d, nil
}

// How times are stored.
var millis, fromMillis = engine.Millis, engine.FromMillis
