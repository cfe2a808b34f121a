package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watchedTTL is how long a bridge that is silent keeps its chats here. A busy machine makes nobody silent for so long.
const watchedTTL = 2 * placeTTL

// watched has an agent of a bridge work, says which bridge that is and which is the other one, and how often the agent acts.
func watched(t *testing.T, acts int) (x *torture, at, other *victim) {
	t.Helper()
	x = newTorture(t, 0, false, "MAGPIE_TEST_PLACE_TTL="+watchedTTL.String(), "MAGPIE_SHUTDOWN_TIMEOUT=5m")
	for _, b := range x.bridges {
		until(t, "the connection", func() bool { return b.logged("feishu: connected") > 0 })
	}
	x.say(0, 1, acts)
	at, other = x.bridges[0], x.bridges[1]
	until(t, "an act", func() bool {
		if len(other.acted()) > 0 {
			at, other = other, at
		}
		return len(at.acted()) > 5
	})
	return x, at, other
}

// until waits until something is the case.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

// say has the person of a chat give an order.
func (x *torture) say(chat, message, acts int) {
	c := x.sim.Chats()[chat]
	x.sim.Say(c.ID, c.Members[0], fmt.Sprintf("chat %d message %d: act %d times", chat, message, acts))
}

// acted are the times at which the bridge's agents have acted.
func (b *victim) acted() (at []int64) {
	data, _ := os.ReadFile(b.acts)
	for line := range strings.Lines(string(data)) {
		ns, _, _ := strings.Cut(line, "\t")
		n, _ := strconv.ParseInt(ns, 10, 64)
		at = append(at, n)
	}
	return at
}

// watchdog is the process that ends the bridge's agents; 0 = there is none.
func (b *victim) watchdog() int {
	for _, pid := range b.children() {
		if isWatchdog(pid) {
			return pid
		}
	}
	return 0
}

// An agent of a bridge that is stopped ends before another bridge takes its chat, also one that starts late. A bridge that
// goes on, and has kept its place, starts agents again.
func TestAStoppedBridgeHasNoAgents(t *testing.T) {
	t.Parallel()
	x, at, other := watched(t, 600)
	at.signal(syscall.SIGSTOP)
	until(t, "the take-over", func() bool { return x.count(`SELECT COUNT(*) FROM leases WHERE fence > 1`) > 0 })
	acts := len(at.acted())
	until(t, "acts at the other bridge", func() bool { return len(other.acted()) > 10 })
	if before, after := at.acted(), other.acted(); len(before) > acts || before[len(before)-1] > after[0] {
		t.Errorf("the agent of the stopped bridge acted %d times after another had taken its chat", len(before)-acts)
	}
	at.signal(syscall.SIGKILL)
	<-at.done

	other.signal(syscall.SIGSTOP) // nobody takes over
	acts = 0
	until(t, "the end of the acts", func() bool {
		before := acts
		time.Sleep(10 * actEvery)
		acts = len(other.acted())
		return acts == before
	})
	x.say(0, 2, 20)
	other.signal(syscall.SIGCONT)
	until(t, "the answers", func() bool {
		return x.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0 && len(other.acted()) >= acts+20
	})
}

// actEvery is the time between two acts of an agent, see the package scripted.
const actEvery = 20 * time.Millisecond

// The agents of a bridge that is killed end before another one may take its chats. What ends them is started again if it ends, inherits nothing, and ends
// with the bridge.
func TestAKilledBridgeHasNoAgents(t *testing.T) {
	t.Parallel()
	_, at, _ := watched(t, 600)
	first := 0
	until(t, "the watchdog", func() bool { first = at.watchdog(); return first != 0 })
	must(t, syscall.Kill(first, syscall.SIGKILL))
	until(t, "another watchdog", func() bool { now := at.watchdog(); return now != 0 && now != first })
	dog, children := at.watchdog(), at.children()
	if slices.Contains(children, first) {
		t.Error("the watchdog that was killed is a zombie")
	}
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(dog), name))
		must(t, err)
		for _, v := range strings.FieldsFunc(string(data), func(r rune) bool { return r == 0 }) {
			if name == "environ" && !strings.HasPrefix(v, "MAGPIE_PROCESS=") && v != "MAGPIE_WATCHDOG=1" || strings.Contains(v, "://") {
				t.Errorf("%s of the watchdog: %s", name, v)
			}
		}
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(dog), "status"))
	must(t, err)
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Rss") {
			t.Logf("watchdog: %s", strings.TrimSpace(line))
		}
	}

	began := time.Now()
	at.signal(syscall.SIGKILL)
	<-at.done
	for _, pid := range children {
		until(t, "the end of a child", func() bool {
			data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
			return err != nil || bytes.Contains(data, []byte(") Z "))
		})
	}
	t.Logf("the agents ended %v after their bridge; the last act was %v after it", time.Since(began),
		time.Unix(0, at.acted()[len(at.acted())-1]).Sub(began))
}

// A Ctrl-C reaches the bridge and all that is in its process group. Its turns end, although that takes longer than a place is
// kept without being renewed. Meanwhile it takes no chat of a bridge that dies: nobody else could answer there before its end.
func TestTurnsEndAtAShutdownOfOneOfTwoBridges(t *testing.T) {
	t.Parallel()
	const acts = int(watchedTTL * 3 / actEvery)
	x, at, other := watched(t, acts)
	must(t, syscall.Kill(-at.cmd.Process.Pid, syscall.SIGINT))
	until(t, "the end of its connection", func() bool { return x.sim.Connections() == 1 }) // it may take what comes before
	x.say(1, 1, acts)
	until(t, "an act at the other bridge", func() bool { return len(other.acted()) > 0 })
	other.signal(syscall.SIGKILL)
	<-other.done
	until(t, "the death of the other bridge", func() bool { return x.count(`SELECT COUNT(*) FROM nodes WHERE dead > 0`) > 0 })
	<-at.done
	if n := len(at.acted()); n != acts {
		t.Errorf("the agent acted %d times", n)
	}
	if x.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) != 1 {
		t.Error("the turn is not done")
	}
	if n := x.count(`SELECT COUNT(*) FROM leases WHERE fence > 1`); n != 0 {
		t.Errorf("a bridge that was stopping took %d chats", n)
	}
}
