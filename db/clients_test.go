package db_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/schedules"
	"magpie/internal/chat"
)

// clientsTime is for how long the clients write, by MAGPIE_TEST_CLIENTS.
func clientsTime(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("MAGPIE_TEST_CLIENTS"), "2s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever twelve clients do at the same time, none fails because of another one, and what is stored is the same as if they
// had done it one after the other, in SQLite.
func TestClientsAtOnceStoreTheSameAsOneAfterTheOther(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	many := dbtest.New(t)
	many.At(t, at)
	many.RecordOrder()
	s := &crowd{w: world{DB: many}, at: at}
	first := say("om_0", "hello") // whether there was any matters to the welcome of an owner
	first.Time = at
	accept(t, many, first)
	ends := time.Now().Add(clientsTime(t))
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() { s.write(t, n, ends) })
	}
	wg.Go(func() { // not repeated below, as it is many transactions
		for c := db.Defaults(); time.Now().Before(ends); time.Sleep(50 * time.Millisecond) {
			c.CacheTTL.Duration, c.HistoryTTL.Duration = 100*365*24*time.Hour, 1000*time.Hour
			if _, err := db.Sweep(context.Background(), many, c); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	slices.SortFunc(s.done, func(a, b *operation) int { return cmp.Compare(*a.at, *b.at) })
	t.Logf("%d operations, %d of them with an effect, %d transactions were repeated", s.all, len(s.done), many.Conflicts())
	good := map[string]int{}
	for _, o := range s.done {
		if o.err == nil {
			good[o.name]++
		}
	}
	t.Log(good)
	if dbtest.OnPostgres() {
		deadlocks := scanOne(t, many, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
		t.Logf("%d deadlocks", deadlocks)
		if deadlocks > int64(1+s.all/10_000) {
			t.Errorf("%d deadlocks in %d operations", deadlocks, s.all)
		}
	}

	one, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(t.TempDir(), "one.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close() //nolint:errcheck // nothing to lose
	one.At(t, at)
	accept(t, one, first)
	replay := &world{DB: one, of: turnsOf(t, many), t: t}
	for _, o := range s.done {
		if err := o.run(t.Context(), replay); kindOf(err) != kindOf(o.err) {
			t.Fatalf("%d %s in %v: %v, and %v with others", *o.at, o.name, o.key, err, o.err)
		}
	}
	compareAll(t, many, one)
}

// operation is what a client has done. It is done again in another world.
type operation struct {
	name string
	key  chat.Key
	run  func(ctx context.Context, w *world) error
	at   *int64 // its place in the order; 0 = it has changed nothing
	err  error
}

// kindOf is what a caller knows an error by.
func kindOf(err error) string {
	for _, known := range []error{
		db.ErrNotFound, db.ErrRepeated, db.ErrStopped, db.ErrForgotten, db.ErrChanged, db.ErrTooManyMemories, schedules.ErrChanged,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	switch {
	case err == nil:
		return ""
	case strings.HasSuffix(err.Error(), "the conversation has ended meanwhile"):
		return "over"
	}
	return unexpected
}

const unexpected = "unexpected"

// world is a database, in which turns and posts have other numbers than in the one where they were first met.
type world struct {
	*db.DB
	of map[int64]place // of the turns there; nil = they are from here
	t  *testing.T
}

// place is what a turn is in every database.
type place struct {
	chat string
	nth  int
}

func (w *world) id(turn int64) int64 {
	if w.of == nil || turn == 0 {
		return turn
	}
	p, ok := w.of[turn]
	if !ok {
		w.t.Fatalf("turn %d is nowhere", turn)
	}
	return scanOne(w.t, w.DB, fmt.Sprintf(`SELECT id FROM turns WHERE chat_key = '%s' ORDER BY id LIMIT 1 OFFSET %d`, p.chat, p.nth))
}

func (w *world) turn(t db.Turn) db.Turn {
	t.ID, t.Follows, t.Continues = w.id(t.ID), w.id(t.Follows), w.id(t.Continues)
	return t
}

// numbered matches texts that name a turn.
var numbered = regexp.MustCompile(`\b(card|late|answer|notice|continue|tool|result|decision|suggestion):(\d+)`)

func rename(s string, name func(turn int64) string) string {
	return numbered.ReplaceAllStringFunc(s, func(found string) string {
		m := numbered.FindStringSubmatch(found)
		turn, _ := strconv.ParseInt(m[2], 10, 64)
		return m[1] + ":" + name(turn)
	})
}

func (w *world) text(s string) string {
	return rename(s, func(turn int64) string { return strconv.FormatInt(w.id(turn), 10) })
}

func (w *world) post(p db.Post) db.Post {
	if w.of == nil {
		return p
	}
	p.Turn, p.Idem, p.ReplyTo = w.id(p.Turn), w.text(p.Idem), w.text(p.ReplyTo)
	p.ID = scanOne(w.t, w.DB, `SELECT COALESCE(MAX(id), -1) FROM outbox WHERE idem = '`+p.Idem+`'`)
	if p.File != nil {
		file := *p.File
		file.ID = scanOne(w.t, w.DB, `SELECT COALESCE(MAX(id), -1) FROM file_deliveries WHERE idem = '`+p.Idem+`'`)
		p.File = &file
	}
	return p
}

func scanOne(t *testing.T, d *db.DB, query string) (n int64) {
	t.Helper()
	rows, err := d.Read(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	if !rows.Next() || rows.Scan(&n) != nil {
		t.Fatalf("nothing: %s", query)
	}
	return n
}

// turnsOf are the places of all turns: in a chat their numbers are in the order in which they were made.
func turnsOf(t *testing.T, d *db.DB) map[int64]place {
	t.Helper()
	rows, err := d.Read(`SELECT id, chat_key FROM turns ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	of, count := map[int64]place{}, map[string]int{}
	for rows.Next() {
		var id int64
		var key string
		if err := rows.Scan(&id, &key); err != nil {
			t.Fatal(err)
		}
		of[id] = place{key, count[key]}
		count[key]++
	}
	return of
}

// crowd is what the clients share.
type crowd struct {
	w  world
	at time.Time

	mu   sync.Mutex
	all  int
	done []*operation
	said []chat.Incoming // what was said so far
}

// The chats of the clients. What is said in the last one is swept, and not compared.
var places = []chat.Key{
	chat.FeishuChat("oc_1"), inTopic("oc_1", "omt_1"), inTopic("oc_1", "omt_2"), chat.FeishuChat("oc_2"),
	inTopic("oc_2", "omt_3"), chat.FeishuChat("oc_3"), swept,
}

var swept = chat.FeishuChat("oc_swept")

// hereOnly are acts that write in their chat only.
var hereOnly = []string{"ask", "overhear", "recall", "edit", "claim", "finish", "requeue", "fetch a file", "save a memory"}

func inTopic(room, topic string) chat.Key {
	k := chat.FeishuChat(room)
	k.Thread = topic
	return k
}

// write does one thing after the other.
func (s *crowd) write(t *testing.T, nth int, ends time.Time) {
	c := &client{crowd: s, Rand: rand.New(rand.NewPCG(uint64(nth), 35)), ctx: context.Background()}
	for n := 0; time.Now().Before(ends); n++ {
		c.name = fmt.Sprintf("%d-%d", nth, n)
		c.key = places[c.IntN(len(places))]
		if c.IntN(10) == 0 { // often a new one
			c.key = inTopic("oc_2", fmt.Sprint("omt_new", c.IntN(1000)))
		}
		acts := actsOf(c)
		what := acts[c.IntN(len(acts))]
		if c.key == swept && !slices.Contains(hereOnly, what.name) {
			continue
		}
		o := &operation{name: what.name, key: c.key}
		if o.run = what.make(); o.run == nil { // there is nothing to do it with
			continue
		}
		var ctx context.Context
		ctx, o.at = db.Ordered(c.ctx)
		o.err = o.run(ctx, &s.w)
		if kindOf(o.err) == unexpected {
			t.Errorf("%s in %v: %v", o.name, o.key, o.err)
		}
		s.mu.Lock()
		s.all++
		if *o.at != 0 && o.key != swept {
			s.done = append(s.done, o)
		}
		s.mu.Unlock()
	}
}

// client is one of the clients.
type client struct {
	*crowd
	*rand.Rand

	ctx  context.Context
	name string   // of what it does now
	key  chat.Key // where
}

// someTurn is a turn that has not ended, or nil.
func (c *client) someTurn(is func(db.Turn) bool) *db.Turn {
	list, err := c.w.Turns().Running(c.ctx)
	if err != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(t db.Turn) bool { return t.Key != c.key || !is(t) })
	if len(list) == 0 {
		return nil
	}
	return &list[c.IntN(len(list))]
}

func anyTurn(db.Turn) bool { return true }

// some is something that was said in the room.
func (c *client) some() *chat.Incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 20 {
		if len(c.said) == 0 {
			return nil
		}
		if m := c.said[c.IntN(len(c.said))]; m.Key.Parent() == c.key.Parent() {
			return &m
		}
	}
	return nil
}

// say is a message, sometimes one that others say, too.
func (c *client) say(class chat.Class) db.Inbound {
	id := "om_" + c.name
	if c.IntN(5) == 0 {
		id = fmt.Sprintf("om_%d", c.IntN(500))
	}
	m := chat.Incoming{
		Key: c.key, Kind: chat.Group, ID: id, Text: "say " + id, Time: c.crowd.at,
		Actor: chat.Actor{ID: fmt.Sprintf("ou_%d", c.IntN(3)), Name: "小明"},
	}
	if c.key == swept {
		m.Time = time.UnixMilli(1000)
	}
	if c.IntN(4) == 0 {
		m.Files = []chat.File{{Kind: chat.Document, Of: id, Key: "file_" + id, Name: "a.txt"}}
	}
	c.mu.Lock()
	c.said = append(c.said, m)
	c.mu.Unlock()
	return db.Inbound{Incoming: m, Class: class, Lang: "zh"}
}
