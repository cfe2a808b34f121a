package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"

	"magpie/internal/text"
)

// The statements are written once, in words that SQLite understands, too. What PostgreSQL does not is changed here, once
// for each statement: how parameters are numbered, hints about the plan, and the few words that have no common form.
var (
	// indexHint and plusHint choose an index: PostgreSQL has statistics for that. joinHint orders a join.
	indexHint = regexp.MustCompile(`\s(NOT )?INDEXED( BY \w+)?`)
	plusHint  = regexp.MustCompile(`([ (,])\+([a-z])`)
	joinHint  = regexp.MustCompile(`CROSS (JOIN \w+( \w+)? ON)`)
	parameter = regexp.MustCompile(`\?(\d+)`)
)

// translator puts statements into PostgreSQL's words.
type translator struct {
	words *strings.Replacer
	known sync.Map // of strings, by statement
}

func newTranslator(words map[string]string) *translator {
	var pairs []string
	for _, word := range slices.SortedFunc(maps.Keys(words), func(a, b string) int { return len(b) - len(a) }) {
		pairs = append(pairs, word, words[word]) // the longest first: a word may be a part of another
	}
	return &translator{words: strings.NewReplacer(pairs...)}
}

// translate returns nothing for a statement that PostgreSQL has no need of.
func (t *translator) translate(statement string) string {
	if known, ok := t.known.Load(statement); ok {
		return known.(string)
	}
	s := t.words.Replace(statement)
	s = indexHint.ReplaceAllString(s, "")
	s = plusHint.ReplaceAllString(s, "$1$2")
	s = joinHint.ReplaceAllString(s, "$1")
	s = parameter.ReplaceAllString(s, "$$$1")
	t.known.Store(statement, s)
	return s
}

// connector opens connections that translate their statements.
type connector struct {
	driver.Connector
	*translator
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{opened.(*stdlib.Conn), c.translator}, nil
}

// conn is a connection that translates its statements.
type conn struct {
	*stdlib.Conn
	translator *translator
}

func (c *conn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	s := c.translator.translate(statement)
	if s == "" {
		return driver.RowsAffected(0), nil
	}
	return c.Conn.ExecContext(ctx, s, args)
}

func (c *conn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.QueryContext(ctx, c.translator.translate(statement), args)
}

func (c *conn) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, c.translator.translate(statement))
}

// BeginTx has all reads of a read-only transaction see the same moment, as in SQLite.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		o.Isolation = driver.IsolationLevel(sql.LevelRepeatableRead)
	}
	return c.Conn.BeginTx(ctx, o)
}

// CheckNamedValue converts a value to what the columns hold: truths to 0 and 1, as in SQLite, and texts to those that
// PostgreSQL stores.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	if err != nil {
		return fmt.Errorf("parameter %d: %w", v.Ordinal, err)
	}
	switch value := value.(type) {
	case bool:
		n := int64(0)
		if value {
			n = 1
		}
		v.Value = n
	case string:
		v.Value = text.Mend(value)
	default:
		v.Value = value
	}
	return nil
}
