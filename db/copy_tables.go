package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"magpie/internal/text"
)

// copiedTable is a table with the columns that it has in both databases. What only one of them has belongs to its engine.
type copiedTable struct {
	name    string
	columns []copiedColumn // by name
	keys    []string       // the primary key
}

type copiedColumn struct {
	name string
	kind columnKind
}

// columnKind is what a column holds, whatever its engine calls that.
type columnKind int

const (
	texts columnKind = iota + 1
	wholeNumbers
	realNumbers
	blobs
)

var columnKinds = map[string]columnKind{
	"TEXT": texts, "INTEGER": wholeNumbers, "BIGINT": wholeNumbers, "BOOLEAN": wholeNumbers,
	"DOUBLE PRECISION": realNumbers, "BLOB": blobs, "BYTEA": blobs,
}

const (
	// All tables but those of the index, which is made anew, and of the programs that serve the database.
	selectCopied = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'
		AND name NOT LIKE 'terms%' AND name NOT IN ('indexed', 'copying') ORDER BY name`
	selectColumns = `SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY name`
	selectGiven   = `SELECT name, seq FROM sqlite_sequence`

	selectChatNumbers = `SELECT key, no FROM chats`
)

// tablesToCopy lists the tables that both databases have, and those first to which others refer.
func tablesToCopy(ctx context.Context, from, to *sql.DB) (list []copiedTable, err error) {
	there, err := queryAll(ctx, to, scanText, selectCopied)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	names, err := queryAll(ctx, from, scanText, selectCopied)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			continue
		}
		t, err := readTable(ctx, from, name)
		if err != nil {
			return nil, err
		}
		other, err := readTable(ctx, to, name)
		if err != nil {
			return nil, err
		}
		t.columns = slices.DeleteFunc(t.columns, func(c copiedColumn) bool { return !slices.Contains(other.columns, c) })
		list = append(list, t)
	}
	order := []string{"messages", "chats"}
	slices.SortStableFunc(list, func(a, b copiedTable) int {
		return slices.Index(order, b.name) - slices.Index(order, a.name)
	})
	return list, nil
}

func readTable(ctx context.Context, db *sql.DB, name string) (copiedTable, error) {
	t := copiedTable{name: name}
	keys := map[int]string{}
	columns, err := queryAll(ctx, db, func(scan scanner) (c copiedColumn, err error) {
		var declared string
		var key int
		err = scan(&c.name, &declared, &key)
		c.kind = columnKinds[strings.ToUpper(declared)]
		if key > 0 {
			keys[key] = c.name
		}
		return c, err
	}, selectColumns, name)
	if err != nil {
		return t, fmt.Errorf("columns of the table %s: %w", name, err)
	}
	t.columns = columns
	for i := range len(keys) {
		t.keys = append(t.keys, keys[i+1])
	}
	if len(t.keys) == 0 {
		return t, fmt.Errorf("the table %s has no key", name)
	}
	return t, nil
}

// quote quotes names, some of which are words of SQL.
func quote(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

func (t copiedTable) names() (list []string) {
	for _, c := range t.columns {
		list = append(list, c.name)
	}
	return list
}

func (t copiedTable) column(name string) int {
	return slices.IndexFunc(t.columns, func(c copiedColumn) bool { return c.name == name })
}

func (t copiedTable) deleting() string { return "DELETE FROM " + quote([]string{t.name}) }

func (t copiedTable) count(ctx context.Context, db *sql.DB) (n int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+quote([]string{t.name})).Scan(&n)
	return n, err
}

// Rows are read and written in batches that fit into memory, and take much less time than a statement may take.
const (
	copiedAtOnce = 5000
	copiedBytes  = 8 << 20
)

// copiedRows are rows in the order of their keys.
type copiedRows struct {
	table    copiedTable
	rows     [][]any // of the kinds of the columns
	last     string  // the key of the last one, see [copiedTable.place]
	postings [][]any // chat, term and seq of what is found by the messages among them
}

// read calls f with the rows behind a place, batch by batch.
func (t copiedTable) read(ctx context.Context, db *sql.DB, after string, f func(copiedRows) error) error {
	for {
		b, err := t.readSome(ctx, db, after)
		if err != nil || len(b.rows) == 0 {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
		after = b.last
	}
}

func (t copiedTable) readSome(ctx context.Context, db *sql.DB, after string) (b copiedRows, err error) {
	key, err := keyAt(after)
	if err != nil {
		return b, err
	}
	behind := ""
	if len(key) > 0 {
		var marks []string
		for i := range key {
			marks = append(marks, "?"+strconv.Itoa(i+1))
		}
		behind = ` WHERE (` + quote(t.keys) + `) > (` + strings.Join(marks, ", ") + `)`
	}
	rows, err := db.QueryContext(ctx, `SELECT `+quote(t.names())+` FROM `+quote([]string{t.name})+behind+
		` ORDER BY `+quote(t.keys)+` LIMIT `+strconv.Itoa(copiedAtOnce), key...)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	b.table = t
	to := make([]any, len(t.columns))
	for bytes := 0; bytes < copiedBytes && rows.Next(); {
		row := make([]any, len(t.columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return b, err
		}
		last, err := t.place(row)
		if err != nil {
			return b, err
		}
		b.last = last
		for i, c := range t.columns {
			if row[i], err = c.value(row[i]); err != nil {
				return b, i18nUnreadable(t.name, c.name, err)
			}
			bytes += 16
			switch v := row[i].(type) {
			case string:
				bytes += len(v)
			case []byte:
				bytes += len(v)
			}
		}
		b.rows = append(b.rows, row)
	}
	return b, rows.Err()
}

// value returns what a column of this kind holds in both engines. SQLite takes anything in any column.
func (c copiedColumn) value(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if c.kind == wholeNumbers {
			return map[bool]int64{true: 1}[v], nil
		}
	case int64:
		switch c.kind {
		case wholeNumbers:
			return v, nil
		case realNumbers:
			return float64(v), nil
		}
	case float64:
		if c.kind == realNumbers {
			return v + 0, nil // there is one zero
		}
	case string:
		switch c.kind {
		case texts:
			return text.Mend(v), nil
		case blobs:
			return []byte(v), nil
		}
	case []byte:
		switch c.kind {
		case texts:
			return text.Mend(string(v)), nil
		case blobs:
			return append([]byte{}, v...), nil // nil would be NULL
		}
	}
	return nil, fmt.Errorf("%T", v)
}

// place names the key of a row as it is stored, which may be no text.
func (t copiedTable) place(row []any) (string, error) {
	var list []string
	for _, key := range t.keys {
		switch v := row[t.column(key)].(type) {
		case int64:
			list = append(list, strconv.FormatInt(v, 10))
		case string:
			list = append(list, "x"+hex.EncodeToString([]byte(v)))
		default:
			return "", i18nUnreadable(t.name, key, fmt.Errorf("%T", v))
		}
	}
	return strings.Join(list, " "), nil
}

// keyAt is the key that [copiedTable.place] names.
func keyAt(place string) (key []any, err error) {
	for s := range strings.FieldsSeq(place) {
		var v any
		if digits, ok := strings.CutPrefix(s, "x"); ok {
			var data []byte
			data, err = hex.DecodeString(digits)
			v = string(data)
		} else {
			v, err = strconv.ParseInt(s, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("key of a row: %w", err)
		}
		key = append(key, v)
	}
	return key, nil
}

// checksum is the same for the same rows in any order: mended keys may have another one.
type checksum struct {
	rows int64
	sum  [2]uint64
}

func (t copiedTable) sum(ctx context.Context, db *sql.DB, report func(rows int)) (s checksum, err error) {
	var data []byte
	err = t.read(ctx, db, "", func(b copiedRows) error {
		for _, row := range b.rows {
			data = appendRow(data[:0], row)
			hash := sha256.Sum256(data)
			s.rows++
			for i := range s.sum {
				s.sum[i] += binary.BigEndian.Uint64(hash[8*i:])
			}
		}
		report(len(b.rows))
		return nil
	})
	return s, err
}

// appendRow appends values so that different rows have different bytes.
func appendRow(data []byte, row []any) []byte {
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			data = append(data, 0)
		case int64:
			data = binary.BigEndian.AppendUint64(append(data, 1), uint64(v)) //nolint:gosec // its bits
		case float64:
			data = binary.BigEndian.AppendUint64(append(data, 2), math.Float64bits(v))
		case string:
			data = append(binary.AppendUvarint(append(data, 3), uint64(len(v))), v...)
		case []byte:
			data = append(binary.AppendUvarint(append(data, 4), uint64(len(v))), v...)
		}
	}
	return data
}

// chatNumbers are the numbers of the chats by key.
func chatNumbers(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	numbers := map[string]int64{}
	_, err := queryAll(ctx, db, func(scan scanner) (none struct{}, err error) {
		var key string
		var no int64
		err = scan(&key, &no)
		numbers[text.Mend(key)] = no
		return none, err
	}, selectChatNumbers)
	return numbers, err
}

// numbersGiven are the last numbers that rows of tables have got, which may be deleted, by table.
func numbersGiven(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	given := map[string]int64{}
	_, err := queryAll(ctx, db, func(scan scanner) (none struct{}, err error) {
		var table string
		var n int64
		err = scan(&table, &n)
		given[table] = n
		return none, err
	}, selectGiven)
	return given, err
}
