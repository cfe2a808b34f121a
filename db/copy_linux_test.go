package db_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/pgtest"
	"magpie/internal/text"
)

// copyServer starts a server whose databases are made by newDatabase.
func copyServer(t testing.TB) (newDatabase func(name string) (url string)) {
	t.Helper()
	server := pgtest.Start(t, pgtest.Config{})
	return func(name string) string {
		t.Helper()
		sideExec(t, sideOf(t, server.URL("postgres")), `CREATE DATABASE `+name)
		return server.URL(name)
	}
}

// sideOf opens a connection beside those of the program, by the URL of a database.
func sideOf(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver, source := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		driver, source = "sqlite3", "file:"+path+"?_busy_timeout=5000"
	}
	side, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := side.Close(); err != nil {
			t.Error(err)
		}
	})
	return side
}

func sideExec(t testing.TB, side *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := side.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// newFile is the URL of a new database file with the current schema.
func newFile(t testing.TB) string {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return url
}

func mustCopy(t testing.TB, from, to string) int64 {
	t.Helper()
	n, err := db.Copy(t.Context(), db.Config{URL: from}, db.Config{URL: to})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// exported is the History as magpie history export writes it.
func exportOf(t testing.TB, url string) []byte {
	t.Helper()
	d, err := db.OpenReadOnly(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // only read
	var out bytes.Buffer
	for r, err := range d.Messages().Export(t.Context(), chat.Key{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&out).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// content lists what is stored, table by table and row by row in any order, as package db has it in PostgreSQL.
func content(t testing.TB, url string, tables map[string][]string) map[string][]string {
	t.Helper()
	side, all := sideOf(t, url), map[string][]string{}
	for table, columns := range tables {
		rows, err := side.QueryContext(t.Context(), `SELECT "`+strings.Join(columns, `", "`)+`" FROM "`+table+`"`)
		if err != nil {
			t.Fatal(err)
		}
		all[table] = []string{}
		for rows.Next() {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range to {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				switch v := v.(type) {
				case string:
					values[i] = "text " + text.Mend(v)
				case []byte:
					values[i] = fmt.Sprintf("bytes %x", v)
				case bool:
					values[i] = map[bool]int64{true: 1}[v]
				}
			}
			all[table] = append(all[table], fmt.Sprintf("%#v", values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all[table])
	}
	return all
}

// fileTables are the tables of a database file with their columns, and the statements that have made them.
func fileTables(t testing.TB, url string) (tables map[string][]string, made map[string]string) {
	t.Helper()
	side := sideOf(t, url)
	tables, made = map[string][]string{}, map[string]string{}
	rows, err := side.QueryContext(t.Context(), `SELECT s.name, s.sql, c.name FROM sqlite_schema s, pragma_table_info(s.name) c
		WHERE s.type = 'table' ORDER BY c.cid`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var table, statement, column string
		if err := rows.Scan(&table, &statement, &column); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(table, "sqlite_") && !strings.HasPrefix(table, "goose_") && !strings.HasPrefix(table, "terms") &&
			table != "indexed" {
			tables[table], made[table] = append(tables[table], column), statement
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return tables, made
}

// oddTexts are what texts may end in; the last ones are in old files only.
var oddTexts = []string{"", "plain", "你好，世界", "👩‍👩‍👧‍👦🎉", "two\nlines\r\n\ttab", `back\slash \N \. "quoted" 'single'`, "\u2028\ufeff",
	strings.Repeat("长", 30000), "NUL \x00 within", "no UTF-8 \xff\xfe", "\xed\xa0\x80"}

var (
	choices  = regexp.MustCompile(`(\w+)\s+TEXT[^\n]*CHECK \(\w+ IN \(([^)]*)\)`)
	declared = regexp.MustCompile(`(?:^|[(,\n])\s*"?(\w+)"?\s+(TEXT|BIGINT|INTEGER|DOUBLE PRECISION|BOOLEAN|BLOB)\b`)
)

// fillTables fills every table of a file with as many rows, of odd values. With mended ones both engines store them alike.
func fillTables(t testing.TB, url string, rows int, mended bool) {
	t.Helper()
	tables, made := fileTables(t, url)
	side, r := sideOf(t, url), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40, 253402300799999}
	odd := func() string {
		s := oddTexts[r.IntN(len(oddTexts))]
		if mended {
			s = text.Mend(s)
		}
		return s
	}
	names := []string{"chats", "messages"}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		kinds, lists := map[string]string{}, map[string][]string{}
		for _, m := range declared.FindAllStringSubmatch(made[name], -1) {
			kinds[m[1]] = m[2]
		}
		for _, m := range choices.FindAllStringSubmatch(made[name], -1) {
			lists[m[1]] = strings.Split(strings.ReplaceAll(m[2], "'", ""), ", ")
		}
		for i := range rows {
			var values []any
			for _, c := range tables[name] {
				values = append(values, valueOf(name, c, kinds[c], lists[c], i, odd, numbers[r.IntN(len(numbers))], r))
			}
			sideExec(t, side, `INSERT INTO "`+name+`" VALUES (?`+strings.Repeat(", ?", len(values)-1)+`)`, values...)
		}
	}
}

func valueOf(table, column, kind string, list []string, i int, odd func() string, number int64, r *rand.Rand) any {
	key := fmt.Sprintf("feishu:chat:oc_%d", i)
	switch {
	case table == "chats" && column == "key", column == "chat_key":
		return key
	case table == "chats" && (column == "kind"):
		return "group"
	case list != nil:
		return list[i%len(list)]
	case column == "settings":
		return "{}"
	case column == "id" && kind == "INTEGER", column == "answer":
		return 3*i + 1
	case slices.Contains([]string{"no", "number", "next_seq"}, column):
		return i + 1
	case slices.Contains([]string{"seq", "turn_id", "epoch", "sent_at"}, column):
		return i - 3
	}
	switch kind {
	case "TEXT":
		return fmt.Sprintf("%d %s", i, odd())
	case "DOUBLE PRECISION":
		return []float64{0, -1, math.Pi * 1e-9, 1e300, math.MaxFloat64, float64(i)}[i%6]
	case "BOOLEAN":
		return i%2 == 0
	case "BLOB":
		data := make([]byte, i%40)
		for k := range data {
			data[k] = byte(r.IntN(256))
		}
		return data
	}
	return number
}

// Everything goes to PostgreSQL and back, whatever it is, and new rows get other numbers than those before them.
func TestCopiesHoldEverything(t *testing.T) {
	t.Parallel()
	newDatabase := copyServer(t)
	for name, mended := range map[string]bool{"clean": true, "old": false} {
		t.Run(name, func(t *testing.T) {
			file, back := newFile(t), "sqlite://"+filepath.Join(t.TempDir(), "back", "magpie.db")
			const rows = 60
			fillTables(t, file, rows, mended)
			tables, _ := fileTables(t, file)
			sideExec(t, sideOf(t, file), `UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'turns'`)
			want := content(t, file, tables)
			for table, columns := range tables {
				if len(want[table]) != rows {
					t.Errorf("%s (%v) has %d rows", table, columns, len(want[table]))
				}
			}
			server := newDatabase(name)
			for _, way := range [][2]string{{file, server}, {server, back}} {
				if n := mustCopy(t, way[0], way[1]); n != int64(rows*len(tables)) {
					t.Errorf("%d rows, want %d", n, rows*len(tables))
				}
				for table, list := range content(t, way[1], tables) {
					if !slices.Equal(list, want[table]) {
						t.Errorf("%s: %.2000v, want %.2000v", table, list, want[table])
					}
				}
			}
			if before := content(t, file, tables); !slices.Equal(before["messages"], want["messages"]) {
				t.Error("the first database has changed")
			}
			first, there, again := exportOf(t, file), exportOf(t, server), exportOf(t, back)
			if !bytes.Equal(there, again) || mended && !bytes.Equal(first, there) {
				t.Errorf("exports of %d, %d and %d bytes", len(first), len(there), len(again))
			}
			for _, url := range []string{server, back} {
				isServed(t, url, 5001, rows)
			}
		})
	}
}

// isServed expects that a copy is served: it finds a message by its words, and new rows follow.
func isServed(t *testing.T, url string, turn int64, chats int) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // its writes are committed
	e := dbtest.Say("om_new", "what follows?")
	e.Key = chat.FeishuChat("oc_new")
	dbtest.Accept(t, d, e)
	c, err := d.Turns().Claim(t.Context(), e.Key, dbtest.StartIn("s"))
	if err != nil || c.Turn.ID != turn {
		t.Errorf("%s: the next turn is %d, want %d: %v", url, c.Turn.ID, turn, err)
	}
	var no int
	err = sideOf(t, url).QueryRowContext(t.Context(), `SELECT no FROM chats WHERE key = 'feishu:chat:oc_new'`).Scan(&no)
	if err != nil || no <= chats {
		t.Errorf("%s: the new chat has the number %d, %v", url, no, err)
	}
}

// The same messages are found in a copy.
func TestCopiesFindTheSame(t *testing.T) {
	t.Parallel()
	newDatabase := copyServer(t)
	file, server := newFile(t), newDatabase("found")
	back := "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")
	d, err := db.Open(t.Context(), db.Config{URL: file})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		dbtest.Accept(t, d, dbtest.Say(fmt.Sprintf("om_%d", i), sentence(i)))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, file, server)
	mustCopy(t, server, back)
	var found []string
	for _, url := range []string{file, server, back} {
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Search().Find(t.Context(), dbtest.Chat, 0, []string{"deploy", "部署", "server", "nothing"}, 100)
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprint(f))
	}
	if found[0] != found[1] || found[0] != found[2] || len(found[0]) < 200 {
		t.Errorf("found %q", found)
	}
}

// Each table of a file is in PostgreSQL, with the same columns. What one of them has alone is not copied, so it is
// listed here.
func TestBothEnginesHaveTheSameTables(t *testing.T) {
	t.Parallel()
	url := copyServer(t)("tables")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	alone := []string{
		"goose_db_version", "postings", "indexed", // the schema and the index
		"nodes", "leases", "forwarded", // the programs that serve it
	}
	tables, _ := fileTables(t, newFile(t))
	rows, err := sideOf(t, url).QueryContext(t.Context(), `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(tables[table], column); i >= 0 {
			tables[table] = slices.Delete(tables[table], i, i+1)
		} else if !slices.Contains(alone, table) && !slices.Contains(alone, table+"."+column) {
			t.Errorf("only PostgreSQL has %s.%s", table, column)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	for table, columns := range tables {
		if len(columns) > 0 {
			t.Errorf("only SQLite has %v of %s", columns, table)
		}
	}
}

// refused expects an error of a copy in both languages, and returns it.
func refused(t *testing.T, from, to, want string) {
	t.Helper()
	_, err := db.Copy(t.Context(), db.Config{URL: from}, db.Config{URL: to})
	if err == nil || !strings.Contains(i18n.ErrorText(i18n.English, err), want) {
		t.Errorf("%s to %s: %v, want %q", from, to, err, want)
	} else if zh := i18n.ErrorText(i18n.Chinese, err); !regexp.MustCompile(`\p{Han}`).MatchString(zh) {
		t.Errorf("%s to %s: %q", from, to, zh)
	}
}

// Nothing is copied over other data, out of a database that is served, or into one that is missing.
func TestCopiesThatAreRefused(t *testing.T) {
	t.Parallel()
	newDatabase := copyServer(t)
	file, other, server := newFile(t), newFile(t), newDatabase("refused")
	fillTables(t, file, 2, true)
	fillTables(t, other, 2, true)
	nowhere := filepath.Join(t.TempDir(), "none.db")
	refused(t, file, file, "both are the same database")
	refused(t, file, other, "data is there already")
	refused(t, "sqlite://"+nowhere, server, "there is no database")
	refused(t, file, "postgres://magpie@127.0.0.1:1/magpie", "cannot be reached")
	refused(t, file, strings.Replace(server, "/refused", "/missing", 1), "PostgreSQL has no database missing")
	refused(t, file, "mysql://x", "must be like")

	older := newFile(t)
	sideExec(t, sideOf(t, older), `DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)`)
	refused(t, file, older, "older version of Magpie")
	refused(t, older, server, "older version of Magpie")

	mustCopy(t, file, server)
	serving, err := db.Open(t.Context(), db.Config{URL: server})
	if err := errors.Join(err, serving.Close()); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, server, newDatabase("second")) // without the place that it had
	refused(t, other, server, "data is there already")
	for i, url := range []string{file, server} {
		serving, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"is in use by process", "Magpie is using the PostgreSQL database refused"}[i]
		refused(t, url, newDatabase(fmt.Sprint("served_", i)), want)
		refused(t, other, url, want)
		if err := serving.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sideExec(t, sideOf(t, server), `INSERT INTO forwarded (room, kind, payload) VALUES ('feishu:chat:oc_0', 'message', '')`)
	refused(t, server, newFile(t), "1 messages have arrived that no Magpie has handled")
	sideExec(t, sideOf(t, other), `UPDATE turns SET attempts = 'many'`)
	refused(t, other, newDatabase("unreadable"), "the column attempts of the table turns holds what cannot be read (string)")
}

// A copy that was interrupted goes on, and nobody serves what it has stored until then.
func TestCopiesGoOn(t *testing.T) {
	t.Parallel()
	newDatabase := copyServer(t)
	file := newFile(t)
	const rows = 12000
	d, err := db.Open(t.Context(), db.Config{URL: file})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, d, rows)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	there, back, other := newDatabase("goes_on"), "sqlite://"+filepath.Join(t.TempDir(), "magpie.db"), newFile(t)
	for _, way := range [][2]string{{file, there}, {there, back}} {
		from, to := way[0], way[1]
		stopped := map[engine.Work]bool{engine.Moving: true}
		for i := int64(1); ; i++ { // a batch at a time
			ctx, stop := context.WithCancel(t.Context())
			begun := int64(-1)
			_, err := db.Copy(ctx, db.Config{URL: from}, db.Config{URL: to, Progress: func(w engine.Work, done, _ int64) {
				if w == engine.Moving && begun < 0 || !stopped[w] {
					begun, stopped[w] = done, true
					stop()
				}
			}})
			stop()
			if err == nil {
				if i < 6 || !stopped[engine.Comparing] || stopped[engine.Indexing] != (to == back) {
					t.Errorf("interrupted %d times, in %v", i, stopped)
				}
				break
			}
			if i > 20 {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			for _, open := range []func(context.Context, db.Config) (*db.DB, error){db.Open, db.OpenReadOnly} {
				if _, err := open(t.Context(), db.Config{URL: to}); !errors.Is(err, engine.ErrUnfinishedCopy) {
					t.Fatalf("an unfinished copy is opened: %v", err)
				}
			}
			refused(t, other, to, "an unfinished copy of")
			refused(t, to, other, "the copy into this database is not finished")
		}
	}
	if a, b, c := exportOf(t, file), exportOf(t, there), exportOf(t, back); !bytes.Equal(a, b) || !bytes.Equal(a, c) || len(a) < rows*100 {
		t.Errorf("exports of %d, %d and %d bytes", len(a), len(b), len(c))
	}

	// Somebody writes between two attempts.
	again := newDatabase("changed")
	ctx, stop := context.WithCancel(t.Context())
	_, err = db.Copy(ctx, db.Config{URL: file}, db.Config{URL: again, Progress: func(w engine.Work, done, _ int64) {
		if w == engine.Moving && done > 6000 {
			stop()
		}
	}})
	stop()
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	sideExec(t, sideOf(t, file), `UPDATE messages SET content = 'changed' WHERE id = 1`)
	refused(t, file, again, "the tables messages of both databases differ")
	mustCopy(t, file, again)
	if a, b := exportOf(t, file), exportOf(t, again); !bytes.Equal(a, b) {
		t.Errorf("exports of %d and %d bytes", len(a), len(b))
	}
}

// sentence is a text like those of people.
func sentence(i int) string {
	r := rand.New(rand.NewPCG(7, uint64(i))) //nolint:gosec // no secret
	words := []string{"部署", "服务器", "今天", "为什么", "失败了", "the", "deploy", "server", "build", "logs", "请", "看看", "数据库", "timeout",
		"明天", "会议", "review", "pull request", "版本", "配置文件"}
	var b strings.Builder
	for range 8 + r.IntN(10) {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	fmt.Fprintf(&b, "%d", r.IntN(100000))
	return b.String()
}

// BenchmarkCopy measures how long it takes to copy a million messages to PostgreSQL and back.
func BenchmarkCopy(b *testing.B) {
	messages := 1_000_000
	if testing.Short() {
		messages = 20_000
	}
	newDatabase := copyServer(b)
	file := newFile(b)
	d, err := db.Open(b.Context(), db.Config{URL: file})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, d, messages)
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	side := sideOf(b, file)
	tx, err := side.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	update, err := tx.PrepareContext(b.Context(), `UPDATE messages SET content = ? WHERE id = ?`)
	if err != nil {
		b.Fatal(err)
	}
	for i := range messages {
		if _, err := update.ExecContext(b.Context(), sentence(i), i+1); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(update.Close(), tx.Commit(), side.Close()); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		there, back := newDatabase(fmt.Sprintf("copy_%d", i)), "sqlite://"+filepath.Join(b.TempDir(), "magpie.db")
		for _, way := range [][3]string{{file, there, "s-to-postgres"}, {there, back, "s-to-sqlite"}} {
			began, at := time.Now(), map[engine.Work]time.Duration{}
			_, err := db.Copy(b.Context(), db.Config{URL: way[0]}, db.Config{URL: way[1], Progress: func(w engine.Work, _, _ int64) {
				at[w] = time.Since(began).Round(time.Second)
			}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(began).Seconds(), way[2])
			b.Logf("%s after %v: %v", way[2], time.Since(began).Round(time.Second), at)
		}
		b.StopTimer()
		before := exportOf(b, file)
		for _, url := range []string{there, back} {
			if !bytes.Equal(before, exportOf(b, url)) {
				b.Errorf("the export of %s differs", url)
			}
		}
		b.StartTimer()
	}
}
