//go:build linux

package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The service's resources do not grow with the number of messages: ten times as many end with the same memory,
// goroutines and files. The service is a process of its own, so that the test's doubles do not count.
func TestTenTimesTheMessagesTakeTheSameMemory(t *testing.T) {
	t.Parallel()
	const chats = 20
	few := 60
	if *full {
		few = 20_000
	}
	l := newLoad(t, chats)
	l.cfg.Claude.MaxProcesses = chats
	l.begin()
	path := databaseOf(l.cfg)
	store, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&mode=ro")
	must(t, err)
	defer store.Close() //nolint:errcheck // only read

	talk := &conversations{load: l, store: store, dice: rand.New(rand.NewPCG(3, 4))}
	talk.until(few)
	before := l.size()
	t.Logf("%d messages: %v", talk.sent, before)
	for talk.sent < 9*few {
		talk.until(talk.sent + 3*few)
		t.Logf("%d messages: %v", talk.sent, l.size())
	}
	talk.until(10 * few)
	after := l.size()
	for range looks { // one garbage collection may keep dead objects, but not each one
		if len(before.grown(after)) == 0 {
			break
		}
		after = l.size()
	}
	t.Logf("%d messages: %v", talk.sent, after)
	l.terminate()
	for _, what := range before.grown(after) {
		t.Errorf("%s, with ten times the messages", what)
	}
	l.clean()
}

// looks is how often the memory is measured again before it counts as grown.
const looks = 5

// pages is what SQLite may use for its page caches, in bytes: 2 MB per connection.
const pages = 5 * 2 << 20

// caches is the size of the caches of recent messages when they are full, in bytes. With [full] they are full from the
// beginning.
func caches() int {
	if *full {
		return 0
	}
	return 640 << 10
}

// grown lists what has grown by more than a fifth.
func (s size) grown(now size) (list []string) {
	for _, q := range []struct {
		what             string
		was, is, allowed int
	}{
		{"bytes of live heap", s.heap, now.heap, caches()},
		{"bytes of resident memory", s.resident, now.resident, pages},
		{"goroutines", s.goroutines, now.goroutines, 0},
		{"open files", s.files, now.files, 0},
	} {
		if q.is > q.was*6/5+q.allowed {
			list = append(list, fmt.Sprintf("%d %s became %d", q.was, q.what, q.is))
		}
	}
	return list
}

// conversations are people who each wait for the answer before they send the next message.
type conversations struct {
	*load
	store *sql.DB
	dice  *rand.Rand
	sent  int
}

// until continues the conversations until this many messages are answered.
func (k *conversations) until(messages int) {
	k.Helper()
	for k.sent < messages {
		for i, id := range k.chats {
			k.sim.Say(id, k.people[i], k.text())
			k.sent++
		}
		k.load.until("the answers", func() bool {
			var turns, open int
			row := k.store.QueryRow(`SELECT COALESCE(MAX(id), 0), (SELECT COUNT(*) FROM outbox) FROM turns`)
			must(k, row.Scan(&turns, &open))
			if turns < k.sent || open > 0 {
				return false
			}
			must(k, k.store.QueryRow(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`).Scan(&open))
			return open == 0
		})
	}
}

// text is about 300 bytes that share few words with other texts.
func (k *conversations) text() string {
	var words []string
	for range 20 {
		word := make([]rune, 2+k.dice.IntN(2))
		for i := range word {
			word[i] = '一' + rune(k.dice.IntN(3000))
		}
		words = append(words, string(word), strconv.FormatUint(uint64(k.dice.Uint32()), 36))
	}
	return strings.Join(words, " ")
}

// size is what the service uses while it is idle.
type size struct {
	heap, resident    int // bytes; the heap after a collection
	goroutines, files int
}

func (s size) String() string {
	return fmt.Sprintf("%.1f MB of heap, %.1f MB resident, %d goroutines, %d files",
		float64(s.heap)/(1<<20), float64(s.resident)/(1<<20), s.goroutines, s.files)
}

// size measures the service over several garbage collections, which the measuring itself triggers, once it makes no
// more calls.
func (l *load) size() size {
	l.Helper()
	const collections = 4 // sync.Pool releases its content at the second one
	s := size{heap: math.MaxInt, goroutines: math.MaxInt}
	var collected, calls float64
	for n := -1; n < collections; {
		page := l.metrics()
		if page["calls"] != calls { // the cards of turns are still being updated
			n, calls = -1, page["calls"]
		}
		if page["go_memstats_last_gc_time_seconds"] != collected {
			collected = page["go_memstats_last_gc_time_seconds"]
			s.heap = min(s.heap, int(page["go_memstats_heap_alloc_bytes"]))
			n++
		}
		s.goroutines = min(s.goroutines, int(page["go_goroutines"]))
	}
	s.resident = l.memory("VmRSS")
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(l.pid()), "fd"))
	must(l, err)
	s.files = len(files)
	return s
}

// metrics reads the metrics without labels, and as "calls" the number of calls to the platform.
func (l *load) metrics() map[string]float64 {
	l.Helper()
	// compression now and then takes a megabyte
	plain := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := plain.Get("http://" + l.page + "/metrics")
	must(l, err)
	data, err := io.ReadAll(resp.Body)
	must(l, errors.Join(err, resp.Body.Close()))
	values := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case !ok || err != nil:
		case strings.HasPrefix(name, "magpie_platform_calls_total"):
			values["calls"] += v
		default:
			values[name] = v
		}
	}
	return values
}
