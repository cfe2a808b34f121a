package sqlite_test

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
	"magpie/internal/chat"
)

func logSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

const piece = 40_000 // bytes per message

// write stores messages until n bytes have gone through the log, and returns the log's largest size. The text has no
// words: indexing them would take longer than storing them.
func write(t testing.TB, d *db.DB, path, name string, n int) (longest int64) {
	t.Helper()
	for i := 0; i*piece < n; i++ {
		accept(t, d, say(fmt.Sprintf("om_%s_%d", name, i), strings.Repeat(".", piece)))
		longest = max(longest, logSize(t, path))
	}
	return longest
}

const logLimit = 5 << 20 // bytes; above the 4 MB at which SQLite checkpoints by itself

// With overlapping readers SQLite alone would never restart its log.
func TestTheLogStaysShortUnderReadersThatOverlap(t *testing.T) {
	t.Parallel()
	path := dbtest.Create(t)
	d := open(t, path)
	fileOf(d).LimitLog(t, logLimit)
	fileOf(d).WaitForReaders(t, time.Minute) // each ends soon, on a busy machine somewhat later
	accept(t, d, say("om_1", "hi"))
	read := func() func() {
		rows, err := fileOf(d).Read(`SELECT key FROM chats`)
		if err != nil || !rows.Next() {
			t.Fatal("nothing to read", err)
		}
		return func() {
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		last := read()
		for {
			select {
			case <-stop:
				last()
				return
			case <-time.After(5 * time.Millisecond): // how long each reads
				next := read()
				last()
				last = next
			}
		}
	}()
	longest := write(t, d, path, "a", 5*logLimit)
	close(stop)
	<-ended
	if longest > 2*logLimit {
		t.Errorf("the log became %d KB long", longest>>10)
	}
}

// A leftover log shows that the database was not closed.
func TestTheLogGoesWithClose(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hi"))
	if !sqlite.HasLog(path) {
		t.Error("no log while the database is open")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if sqlite.HasLog(path) {
		t.Error("a log after the database was closed")
	}
}

// A turn that reads the whole History keeps no snapshot between two pages.
func TestAWalkOfTheHistoryDoesNotHoldTheLog(t *testing.T) {
	t.Parallel()
	path := dbtest.Create(t)
	d := open(t, path)
	fileOf(d).LimitLog(t, logLimit)
	for i := range 100 {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "hi"))
	}
	next, stop := iter.Pull2(d.Messages().Range(t.Context(), oc, 0, 0, 1<<40))
	defer stop()
	if _, err, ok := next(); err != nil || !ok {
		t.Fatal(err)
	}
	if longest := write(t, d, path, "a", 3*logLimit); longest > logLimit+1<<20 {
		t.Errorf("the log became %d KB long", longest>>10)
	}
	n := 1
	for m, err, ok := next(); ok; m, err, ok = next() {
		if n++; err != nil || m.Role != chat.User {
			t.Fatal(m, err)
		}
	}
	if n != 100 {
		t.Errorf("the walk saw %d messages", n)
	}
}

// A reader that never ends makes the log long, but writes keep their speed. Afterwards the log shrinks again.
func TestAReaderThatIsStuck(t *testing.T) {
	t.Parallel()
	path := dbtest.Create(t)
	d := open(t, path)
	fileOf(d).LimitLog(t, logLimit)
	accept(t, d, say("om_1", "hi"))
	rows, err := fileOf(d).Read(`SELECT key FROM chats`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	tries := map[int64]bool{} // by the size at which the next checkpoint is tried
	var longest int64
	for i := 0; i*piece < 3*logLimit; i++ {
		longest = max(longest, write(t, d, path, fmt.Sprint("a", i), piece))
		tries[fileOf(d).TrimAt()] = true
	}
	if longest < 2*logLimit {
		t.Errorf("the log only grew to %d KB: the reader blocked nothing", longest>>10)
	}
	if n := int64(len(tries) - 1); n < 1 || n > longest/logLimit {
		t.Errorf("writers waited %d times for the reader, with %d KB in the log", n, longest>>10)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, d, path, "b", 2*logLimit)
	if size := logSize(t, path); size > 2*logLimit {
		t.Errorf("the log is still %d KB long", size>>10)
	}
}
