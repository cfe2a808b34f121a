package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
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

// connector opens connections that translate their statements, unless the server is away.
type connector struct {
	driver.Connector
	*translator
	*breaker
	fence     *fence // nil = none
	pipelines bool   // for transactions of write statements, see [pipeline]
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	era := c.now()
	within := newCall(ctx, era, time.Hour) // each server of the configuration has its own time
	defer within.end()
	var opened driver.Conn
	err := c.try(within, func() (err error) {
		opened, err = c.Connector.Connect(within)
		return err
	})
	if err != nil {
		return nil, explainAccess(c.config, err)
	}
	if err := c.fence.check(ctx, opened.(*stdlib.Conn)); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &conn{opened.(*stdlib.Conn), c.translator, c.breaker, era, c.pipelines, nil}, nil
}

// conn is a connection that translates its statements. It ends when the server goes away.
type conn struct {
	*stdlib.Conn
	translator *translator
	breaker    *breaker
	era        context.Context //nolint:containedctx // it is that of the connection
	pipelines  bool
	// transaction is the write transaction that is under way; nil = none, or one whose statements are sent one by one
	transaction *pipeline
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return c.era.Err() == nil && !c.Conn.Conn().IsClosed() }

// ResetSession implements [driver.SessionResetter]: it refuses a connection that has broken since it was last used.
func (c *conn) ResetSession(ctx context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	within := newCall(ctx, c.era, greeting)
	defer within.end()
	err := c.Conn.ResetSession(within)
	if context.Cause(within) == errSilent { // otherwise the next connection tells more
		return c.breaker.try(within, func() error { return errSilent })
	}
	return err
}

func (c *conn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (res driver.Result, err error) {
	s := c.translator.translate(statement)
	if s == "" {
		return driver.RowsAffected(0), nil
	}
	if c.transaction != nil {
		return c.transaction.add(s, args...), nil
	}
	within := newCall(ctx, c.era, c.breaker.silence)
	defer within.end()
	err = c.breaker.try(within, func() (err error) {
		res, err = c.Conn.ExecContext(within, s, args)
		return err
	})
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.translator.translate(statement)
	if c.transaction != nil && len(c.transaction.queue) > 0 {
		return c.transaction.send(ctx, s, args...)
	}
	within := newCall(ctx, c.era, c.breaker.silence)
	var opened driver.Rows
	err := c.breaker.try(within, func() (err error) {
		opened, err = c.Conn.QueryContext(within, s, args)
		return err
	})
	if err != nil {
		within.end()
		return nil, err
	}
	return &rows{opened.(*stdlib.Rows), within, c.breaker.config}, nil
}

func (c *conn) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	if c.transaction != nil {
		return nil, errors.New("a statement is prepared by being used") // it would overtake what waits
	}
	return c.Conn.PrepareContext(ctx, c.translator.translate(statement))
}

// rows are the rows of a query, which is under way until they are closed.
type rows struct {
	*stdlib.Rows
	within *call
	config *pgx.ConnConfig
}

func (r *rows) Next(to []driver.Value) error {
	err := r.Rows.Next(to)
	if err != io.EOF && isAway(err) { // other than EOF itself, which is the end of the rows
		return away(r.config, err)
	}
	return err
}

func (r *rows) Close() error {
	defer r.within.end()
	return r.Rows.Close()
}

// BeginTx has all reads of a read-only transaction see the same moment, as in SQLite.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		o.Isolation = driver.IsolationLevel(sql.LevelRepeatableRead)
	} else if c.pipelines {
		c.transaction = &pipeline{conn: c, ctx: ctx, limit: min(beginning, c.breaker.silence)}
		c.transaction.add(begin)
		return c.transaction, nil
	}
	within := newCall(ctx, c.era, greeting)
	var begun driver.Tx
	err := c.breaker.try(within, func() (err error) {
		begun, err = c.Conn.BeginTx(within, o)
		return err
	})
	if err != nil {
		within.end()
		return nil, err
	}
	within.timer.Stop()
	return &transaction{begun, c.breaker, within}, nil
}

// transaction is a transaction that is under way. Its own call is its end.
type transaction struct {
	driver.Tx
	breaker *breaker
	within  *call
}

func (t *transaction) Commit() error   { return t.finish(t.breaker.silence, t.Tx.Commit) }
func (t *transaction) Rollback() error { return t.finish(greeting, t.Tx.Rollback) }

func (t *transaction) finish(within time.Duration, how func() error) error {
	defer t.within.end()
	t.within.timer.Reset(within)
	return t.breaker.try(t.within, how)
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
