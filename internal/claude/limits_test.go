package claude

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"context"
	"errors"

	"magpie/internal/claude/workspace"
	"magpie/internal/configtype"
)

const gb = 1 << 30

// machineWith is a machine with that much memory and the files of its control groups.
func machineWith(total, free int64, group string, files map[string]string) fstest.MapFS {
	m := fstest.MapFS{
		"proc/meminfo": {Data: fmt.Appendf(nil,
			"MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\nHugePages_Total: 0\n", total>>10, free>>10)},
		"proc/self/cgroup": {Data: []byte("9:name=systemd:/\n0::" + group + "\n")},
	}
	for name, text := range files {
		m["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return m
}

func TestHowManyProcessesTheMemoryAllows(t *testing.T) {
	most := map[string]string{"memory.max": "max"}
	for name, tc := range map[string]struct {
		machine fstest.MapFS
		want    int
	}{
		"16 GB":                   {machineWith(16*gb, 15*gb, "/", nil), 68},
		"a small machine":         {machineWith(2*gb, 1*gb, "/", most), 3},
		"hardly anything is free": {machineWith(2*gb, 100<<20, "/", nil), 1},
		"a container": {machineWith(64*gb, 60*gb, "/", map[string]string{
			"memory.max": fmt.Sprint(2 * gb), "memory.current": fmt.Sprint(gb),
			"memory.stat": fmt.Sprintf("anon 5\ninactive_file %d", gb/2)}), 6},
		"a service": {machineWith(64*gb, 60*gb, "/system.slice/magpie.service", map[string]string{
			"system.slice/magpie.service/memory.max":     "max",
			"system.slice/magpie.service/memory.high":    fmt.Sprint(4 * gb),
			"system.slice/magpie.service/memory.current": "0"}), 18},
		"the group above": {machineWith(64*gb, 60*gb, "/user/a", map[string]string{
			"user/a/memory.max": fmt.Sprint(8 * gb), "user/a/memory.current": "0",
			"user/memory.max": fmt.Sprint(gb), "user/memory.current": "0"}), 3},
		"outside of its namespace": {machineWith(16*gb, 15*gb, "/../..", nil), 68},
		"not Linux":                {fstest.MapFS{}, usualKept},
	} {
		t.Run(name, func(t *testing.T) {
			l := LimitsOf(Config{Machine: tc.machine, MaxTurns: 1})
			if l.Processes != tc.want || l.Turns != 1 {
				t.Errorf("%+v, want %d", l, tc.want)
			}
		})
	}
}

func TestLimitsThatAreConfigured(t *testing.T) {
	big := machineWith(16*gb, 15*gb, "/", nil)
	for name, tc := range map[string]struct {
		turns, processes workspace.AutoCount
		want             Limits
	}{
		"both":                        {3, 5, Limits{Turns: 3, Processes: 5}},
		"a turn needs a process":      {9, 2, Limits{Turns: 2, Processes: 2, Why: Reasons{Turns: ByProcesses}}},
		"the machine for one of them": {workspace.Auto, 2, Limits{Turns: 2, Processes: 2, Why: Reasons{Turns: ByProcesses}}},
		"the memory for the processes": {4, workspace.Auto, Limits{Turns: 4, Processes: 68, Memory: 15 * gb,
			Why: Reasons{Processes: ByMemory}}},
	} {
		l := LimitsOf(Config{Machine: big, MaxTurns: tc.turns, MaxProcesses: tc.processes})
		l.machine, l.monitored, l.most, l.MaxTurns, l.MaxProcesses = nil, nil, turnLimit{}, 0, 0
		if l != tc.want {
			t.Errorf("%s: %+v, want %+v", name, l, tc.want)
		}
	}
	cores := runtime.GOMAXPROCS(0)
	if l := LimitsOf(Config{Machine: machineWith(1<<20*gb, 1<<20*gb, "/", nil)}); l.Turns != max(fewestTurns,
		turnsPerCore*cores) || l.Cores != cores || l.Why.Turns != ByCores {
		t.Errorf("for %d cores: %+v", cores, l)
	}
}

// The limits were chosen while little memory was free. They grow with it, up to what the whole machine allows, and never
// into the memory that stays free.
func TestTheLimitsGrowWithTheFreeMemory(t *testing.T) {
	const most = 73 // in 16 GB, of which a tenth stays free
	for name, tc := range map[string]struct {
		free             int64
		started          int
		turns, processes workspace.AutoCount
		want             Limits
	}{
		"nothing became free": {free: 17 * gb / 10, turns: 8, want: Limits{Turns: 1, Processes: 1}},
		"for two more": {free: 2 * gb, started: 1, turns: 8,
			want: Limits{Turns: 3, Processes: 3, Memory: 2 * gb, Why: Reasons{Turns: ByProcesses}}},
		"one is still starting": {free: 2 * gb, turns: 8,
			want: Limits{Turns: 2, Processes: 2, Memory: 2 * gb, Why: Reasons{Turns: ByProcesses}}},
		"for many": {free: 15 * gb, turns: 8, want: Limits{Turns: 8, Processes: 68, Memory: 15 * gb}},
		"for more than there are": {free: 15 * gb, started: 30, turns: 8,
			want: Limits{Turns: 8, Processes: most, Memory: 15 * gb}},
		"a configured number": {free: 15 * gb, turns: 8, processes: 2, want: Limits{Turns: 2, Processes: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			m := machineWith(16*gb, gb, "/", nil)
			pl := NewPool(Config{Machine: m, MaxTurns: tc.turns, MaxProcesses: tc.processes})
			pl.mu.Lock()
			defer pl.mu.Unlock()
			for range tc.started {
				p := &Process{out: newOutputRouter(nil)}
				p.out.markReady()
				pl.add(&entry{state: idle, p: p})
			}
			before := pl.limits
			m["proc/meminfo"] = machineWith(16*gb, tc.free, "/", nil)["proc/meminfo"]
			pl.measure()
			l := pl.limits
			grown := l != before
			if l.Turns != tc.want.Turns || l.Processes != tc.want.Processes || grown != (tc.want.Memory > 0) ||
				grown && (l.Memory != tc.want.Memory || l.Why.Turns != tc.want.Why.Turns) {
				t.Errorf("%+v, want %+v", l, tc.want)
			}
			for range l.Processes {
				if !pl.takeSlot(pl.add(&entry{state: serving})) {
					t.Fatalf("there are not %d slots", l.Processes)
				}
			}
			if pl.takeSlot(pl.add(&entry{state: serving})) {
				t.Errorf("there are more than %d slots", l.Processes)
			}
			if pl.measure(); pl.limits != l {
				t.Error("it grows further")
			}
		})
	}
}

// changingMachine is a machine whose free memory changes while it is read.
type changingMachine struct{ now atomic.Pointer[fstest.MapFS] }

// leave leaves that much of 16 GB free.
func (m *changingMachine) leave(free int64) {
	now := machineWith(16*gb, free, "/", nil)
	m.now.Store(&now)
}

func (m *changingMachine) Open(name string) (fs.File, error) { return m.now.Load().Open(name) }

// A turn that waits for a slot gets one when memory has become free, even if no other turn ends.
func TestAWaitingTurnGetsTheMemoryThatBecomesFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tight, free := machineWith(16*gb, gb, "/", nil), machineWith(16*gb, 15*gb, "/", nil)
		m := &changingMachine{}
		m.now.Store(&tight)
		pl := NewPool(Config{Machine: m})
		nothing, placed := func() {}, func(int) {}
		if err := pl.acquireTurn(t.Context(), placed, nothing); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() { waited <- pl.acquireTurn(t.Context(), placed, nothing) }()
		synctest.Wait()
		if n := pl.Stats().Waiting; n != 1 {
			t.Fatalf("%d turns wait", n)
		}
		m.now.Store(&free)
		if err := <-waited; err != nil || pl.Stats().Waiting != 0 {
			t.Errorf("%v, %+v", err, pl.Stats())
		}
	})
}

// The time for which a process is kept, and the reason.
func TestHowLongAProcessIsKept(t *testing.T) {
	known, unknown := machineWith(16*gb, 15*gb, "/", nil), fstest.MapFS{}
	for name, tc := range map[string]struct {
		machine fstest.MapFS
		keep    workspace.KeepAlive
		want    time.Duration
		why     Reason
		watched bool
	}{
		"auto":            {known, workspace.AutoKeepAlive, workspace.AutoKeepAlive.Wait(), ByMemory, true},
		"auto, not Linux": {unknown, workspace.AutoKeepAlive, usualIdle, ByUnknownMemory, false},
		"a time":          {known, workspace.KeepAlive{Duration: time.Minute}, time.Minute, Configured, false},
		"not at all":      {known, workspace.KeepAlive{Duration: 0}, 0, Configured, false},
	} {
		l := LimitsOf(Config{Machine: tc.machine, MaxTurns: 1, MaxProcesses: 2, KeepAlive: tc.keep})
		if l.Idle != tc.want || l.Why.Idle != tc.why || (l.monitored != nil) != tc.watched {
			t.Errorf("%s: %+v", name, l)
		}
	}
	for group, files := range map[string]map[string]string{
		"/":           nil,
		"/full":       {"full/memory.max": fmt.Sprint(64 * gb), "full/memory.current": "0"}, // above the machine's memory
		"/container":  {"container/memory.max": fmt.Sprint(gb), "container/memory.current": "0"},
		"/no.service": {"no.service/memory.max": "max"},
	} {
		l := LimitsOf(Config{Machine: machineWith(16*gb, 15*gb, group, files)})
		if l.ControlGroup != (group == "/container") || l.Why.Processes != ByMemory {
			t.Errorf("%s: %+v", group, l)
		}
	}
}

// A chat that was active in the last ten seconds keeps its process while there is another one; otherwise the process
// that is idle for longest goes.
func TestWhoseProcessMakesRoom(t *testing.T) {
	now := time.Now()
	spoke := func(ago ...time.Duration) (l []*entry) {
		for _, d := range ago {
			p := &Process{out: newOutputRouter(nil)}
			l = append(l, &entry{state: idle, owner: "another", p: p, active: now.Add(-d)})
		}
		return l
	}
	busy := func(l []*entry, i ...int) []*entry {
		for _, i := range i {
			l[i].p.out.unasked.tasks.running = map[string]string{"task": ""}
		}
		return l
	}
	as := func(s state, l []*entry, i ...int) []*entry {
		for _, i := range i {
			l[i].state, l[i].slot = s, true
		}
		return l
	}
	fresh := func(l []*entry, i ...int) []*entry {
		for _, i := range i {
			l[i].p.session.fresh = true
		}
		return l
	}
	own := func(l []*entry, i int) []*entry { l[i].owner = "own"; return l }
	for name, tc := range map[string]struct {
		list []*entry
		want int
	}{
		"none":                  {nil, -1},
		"the oldest":            {spoke(time.Minute, time.Hour), 0},
		"a silent chat":         {spoke(9*time.Second, time.Second, 10*time.Second, time.Hour), 2},
		"all of them talk":      {spoke(3*time.Second, 9*time.Second, time.Second), 1},
		"in the background":     {busy(spoke(time.Hour, time.Minute), 0), 1},
		"one that talks goes":   {busy(spoke(time.Hour, time.Second), 0), 1},
		"all in the background": {busy(spoke(time.Hour, time.Minute), 0, 1), 0},
		"without a turn":        {fresh(spoke(time.Hour, time.Second, time.Minute), 1, 2), 2},
		"its own":               {own(spoke(time.Hour, time.Second), 1), 1},
		"an errand":             {as(running, own(spoke(time.Hour, time.Hour, time.Hour, time.Hour), 3), 1, 2), 2},
		"a spare one":           {as(spare, as(running, spoke(time.Hour, time.Hour, time.Hour), 1), 2), 2},
		"all are needed":        {as(serving, as(ending, as(yielded, spoke(time.Hour, time.Hour, time.Hour), 0), 1), 2), -1},
	} {
		pl := &Pool{table: tc.list}
		if got := slices.Index(tc.list, pl.leastNeeded("own", now)); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// A task that never gets a slot gives up and starts nothing.
func TestATaskDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := NewPool(Config{MaxProcesses: 1, TaskLimit: configtype.Duration{Duration: time.Minute}})
		pl.add(&entry{state: serving, slot: true})
		began := time.Now()
		_, err := pl.RunErrand(context.Background(), Errand{System: "Sum up.", Text: "words"})
		if took := time.Since(began); !errors.Is(err, ErrErrandBusy) || took != maxQuietWait || pl.Stats().Started != 0 {
			t.Errorf("%v after %v, %+v", err, took, pl.Stats())
		}
	})
}

// A task starts after the chats have been quiet for a while, not in the first pause.
func TestATaskWaitsForAQuietPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := NewPool(Config{MaxProcesses: 1})
		began := time.Now()
		go func() {
			for range 20 {
				time.Sleep(quietPeriod - time.Millisecond)
				pl.noteActivity("a", time.Now())
			}
		}()
		err := pl.awaitQuiet(context.Background(), &entry{state: running}, quietPeriod)
		if took := time.Since(began); err != nil || took != 20*(quietPeriod-time.Millisecond)+quietPeriod {
			t.Fatalf("%v after %v", err, took)
		}
	})
}

// A process that was started ahead of a turn waits for a minute, one that is very likely to be used for half an hour.
func TestHowLongAnUnusedProcessWaits(t *testing.T) {
	for keep, want := range map[workspace.KeepAlive]time.Duration{
		workspace.AutoKeepAlive: 30 * time.Minute, {Duration: 5 * time.Minute}: 5 * time.Minute, {Duration: time.Second}: time.Minute,
	} {
		c := workspace.Defaults()
		c.KeepAlive, c.Machine = keep, machineWith(16*gb, 15*gb, "/", nil)
		pl := NewPool(c)
		if pl.shortWait() != time.Minute || pl.longWait() != want {
			t.Errorf("%v: %v, and %v for a new conversation", keep, pl.shortWait(), pl.longWait())
		}
	}
}

// Each sign has a process that was started ahead of a turn wait anew. One that has served turns is kept no longer.
func TestASignProlongsTheWait(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pl := newFakePool(Config{MaxProcesses: 1})
			p, err := pl.begin(nil, Spec{})
			must(t, err)
			p.session.fresh = fresh
			pl.mu.Lock()
			e := pl.add(&entry{owner: "a", p: p})
			pl.keep(e, idle, time.Minute)
			pl.mu.Unlock()
			time.Sleep(50 * time.Second)
			if !pl.Prolong("a") || pl.Prolong("b") {
				t.Error("not whose process it is")
			}
			for _, held := range []bool{fresh, false} {
				if time.Sleep(50 * time.Second); pl.Holds("a") != held {
					t.Errorf("fresh: %t; held: %t", fresh, !held)
				}
			}
			<-e.gone
		})
	}
}

// A process ends if its memory is needed, even below the allowed number of processes.
func TestNothingIsKeptBelowTheReserve(t *testing.T) {
	m := machineWith(16*gb, 15*gb, "/", nil)
	l := LimitsOf(Config{Machine: m})
	if l.machine.memory().isTight(1) {
		t.Error("15 GB are not enough")
	}
	m["proc/meminfo"] = machineWith(16*gb, 17*gb/10, "/", nil)["proc/meminfo"]
	if now := l.machine.memory(); now.isTight(0) || !now.isTight(1) {
		t.Error("a tenth stays free")
	}
}
