// Package engine is what the engines under db have in common: the work that may take minutes, and the errors that people
// have to act on. It knows neither engine.
package engine

import (
	"context"
	"database/sql"

	"magpie/internal/i18n"
)

// Engine keeps tables. Only package db writes through it.
type Engine interface {
	Upkeep
	// Tx runs f in one write transaction and commits it unless f fails. ctx limits the wait for f to begin. f must not
	// begin a transaction itself: that would deadlock.
	Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error
	// Exec runs one statement in a transaction of its own, which a crash of the server may undo.
	Exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	// Readers are connections that see committed data. Every write through them fails.
	Readers() *sql.DB
	// Explain converts the errors of queries that somebody has to act on to errors that say so.
	Explain(err error) error
	Close() error
}

// Upkeep is what the program's operator needs of a database.
type Upkeep interface {
	// CheckHealth reports whether messages can be stored now.
	CheckHealth(ctx context.Context) error
	// Check looks for damage in everything that is stored, which may take minutes.
	Check(ctx context.Context) error
	// CheckSchema returns an error if the schema is an older one than the program's.
	CheckSchema(ctx context.Context) error
	// Backup writes a copy to a new file.
	Backup(ctx context.Context, path string) error
	// Guard watches the database until ctx is done, and saves what it can if it is lost. tell is called for each change:
	// with the loss, or nil when all is well again.
	Guard(ctx context.Context, tell func(error))
	// Instance identifies the database on this machine, and reveals nothing about it.
	Instance() (string, error)
}

// Work is work that may take minutes with a large database.
type Work string

// The kinds of work, and their units.
const (
	Copying   Work = "copy"    // bytes of the copy; it may become smaller than the original
	Upgrading Work = "upgrade" // steps of the schema
	Indexing  Work = "index"   // messages
	Moving    Work = "move"    // rows, to another database
	Comparing Work = "compare" // rows of two databases
)

var (
	// ErrFull means that the disk is full. Nothing of the write was stored. Reads still work, and writes will as soon
	// as there is space.
	ErrFull = i18n.Mistakef("数据库的磁盘已满：清理一些空间", "no space left for the database: free some on its disk")

	// ErrAway means that the database server does not answer. What was not stored can be stored when it is back; whether the
	// last write was stored is unknown.
	ErrAway = i18n.Mistakef("数据库服务器没有回应", "the database server does not answer")

	// ErrEmpty means that there is a file, but no start has set it up as a database yet.
	ErrEmpty = i18n.Mistakef("数据库是空的", "the database is empty")

	// ErrForeign means that another program keeps its data in the file.
	ErrForeign = i18n.Mistakef("这不是鹊桥的数据库，而是别的程序的", "this database belongs to another program, not to Magpie")

	// ErrNewerSchema means that a newer program has written the database.
	ErrNewerSchema = i18n.Mistakef("数据库由更新版本的鹊桥写成", "the database was written by a newer version of Magpie")

	// ErrOldestSchema means that the database is from before the first schema that this program can bring up to date.
	ErrOldestSchema = i18n.Mistakef("数据库由鹊桥发布之前的版本写成，无法升级",
		"the database was written before the first release of Magpie and cannot be upgraded")

	// ErrOlderSchema means that this program has not served the database yet.
	ErrOlderSchema = i18n.Mistakef("数据库由较早版本的鹊桥写成：先运行一次 magpie serve，它会升级数据库",
		"the database was written by an older version of Magpie: run magpie serve once to upgrade it")

	// ErrUnfinishedCopy means that not everything has been copied into the database yet.
	ErrUnfinishedCopy = i18n.Mistakef("往这个数据库的复制还没有完成：再运行一次同样的 magpie db copy，它会接着做完",
		"the copy into this database is not finished: run the same magpie db copy again, which goes on with it")
)
