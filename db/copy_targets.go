package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"magpie/db/engine"
	"magpie/db/postgres"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/tokenize"
)

// copyTarget is the database into which a copy goes. Each engine has its way to store many rows, and its index.
type copyTarget interface {
	store() *DB
	// fill runs f in a transaction of this copy. insert adds rows to a table.
	fill(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, insert postgres.Insert) error) error
	// prepare comes before the first row.
	prepare(ctx context.Context, tx *sql.Tx) error
	// findTerms adds to messages what is stored of the index with them.
	findTerms(b *copiedRows, chats map[string]int64) error
	// complete and finish come behind the last row, with the last numbers that rows of tables have got.
	complete(ctx context.Context, report func(w engine.Work, done, total int64)) error
	finish(ctx context.Context, tx *sql.Tx, given map[string]int64) error
	close() error
}

func openTarget(ctx context.Context, c Config) (copyTarget, error) {
	d, err := open(ctx, c, copyRun)
	if err != nil {
		return nil, err
	}
	server, ok := d.engine.(*postgres.DB)
	if !ok {
		return copyToSQLite{d}, nil
	}
	bulk, err := server.OpenBulk(ctx)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return copyToPostgres{d, bulk}, nil
}

// i18nUnreadable says that a row holds what no program can have stored.
func i18nUnreadable(table, column string, err error) error {
	return i18n.Mistakef("表 %s 的 %s 列里有读不懂的内容（%v）：运行 magpie doctor 找到它，改正以后再复制",
		"the column %[2]s of the table %[1]s holds what cannot be read (%[3]v): find it with magpie doctor, and correct it before you copy",
		table, column, err)
}

// copyToSQLite copies into a file. Its index is made at the end.
type copyToSQLite struct{ db *DB }

func (c copyToSQLite) store() *DB { return c.db }

// moreCache holds the pages of the indexes of a million messages.
const moreCache = `PRAGMA cache_size = -131072`

func (c copyToSQLite) fill(
	ctx context.Context, f func(ctx context.Context, tx *sql.Tx, insert postgres.Insert) error,
) error {
	return c.db.namedTx(ctx, "copy", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, moreCache); err != nil {
			return err
		}
		return f(ctx, tx, func(table string, columns []string, rows [][]any) (err error) {
			marks := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
			insert, err := tx.PrepareContext(ctx,
				"INSERT INTO "+quote([]string{table})+" ("+quote(columns)+") VALUES ("+marks+")")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, insert.Close()) }()
			for _, row := range rows {
				if _, err := insert.ExecContext(ctx, row...); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (copyToSQLite) prepare(context.Context, *sql.Tx) error { return nil }

func (copyToSQLite) findTerms(*copiedRows, map[string]int64) error { return nil }

func (c copyToSQLite) complete(ctx context.Context, report func(w engine.Work, done, total int64)) error {
	if err := c.db.terms.build(ctx, report); err != nil {
		return err
	}
	return c.db.terms.merge(ctx)
}

const (
	forgetGiven = `DELETE FROM sqlite_sequence WHERE name = ?1 AND seq < ?2`
	setGiven    = `INSERT INTO sqlite_sequence (name, seq) SELECT name, ?2 FROM sqlite_schema WHERE name = ?1
		AND sql LIKE '%AUTOINCREMENT%' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)`
)

func (copyToSQLite) finish(ctx context.Context, tx *sql.Tx, given map[string]int64) error {
	for table, n := range given {
		if _, err := tx.ExecContext(ctx, forgetGiven, table, n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, setGiven, table, n); err != nil {
			return err
		}
	}
	return nil
}

func (c copyToSQLite) close() error { return c.db.Close() }

// copyToPostgres copies into PostgreSQL. The postings of messages are stored with them, as always, but their key is made at
// the end: to sort a million messages' postings once takes a fraction of the time.
type copyToPostgres struct {
	db   *DB
	bulk *postgres.Bulk
}

func (c copyToPostgres) store() *DB { return c.db }

func (c copyToPostgres) fill(
	ctx context.Context, f func(ctx context.Context, tx *sql.Tx, insert postgres.Insert) error,
) error {
	return c.bulk.Fill(ctx, f)
}

const (
	dropPostingsKey = `ALTER TABLE postings DROP CONSTRAINT IF EXISTS postings_pkey`
	makePostingsKey = `ALTER TABLE postings ADD PRIMARY KEY (chat, term, seq)`
	moreMemory      = `SET LOCAL maintenance_work_mem = '256MB'`
	allPostings     = `UPDATE indexed SET upto = ?1, version = ?2`
	analyze         = `ANALYZE`

	// A sequence is named after its table.
	selectSequences = `SELECT sequencename, regexp_replace(sequencename, '_(id_seq|numbers)$', '') FROM pg_sequences
		WHERE schemaname = current_schema() AND sequencename ~ '_(id_seq|numbers)$'`
	setSequence = `SELECT setval(to_regclass(quote_ident(?1)), GREATEST(?2::bigint, 1), ?2::bigint > 0)`
)

func (copyToPostgres) prepare(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, emptyPostings); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, dropPostingsKey)
	return err
}

func (c copyToPostgres) findTerms(b *copiedRows, chats map[string]int64) error {
	t := b.table
	key, seq, role, class := t.column("chat_key"), t.column("seq"), t.column("role"), t.column("class")
	content, sent, state := t.column("content"), t.column("sent_at"), t.column("state")
	for _, row := range b.rows {
		m := chat.Message{
			Role: chat.Role(row[role].(string)), Class: chat.Class(row[class].(string)), Text: row[content].(string),
			Time: fromMillis(row[sent].(int64)),
		}
		if row[state] != "" || !findable(m) {
			continue
		}
		for _, term := range indexTerms(m) {
			b.postings = append(b.postings, []any{chats[row[key].(string)], term, row[seq]})
		}
	}
	return nil
}

func (copyToPostgres) complete(context.Context, func(w engine.Work, done, total int64)) error {
	return nil
}

func (c copyToPostgres) finish(ctx context.Context, tx *sql.Tx, given map[string]int64) error {
	for _, s := range []struct {
		statement string
		args      []any
	}{
		{moreMemory, nil}, {makePostingsKey, nil}, {allPostings, []any{int64(allIndexed), tokenize.Version}}, {analyze, nil},
	} {
		if _, err := tx.ExecContext(ctx, s.statement, s.args...); err != nil {
			return fmt.Errorf("complete the index: %w", err)
		}
	}
	sequences := map[string]string{}
	_, err := queryAll(ctx, tx, func(scan scanner) (none struct{}, err error) {
		var sequence, table string
		err = scan(&sequence, &table)
		sequences[sequence] = table
		return none, err
	}, selectSequences)
	if err != nil {
		return err
	}
	for sequence, table := range sequences {
		column := "id"
		if table == "chats" {
			column = "no"
		}
		var last int64
		err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX("+column+"), 0) FROM "+quote([]string{table})).Scan(&last)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, setSequence, sequence, max(last, given[table])); err != nil {
			return err
		}
	}
	return nil
}

func (c copyToPostgres) close() error { return errors.Join(c.bulk.Close(), c.db.Close()) }
