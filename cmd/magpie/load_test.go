//go:build linux

package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// What the program must achieve with many chats at a time.
const (
	loadGoroutines = 500       // at any time, besides four for each process that is kept for its chat
	loadMemory     = 300 << 20 // bytes, at any time
	loadPace       = 0.5       // messages answered per answer of agents without the service
)

// load is many people who write to the bot at the same time.
type load struct {
	*service
	chats  []string
	people []feishusim.User
	said   map[string][]string // message ids by chat, in order
	page   string              // address of the service's metrics, once it listens
}

// newLoad makes a service for this many chats. Its agent answers at once, and its platform has no rate limits for the
// app.
func newLoad(t testing.TB, chats int) *load {
	t.Helper()
	unlimited := feishusim.Limits{AppPerSecond: -1, AppPerMinute: -1} // those of a chat and of a card remain
	l := &load{said: make(map[string][]string)}
	patient := 10 * patience // no redelivery, even on a busy machine
	l.service = newService(t, feishusim.Config{Limits: unlimited, AckTimeout: patient}, func(c *config.Config) {
		c.Claude = claudetest.ScriptedConfig(t)
		c.Claude.Env["GOMAXPROCS"], c.Claude.Env["GOGC"] = "1", "off" // for a quick start, which is most of the agent's work
		c.Feishu.Pace = 1000
		c.HTTP.Listen = ":0"
	})
	for i := range chats {
		u := l.sim.AddUser(fmt.Sprint("user ", i))
		l.people = append(l.people, u)
		l.chats = append(l.chats, l.sim.PrivateChat(u))
	}
	return l
}

// listening matches the log line with the address of the metrics.
var listening = regexp.MustCompile(`"address":"([^"]+)".*"http: listening"`)

// begin starts the service.
func (l *load) begin() {
	l.Helper()
	l.run()
	l.connected()
	match := listening.FindStringSubmatch(l.logs.String())
	if match == nil {
		l.Fatalf("no address of metrics: %s", l.logs)
	}
	l.page = match[1]
}

// metric reads one metric of the service, or 0 when it cannot be read.
func (l *load) metric(name string) float64 {
	resp, err := http.Get("http://" + l.page + "/metrics")
	if err != nil {
		return 0
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, _ := strconv.ParseFloat(value, 64)
			return v
		}
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return 0
}

// memory reads a line of the service's /proc/<pid>/status, in bytes: VmRSS is now, VmHWM the peak.
func (l *load) memory(line string) int {
	l.Helper()
	return l.memoryOf(l.pid(), line)
}

// memoryOf reads a line of the status of any process, in bytes.
func (l *load) memoryOf(pid int, line string) int {
	l.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	must(l, err)
	for text := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(text, line+":"); ok {
			kb, err := strconv.Atoi(strings.Fields(value)[0])
			must(l, err)
			return kb << 10
		}
	}
	l.Fatalf("no %s", line)
	return 0
}

// write sends rounds messages from each person, round by round, perSecond of them a second in total.
func (l *load) write(rounds, perSecond int) {
	began, n := time.Now(), 0
	for round := range rounds {
		for i, id := range l.chats {
			due := began.Add(time.Duration(n) * time.Second / time.Duration(perSecond))
			time.Sleep(time.Until(due)) // the rate of the load
			l.said[id] = append(l.said[id], l.sim.Say(id, l.people[i], loadText(i, round)))
			n++
		}
	}
}

func loadText(person, round int) string { return fmt.Sprintf("message %d of person %d", round, person) }

// answered counts the messages whose turn is complete, alone or with later messages.
func (l *load) answered() int {
	n := 0
	for _, id := range l.chats {
		last := -1
		for _, m := range l.sim.Messages(id) {
			if m.FromBot && !m.Last().Streaming && !running(m) {
				last = slices.Index(l.said[id], m.ParentID)
			}
		}
		n += last + 1
	}
	return n
}

// A hundred and fifty people write three messages each, five thousand with [full]. All are answered once and in order,
// with bounded resources, and not much slower than the machine can run the agent at that time.
func TestManyChatsAtOnce(t *testing.T) {
	const rounds = 3
	// They write faster than the agent alone could answer, so the result does not depend on their rate. Each chat has
	// its process, with four goroutines, and on a busy machine a turn, a delivery and a call to the platform at the
	// same time.
	chats, perSecond, limit := 150, 150, 10*150
	if *full {
		chats, perSecond, limit = 5000, 250, loadGoroutines
	}
	l := newLoad(t, chats)
	l.begin()
	most, alone := l.watch(), l.alone()

	began := time.Now()
	l.write(rounds, perSecond)
	written := time.Since(began)
	l.awaitAnswers(chats * rounds)
	took := time.Since(began)
	compared := alone()
	goroutines, memory := most(), l.memory("VmHWM")
	turns := l.metric(`magpie_turns_total{state="done"}`)
	if *full { // how many are kept depends on the machine's memory
		limit += 4 * int(l.metric(`magpie_cli_processes{state="idle"}`))
	}
	user, system := l.cpu()
	l.terminate()

	acks := l.acks(chats * rounds)
	half, p99, all := acks[len(acks)/2], acks[len(acks)*99/100], acks[len(acks)-1]
	shown := median(l.waits())
	t.Logf("%d messages in %d chats, written in %v, answered by %v turns in %v",
		chats*rounds, chats, written, turns, took)
	t.Logf("acknowledged within %v (half), %v (99 of 100), %v (all), answered within %v (half)", half, p99, all, shown)
	t.Logf("the agent alone answered %d in that time, the service %.1f times as many",
		compared, float64(chats*rounds)/float64(compared))
	t.Logf("%d goroutines and %d MB at most; %v of processor time in the service, %v in the kernel for it",
		goroutines, memory>>20, user, system)
	if goroutines >= limit {
		t.Errorf("%d goroutines", goroutines)
	}
	if memory >= loadMemory {
		t.Errorf("%d MB", memory>>20)
	}
	if half >= shown {
		t.Errorf("half of the events are acknowledged within %v, and half are answered within %v: "+
			"who writes waits for others' answers", half, shown)
	}
	if float64(chats*rounds) < loadPace*float64(compared) {
		t.Errorf("%d messages are answered while the agent alone answers %d", chats*rounds, compared)
	}
	l.inOrder(rounds)
	l.clean()
}

// awaitAnswers waits until this many messages are answered. It fails if there is no progress for a while. It polls: at
// each event of the platform the counting would take the processor from the service.
func (l *load) awaitAnswers(messages int) {
	l.Helper()
	answered, since := 0, time.Now()
	for answered < messages {
		time.Sleep(200 * time.Millisecond)
		switch n := l.answered(); {
		case n > answered:
			answered, since = n, time.Now()
		case time.Since(since) > patience:
			l.Fatalf("%d of %d messages are answered, without progress for %v", n, messages, patience)
		}
	}
}

// waits are the times from a message's push to the end of its answer, for messages with a turn of their own.
func (l *load) waits() (list []time.Duration) {
	pushed := map[string]time.Time{}
	for _, d := range l.sim.Deliveries() {
		if d.EventType == "im.message.receive_v1" {
			pushed[d.MessageID] = d.SentAt
		}
	}
	for _, id := range l.chats {
		for _, m := range l.sim.Messages(id) {
			if m.FromBot {
				list = append(list, m.Last().At.Sub(pushed[m.ParentID]))
			}
		}
	}
	return list
}

// rests is the ratio of pauses to work when the agent alone is measured: its processor time slows down other tests.
const rests = 3

// alone runs the agent without the service, each time in a new process, sequentially and with pauses, until it is asked
// how many turns it would have done without pauses. That is what the machine can do under its present load.
func (l *load) alone() (turns func() int) {
	var (
		n       int
		stop    = make(chan struct{})
		stopped sync.WaitGroup
	)
	env := slices.Clone(l.cfg.Claude.Environ)
	for name, value := range l.cfg.Claude.Env {
		env = append(env, name+"="+value)
	}
	stopped.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			began := time.Now()
			cmd := exec.Command(l.cfg.Claude.Command, "-p", "--no-session-persistence", "--session-id=alone")
			cmd.Env, cmd.Dir = env, l.cfg.Claude.Project
			const hello = `{"type":"user","uuid":"alone","message":{"role":"user","content":"hello"}}`
			cmd.Stdin = strings.NewReader(hello + "\n")
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "echo: hello") {
				l.Errorf("the agent alone: %v: %s", err, out)
				return
			}
			n += 1 + rests
			select {
			case <-stop:
			case <-time.After(rests * time.Since(began)):
			}
		}
	})
	return sync.OnceValue(func() int { close(stop); stopped.Wait(); return n })
}

// watch samples the number of goroutines until it is asked for the maximum.
func (l *load) watch() (most func() int) {
	var (
		n       int
		stop    = make(chan struct{})
		watched sync.WaitGroup
	)
	watched.Go(func() {
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for {
			n = max(n, int(l.metric("go_goroutines")))
			select {
			case <-t.C:
			case <-stop:
				return
			}
		}
	})
	return sync.OnceValue(func() int { close(stop); watched.Wait(); return n })
}

// cpu is the processor time that the service has used so far, without the agents.
func (l *load) cpu() (user, system time.Duration) {
	l.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(l.pid()), "stat"))
	must(l, err)
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	ticks := func(i int) time.Duration {
		n, err := strconv.Atoi(fields[i])
		must(l, err)
		return time.Duration(n) * 10 * time.Millisecond // USER_HZ is 100
	}
	return ticks(11), ticks(12)
}

// acks are the times from an event's push to its acknowledgement, shortest first. Each event must be pushed once.
func (l *load) acks(events int) []time.Duration {
	l.Helper()
	var list []time.Duration
	for _, d := range l.sim.Deliveries() {
		if d.EventType != "im.message.receive_v1" { // such as the bot's own reactions
			continue
		}
		if d.Attempt != 1 || d.Failure != "" || d.AckedAt.IsZero() {
			l.Errorf("event of %s: attempt %d, %s", d.MessageID, d.Attempt, d.Failure)
			continue
		}
		list = append(list, d.AckedAt.Sub(d.SentAt))
	}
	if len(list) != events {
		l.Errorf("%d events are acknowledged, want %d", len(list), events)
	}
	slices.Sort(list)
	return list
}

// inOrder checks that each chat's History contains all messages in order, with the answer of each turn, and that
// exactly these answers are visible.
func (l *load) inOrder(rounds int) {
	l.Helper()
	store, err := db.OpenReadOnly(l.Context(), l.cfg.DB)
	must(l, err)
	defer store.Close() //nolint:errcheck // only read
	for i, id := range l.chats {
		var asked, answers []string
		var turns []int64 // the turns of asked
		for m, err := range store.Messages().Range(l.Context(), chat.FeishuChat(id), 0, 0, 1<<62) {
			must(l, err)
			if m.Role == chat.User {
				asked, turns = append(asked, m.Text), append(turns, m.Turn)
			} else {
				answers = append(answers, m.Text)
			}
		}
		for _, list := range []*[]string{&asked, &answers} {
			slices.Reverse(*list) // History yields the newest first
		}
		slices.Reverse(turns)
		var want, echoes []string
		for round := range rounds {
			want = append(want, loadText(i, round))
		}
		for j, text := range asked {
			if j == len(asked)-1 || turns[j] != turns[j+1] {
				echoes = append(echoes, "echo: "+text) // the last message of each turn
			}
		}
		var seen []string
		for _, m := range l.sim.Messages(id) {
			if m.FromBot {
				seen = append(seen, visibleText(m))
			}
		}
		if !slices.Equal(asked, want) || !slices.IsSorted(turns) || !slices.Equal(answers, echoes) ||
			!slices.Equal(seen, echoes) {
			l.Fatalf("chat %d: messages %q in turns %v, answers %q, visible %q", i, asked, turns, answers, seen)
		}
	}
}

// idleMemory is what the service may use with 10,000 known chats and no messages, in bytes. The pages of its executable
// do not count: how many are mapped depends on the system's cache.
const idleMemory = 40 << 20

// keptMemory is what the service may use for each process that is kept, in bytes: buffers for its output, and the stacks
// of its goroutines. How many are kept depends on the machine.
const keptMemory = 100 << 10

func TestManyKnownChatsTakeLittle(t *testing.T) {
	t.Parallel()
	const chats, asked = 10_000, 50 // asked: chats with a backfill
	l := newLoad(t, chats)
	l.fillHistory()
	l.begin()
	l.await("the backfill", func(v *feishusim.View) bool {
		n := 0
		for _, c := range v.Calls() {
			if c.Route == "GET /open-apis/im/v1/messages" {
				n++
			}
		}
		return n >= asked
	})
	for i, id := range l.chats[:asked] { // it still answers
		l.said[id] = append(l.said[id], l.sim.Say(id, l.people[i], loadText(i, 0)))
	}
	l.until("the answers", func() bool { return l.answered() == asked })
	t.Logf("%d MB, of which %d MB are its own; %d MB at most", l.memory("VmRSS")>>20, l.memory("RssAnon")>>20,
		l.memory("VmHWM")>>20)
	// Beside other tests its garbage is collected late, after two minutes without work, and returned to the system even
	// later.
	most := idleMemory + keptMemory*int(l.metric(`magpie_cli_processes{state="idle"}`))
	l.within(3*patience, "little memory", func() bool { return l.memory("RssAnon") < most })
	l.terminate()
	l.clean()
}

// What may be used before the first message, in bytes, a third more than the targets: by the service, and by its spare
// process. Idle CLIs take 150 to 235 MB.
const (
	restMemory  = 60 << 20 * 13 / 10
	spareMemory = 235 << 20 * 13 / 10
)

// BenchmarkAtRest measures what the service uses before the first message: its own memory, and that of its spare CLI.
func BenchmarkAtRest(b *testing.B) {
	for b.Loop() {
		l := &load{service: newService(b, feishusim.Config{}, realCLI(b), func(c *config.Config) { c.Claude.Spare = 1 })}
		l.run()
		l.connected()
		time.Sleep(startTime) // no event: the first calls of the CLI, such as --version, must end
		var spare []int
		l.until("a spare process", func() bool { spare = l.children(); return len(spare) == 1 })
		time.Sleep(startTime) // no event either: the spare CLI must have started
		own := l.memory("VmRSS")
		if own > restMemory {
			b.Errorf("%d MB, want %d at most", own>>20, restMemory>>20)
		}
		started := l.memoryOf(spare[0], "VmRSS")
		if started > spareMemory {
			b.Errorf("%d MB for the spare process, want %d at most", started>>20, spareMemory>>20)
		}
		b.ReportMetric(float64(own)/(1<<20), "MB")
		b.ReportMetric(float64(started)/(1<<20), "MB-spare")
		b.ReportMetric(0, "ns/op")
		l.terminate()
	}
}

// children are the processes that the service has started.
func (l *load) children() (list []int) {
	l.Helper()
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(l.pid()), "task", "*", "children"))
	must(l, err)
	for _, path := range tasks {
		data, _ := os.ReadFile(path) //nolint:errcheck // empty for a thread that has ended
		for _, text := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(text)
			must(l, err)
			list = append(list, pid)
		}
	}
	return list
}

// fillHistory fills the database: each chat has a session, and some questions that were answered an hour ago.
func (l *load) fillHistory() {
	l.Helper()
	store, err := db.Open(l.Context(), l.cfg.DB)
	must(l, err)
	must(l, store.Close())
	path := databaseOf(l.cfg)
	conn, err := sql.Open("sqlite3", path)
	must(l, err)
	const turns = 5 // per chat, as many as VALUES
	ids, ago := mustJSON(l.chats), time.Now().Add(-time.Hour).UnixMilli()
	for _, statement := range []string{
		`INSERT INTO chats (no, key, kind, lang, next_seq, session_id, session_node, session_cwd, session_turn)
			SELECT key + 1, 'feishu:chat:' || value, 'p2p', 'en', 2 * ?2 + 1, 'session ' || key, 'node', '/project',
				key * ?2 + ?2
			FROM json_each(?1) WHERE ?3 > 0`,
		`INSERT INTO turns (id, chat_key, epoch, state, created_at, ended_at)
			SELECT j.key * ?2 + n.column1, 'feishu:chat:' || j.value, 0, 'done', ?3 + n.column1, ?3 + n.column1
			FROM json_each(?1) j, (VALUES (1), (2), (3), (4), (5)) n`,
		`INSERT INTO messages (chat_key, seq, epoch, turn_id, message_id, role, class, actor_id, content, sent_at)
			SELECT chat_key, 2 * ((id - 1) % ?2) + 1, 0, id, 'om_' || id, 'user', 'talk', 'ou_1',
				'what is ' || id || '?', created_at
			FROM turns WHERE ?1 <> '' AND ?3 > 0`,
		`INSERT INTO messages (chat_key, seq, epoch, turn_id, message_id, role, class, content, sent_at)
			SELECT chat_key, seq + 1, 0, turn_id, 'answer_' || id, 'assistant', 'talk', 'it is ' || content, sent_at
			FROM messages WHERE ?1 <> '' AND ?2 > 0 AND ?3 > 0`,
	} {
		if _, err := conn.Exec(statement, string(ids), turns, ago); err != nil {
			l.Fatalf("%v: %s", err, statement)
		}
	}
	must(l, conn.Close())
	store, err = db.Open(l.Context(), l.cfg.DB) // indexes the messages
	must(l, err)
	must(l, store.Close())
}
