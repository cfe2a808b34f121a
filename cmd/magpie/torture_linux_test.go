package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/db/dbtest"
	"magpie/db/postgres"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/proctree"
	"magpie/internal/feishusim"
	"magpie/internal/pgtest"
)

var (
	tortures  = flag.Int("tortures", 0, "how many seeds the tests of two bridges that are tortured try; 0 = one, and none without the check")
	firstSeed = flag.Int("torture-seed", 1, "the first of these seeds")
)

// placeTTL is how long a bridge that is silent keeps its chats in these tests, in place of 15 s.
const placeTTL = 3 * time.Second

// victim is one of two bridges that serve an app from one database. Each has its own folders.
type victim struct {
	dir  string
	env  []string
	acts string // what its agents do, see the package scripted
	// unchecked = its agents do not end when it does not renew its place
	unchecked bool
	cmd       *exec.Cmd
	log       *os.File
	done      chan struct{} // closed when it has ended
}

// run starts the bridge, as its service manager does.
func (b *victim) run(t testing.TB) {
	cmd := exec.Command(binary(t), "serve")
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout, cmd.SysProcAttr = b.dir, b.env, b.log, b.log, proctree.OwnGroup()
	must(t, cmd.Start())
	b.cmd, b.done = cmd, make(chan struct{})
	go func(done chan struct{}) { _ = cmd.Wait(); close(done) }(b.done)
}

// running reports whether it has not ended.
func (b *victim) running() bool {
	select {
	case <-b.done:
		return false
	default:
		return true
	}
}

func (b *victim) signal(s syscall.Signal) { _ = b.cmd.Process.Signal(s) } // it may have ended

// children are the processes that it has started.
func (b *victim) children() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		data, err := os.ReadFile(file)
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(b.cmd.Process.Pid) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		pids = append(pids, pid)
	}
	return pids
}

// isWatchdog reports whether a process ends the agents of a bridge that cannot.
func isWatchdog(pid int) bool {
	data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return bytes.HasPrefix(data, []byte("magpie-watchdog"))
}

// pause stops the machine of the bridge for a while, as it were, or the bridge alone, and its agents work on. If they are
// stopped, too, the bridge is the first that goes on; they do as soon as it has seen that it was stopped.
func (b *victim) pause(d time.Duration, alone bool) {
	b.signal(syscall.SIGSTOP)
	var agents []int
	if !alone {
		agents = b.children()
	}
	for _, pid := range agents {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	time.Sleep(d)
	const seen = "the place in the database is not renewed"
	before := b.logged(seen)
	b.signal(syscall.SIGCONT)
	for range 100 {
		if d < placeTTL || alone || b.unchecked || !b.running() ||
			b.logged(seen) > before && !slices.ContainsFunc(b.children(), func(pid int) bool { return !isWatchdog(pid) }) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range agents {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

func (b *victim) logged(text string) int {
	data, _ := os.ReadFile(b.log.Name())
	return bytes.Count(data, []byte(text))
}

// torture is two bridges, and people who write to both.
type torture struct {
	testing.TB
	seed    uint64
	rand    *rand.Rand
	sim     *feishusim.Server
	server  *pgtest.Server
	proxy   *pgtest.Proxy
	bridges []*victim
	rooms   []string
	did     map[string]int
	by      map[string]int // prompts by bridge
}

const (
	tortureChats = 16
	tortureEach  = 4
)

func newTorture(t testing.TB, seed uint64, unchecked bool, env ...string) *torture {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{Redeliver: slices.Repeat([]time.Duration{time.Second}, 600)})
	must(t, err)
	t.Cleanup(func() { _ = sim.Close() })
	x := &torture{TB: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), sim: sim, did: map[string]int{}, by: map[string]int{}}
	x.server = pgtest.Start(t, pgtest.Config{})
	x.proxy = pgtest.NewProxy(t, x.server)
	for i := range tortureChats {
		x.rooms = append(x.rooms, sim.PrivateChat(sim.AddUser(fmt.Sprintf("user %d", i))))
	}
	command := claudetest.Scripted(t)
	top, err := os.MkdirTemp("", fmt.Sprintf("magpie-torture-%d-", seed))
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d: the logs are in %s", seed, top)
			return
		}
		must(t, os.RemoveAll(top))
	})
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Join(dir, "work"), 0o700))
		b := &victim{dir: dir, acts: filepath.Join(top, name+".acts"), unchecked: unchecked}
		must(t, os.WriteFile(b.acts, nil, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "magpie.toml"), fmt.Appendf(nil, `data = "data"
node = %q
[feishu]
app_id = %q
app_secret = %q
base_url = %q
[claude]
command = %q
project = %q
spare = 0
suggestions = false
[claude.env]
MAGPIE_SCRIPTED_TRANSCRIPT = "1"
MAGPIE_SCRIPTED_ACTS = %q
[context]
titles = false
[db]
url = %q
[access]
allow = ["*"]
`, name, sim.AppID(), sim.AppSecret(), sim.URL(), command, filepath.Join(dir, "work"), b.acts, x.proxy.URL("postgres")), 0o600))
		b.env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "ANTHROPIC_API_KEY=sk-test-dummy",
			"MAGPIE_TEST_PLACE_TTL=" + placeTTL.String(),
		}
		if unchecked {
			b.env = append(b.env, "MAGPIE_TEST_SKIP=pool: suspended")
		}
		b.env = append(b.env, env...)
		b.log, err = os.OpenFile(filepath.Join(top, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(t, err)
		b.run(t)
		x.bridges = append(x.bridges, b)
		t.Cleanup(func() {
			b.signal(syscall.SIGKILL)
			<-b.done
			_ = b.log.Close()
		})
	}
	return x
}

// write has the people of all chats write, each as soon as his last message is acknowledged. Some are delivered twice.
func (x *torture) write(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i, room := range x.rooms {
		r := rand.New(rand.NewPCG(x.seed, uint64(i)+1))
		user := x.sim.Chats()[slices.IndexFunc(x.sim.Chats(), func(c feishusim.Chat) bool { return c.ID == room })].Members[0]
		all.Go(func() {
			for m := range tortureEach {
				time.Sleep(time.Duration(r.IntN(int(placeTTL))))
				acts := 5 + r.IntN(80)
				if r.IntN(4) == 0 { // for longer than a place is kept
					acts += 200
				}
				text := fmt.Sprintf("chat %d message %d: act %d times", i, m+1, acts)
				if r.IntN(3) == 0 {
					text += " and change something"
				}
				id := x.sim.Say(room, user, text)
				if r.IntN(3) == 0 {
					x.sim.Redeliver(id, r.IntN(2) == 0)
				}
				if x.sim.Await(ctx, func(v *feishusim.View) bool { return deliveries(v, id, http.StatusOK) > 0 }) != nil {
					x.Errorf("seed %d: %q is not acknowledged", x.seed, text)
					return
				}
			}
		})
	}
}

// restart has those bridges run that have ended.
func (x *torture) restart() {
	for _, b := range x.bridges {
		if !b.running() {
			x.did["starts"]++
			b.run(x)
		}
	}
}

// between is a random time.
func (x *torture) between(least, most time.Duration) time.Duration {
	return least + time.Duration(x.rand.Int64N(int64(most-least)))
}

// hurt does something to a bridge or to what it needs.
func (x *torture) hurt() {
	b := x.bridges[x.rand.IntN(len(x.bridges))]
	switch n := x.rand.IntN(100); {
	case n < 35:
		x.did["kills"]++
		b.signal(syscall.SIGKILL)
		<-b.done
		if x.rand.IntN(2) == 0 { // nobody starts it again soon
			time.Sleep(x.between(placeTTL, 2*placeTTL))
		}
	case n < 65:
		alone := x.rand.IntN(2) == 0
		x.did[map[bool]string{true: "pauses of the bridge", false: "pauses"}[alone]]++
		b.pause(x.between(placeTTL/4, placeTTL*5/2), alone)
	case n < 75:
		x.did["stops"]++
		b.signal(syscall.SIGTERM)
		select {
		case <-b.done:
		case <-time.After(time.Minute):
			x.Error("a bridge does not stop")
			b.signal(syscall.SIGQUIT) // its log tells what it waits for
			<-b.done
		}
	case n < 83:
		x.did["broken"]++
		x.proxy.Break()
	case n < 90:
		x.did["dropped"]++
		x.sim.DropConnections(x.rand.IntN(2) == 0)
	default:
		x.did["outages"]++
		end := x.server.Stop
		if x.rand.IntN(2) == 0 {
			end = x.server.Kill
		}
		must(x, end())
		time.Sleep(x.between(0, placeTTL))
		must(x, x.server.Start(context.WithoutCancel(x.Context())))
	}
}

// count counts rows.
func (x *torture) count(query string) (n int) {
	side, err := sql.Open("pgx", x.server.URL("postgres"))
	must(x, err)
	must(x, errors.Join(side.QueryRowContext(x.Context(), query).Scan(&n), side.Close()))
	return n
}

// run tortures the bridges while people write, and waits until all is answered.
func (x *torture) run() {
	ctx, cancel := context.WithTimeout(x.Context(), 3*time.Minute)
	defer cancel()
	for _, b := range x.bridges {
		for b.logged("feishu: connected") == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	written := make(chan struct{})
	go func() { x.write(ctx); close(written) }()
	for writing, n := true, 0; writing || n < 4; n++ {
		time.Sleep(x.between(placeTTL/10, placeTTL/2))
		x.hurt()
		x.restart()
		select {
		case <-written:
			writing = false
		default:
		}
	}
	for x.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`)+
		x.count(`SELECT COUNT(*) FROM outbox`)+x.count(`SELECT COUNT(*) FROM forwarded`) > 0 {
		if ctx.Err() != nil {
			x.Errorf("seed %d: it is not all answered: %d turns, %d posts, %d events", x.seed,
				x.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`),
				x.count(`SELECT COUNT(*) FROM outbox`), x.count(`SELECT COUNT(*) FROM forwarded`))
			for _, b := range x.bridges {
				b.signal(syscall.SIGQUIT) // its log tells what it waits for
				<-b.done
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
		x.restart()
	}
}

// work is what an agent has done about a prompt.
type work struct {
	bridge, process string
	chat            int
	messages        []int
	knows           []int // earlier messages that the agent was told
	from, to        int64 // ns
}

var inPrompt = regexp.MustCompile(`chat (\d+) message (\d+): act`)

// work reads what the agents have done, by chat and in the order in which they began.
func (x *torture) work() [][]work {
	list := make([][]work, tortureChats)
	for i, b := range x.bridges {
		data, err := os.ReadFile(b.acts)
		must(x, err)
		latest := map[string]*work{} // by process
		var all []*work
		for line := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
			at, err := strconv.ParseInt(f[0], 10, 64)
			must(x, err)
			if f[3] != "" {
				prompt, err := strconv.Unquote(f[3])
				must(x, err)
				w := &work{bridge: string("ab"[i]), process: f[1], from: at}
				history, question, _ := readPrompt(prompt)
				w.chat, w.messages = named(question)
				for _, e := range history {
					_, said := named(e.Text)
					w.knows = append(w.knows, said...)
				}
				if before := latest[f[1]]; before != nil { // it still has what it was told before
					w.knows = slices.Concat(before.knows, before.messages, w.knows)
				}
				latest[f[1]] = w
				all = append(all, w)
			}
			latest[f[1]].to = at
		}
		for _, w := range all {
			list[w.chat] = append(list[w.chat], *w)
		}
	}
	for _, l := range list {
		slices.SortFunc(l, func(a, b work) int { return int(a.from - b.from) })
	}
	return list
}

// named are the messages that a text names, and their chat.
func named(text string) (chat int, messages []int) {
	for _, m := range inPrompt.FindAllStringSubmatch(text, -1) {
		chat, _ = strconv.Atoi(m[1])
		n, _ := strconv.Atoi(m[2])
		messages = append(messages, n)
	}
	return chat, messages
}

// overlaps says where two agents of a chat have worked at once.
func (x *torture) overlaps() (list []string) {
	for i, l := range x.work() {
		for k := 1; k < len(l); k++ {
			if before, w := l[k-1], l[k]; w.from < before.to && w.process != before.process {
				list = append(list, fmt.Sprintf("chat %d: %s%s and %s%s for %v", i, before.bridge, before.process, w.bridge, w.process,
					time.Duration(min(before.to, w.to)-w.from)))
			}
		}
	}
	return list
}

// check checks that nothing was lost, doubled or done in another order.
func (x *torture) check() {
	if n := x.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); n != tortureChats*tortureEach {
		x.Errorf("seed %d: %d messages are stored", x.seed, n)
	}
	if n := x.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`); n > 0 {
		x.Errorf("seed %d: %d turns have not ended", x.seed, n)
	}
	works := x.work()
	for i, l := range works {
		reached, newest := map[int]bool{}, 0
		for k, w := range l {
			x.by[w.bridge]++
			if k > 0 && l[k-1].bridge != w.bridge {
				x.did["moves"]++
				if m := l[k-1].messages[0]; !slices.Contains(slices.Concat(w.knows, w.messages), m) {
					x.Errorf("seed %d: chat %d: at another bridge message %d is not known", x.seed, i, m)
				}
			}
			for _, m := range w.messages {
				reached[m] = true
			}
			if last := slices.Max(w.messages); last < newest {
				x.Errorf("seed %d: chat %d: message %d after %d", x.seed, i, last, newest)
			} else {
				newest = last
			}
		}
		told := x.count(fmt.Sprintf(`SELECT COUNT(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.role = 'user'
			AND t.chat_key = 'feishu:chat:%s' AND t.state IN ('interrupted', 'failed')`, x.rooms[i]))
		if len(reached)+told < tortureEach {
			x.Errorf("seed %d: chat %d: messages %v have reached an agent:\n%s", x.seed, i, reached, x.visible(i))
		}
		shown, last := 0, 0
		for _, m := range x.sim.Messages(x.rooms[i]) {
			if !m.FromBot || m.Deleted {
				continue
			}
			shown++
			if m.Last().Streaming || running(m) {
				x.Errorf("seed %d: chat %d: a card streams on: %q", x.seed, i, m.Text())
			}
			if answer := inPrompt.FindStringSubmatch(m.Text()); answer != nil {
				n, _ := strconv.Atoi(answer[2])
				if n <= last {
					x.Errorf("seed %d: chat %d: message %d is answered after %d", x.seed, i, n, last)
				}
				last = n
			}
		}
		if turns := x.count(fmt.Sprintf(`SELECT COUNT(*) FROM turns WHERE chat_key = 'feishu:chat:%s'`, x.rooms[i])); shown != turns {
			x.Errorf("seed %d: chat %d: %d answers of %d turns are visible:\n%s", x.seed, i, shown, turns, x.visible(i))
		}
	}
	x.Logf("seed %d: %v, prompts by bridge %v, failed %d, interrupted %d, attempts again %d, refused %d", x.seed, x.did, x.by,
		x.count(`SELECT COUNT(*) FROM turns WHERE state = 'failed'`),
		x.count(`SELECT COUNT(*) FROM turns WHERE state = 'interrupted'`),
		x.count(`SELECT COUNT(*) FROM turns WHERE attempts > 1`), x.refused())
}

// refused is how often a bridge was told that it must not write any more.
func (x *torture) refused() (n int) {
	for _, b := range x.bridges {
		n += b.logged(postgres.ErrShutOut.Error())
	}
	return n
}

// visible is what is visible in a chat.
func (x *torture) visible(i int) string {
	var b strings.Builder
	fmt.Fprintln(&b, x.rooms[i])
	for _, m := range x.sim.Messages(x.rooms[i]) {
		fmt.Fprintf(&b, "%v %s\n", m.FromBot, m.Text())
	}
	return b.String()
}

// Two bridges are killed, stopped for longer than their places are kept, and lose their connections and the database's
// server, while people write in many chats: everything is answered once, in its order, no chat has two agents at work, and
// what is asked at another bridge is answered with what was said before.
func TestTwoBridgesUnderTorture(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	for i := range max(*tortures, 1) {
		seed := uint64(*firstSeed + i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			x := newTorture(t, seed, false)
			x.run()
			x.check()
			for _, o := range x.overlaps() {
				t.Errorf("seed %d: two agents at once: %s", seed, o)
			}
		})
	}
}

// Agents that do not end with their bridge's place work beside those of the bridge that takes over, and what it wants to
// write then is refused. So the test above sees it.
func TestTwoBridgesWithoutTheCheck(t *testing.T) {
	if *tortures == 0 {
		t.Skip("in many seeds only: -tortures 100")
	}
	t.Parallel()
	var overlaps, refused, seeds atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d overlaps in %d of %d seeds, %d writes refused", overlaps.Load(), seeds.Load(), *tortures, refused.Load())
		if overlaps.Load() == 0 || refused.Load() == 0 {
			t.Error("it proves nothing")
		}
	})
	for i := range *tortures {
		seed := uint64(*firstSeed + i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			x := newTorture(t, seed, true)
			x.run()
			n, stale := len(x.overlaps()), x.refused()
			t.Logf("seed %d: %v, %d overlaps, %d writes refused", seed, x.did, n, stale)
			overlaps.Add(int64(n))
			refused.Add(int64(stale))
			if n > 0 {
				seeds.Add(1)
			}
		})
	}
}
