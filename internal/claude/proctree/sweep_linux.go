package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Timeouts of a sweep: for the CLIs to end by themselves, and for the end of killed processes. Both count polls, not
// wall time: on a suspended machine no process can end.
const (
	sweepGrace = 5 * time.Second
	sweepLimit = 3 * time.Second
	sweepTick  = 20 * time.Millisecond
)

// Sweep ends all processes that an earlier run of the program with this instance has left behind: its CLIs, their
// descendants, and the sessions that any of these lead. It asks the CLIs to end, so that they complete their
// transcripts, kills the rest, and returns the number of processes after they have ended. No other run of the instance
// may be alive.
//
// Processes of other users are spared, except the named ones, and so are the strays of the sessions in spared, with what
// they have started.
//
// A process that has cleared its environment, leads its own session and has lost its parents is not found.
func Sweep(ctx context.Context, instance string, spared []string, users ...uint32) (killed int, err error) {
	if instance == "" {
		return 0, errors.New("sweep: no instance")
	}
	s := newSweeper(instance, spared, users)
	s.ask(ctx)
	return s.kill(ctx)
}

// ask asks the CLIs to end, and waits until they have.
func (s *sweeper) ask(ctx context.Context) {
	s.scan()
	signalAll(s.agents(), syscall.SIGTERM)
	for range sweepGrace / sweepTick {
		if len(s.agents()) == 0 || !pause(ctx, sweepTick) {
			break
		}
		s.scan()
	}
}

// kill kills all until none is left. New processes may appear meanwhile, so the scan is repeated.
func (s *sweeper) kill(ctx context.Context) (killed int, err error) {
	for range sweepLimit / sweepTick {
		s.scan()
		if len(s.alive) == 0 {
			return len(s.known), nil
		}
		Kill(s.alive)
		if !pause(ctx, sweepTick) {
			break
		}
	}
	return len(s.known), errors.Join(fmt.Errorf("sweep: %d processes do not end", len(s.alive)), ctx.Err())
}

// Stray is a CLI that an earlier run of the program has left behind.
type Stray struct{ self identity }

// Strays finds the CLIs that an earlier run with this instance has left behind and that still run, by their sessions.
func Strays(instance string, users ...uint32) map[string]Stray {
	s, strays := newSweeper(instance, nil, users), map[string]Stray{}
	s.scan()
	// What a CLI has started carries its mark, too; it is younger.
	for _, p := range s.agents() {
		session := s.sessionOf(p.pid)
		if known, ok := strays[session]; session != "" && (!ok || p.started < known.self.started) {
			strays[session] = Stray{p.identity}
		}
	}
	return strays
}

// Alive reports whether it still runs.
func (s Stray) Alive() bool {
	now, ok := readStat(s.self.pid)
	return ok && now.identity == s.self && !now.zombie
}

// sweeper remembers the processes that it has seen, since after the end of a process its descendants cannot be
// recognized any more.
type sweeper struct {
	prefix string
	spared []string // sessions
	users  []uint32
	known  map[identity]bool
	led    map[int]bool // sessions that known processes lead or have led
	alive  []Descendant
}

func newSweeper(instance string, spared []string, users []uint32) *sweeper {
	return &sweeper{
		prefix: markName + "=" + instance + "/", spared: spared, users: append(users, uint32(os.Geteuid())),
		known: map[identity]bool{}, led: map[int]bool{},
	}
}

// hasMark reports whether a process carries the mark of the instance, and not that of a spared session.
func (s *sweeper) hasMark(pid int) bool {
	return hasMark(pid, func(v string) bool { return strings.HasPrefix(v, s.prefix) }) &&
		!slices.Contains(s.spared, s.sessionOf(pid))
}

// sessionOf is the session in a process's mark; empty = none.
func (s *sweeper) sessionOf(pid int) string {
	mark, _ := environVariable(pid, markName)
	rest, ok := strings.CutPrefix(markName+"="+mark, s.prefix)
	session, _, two := strings.Cut(rest, "/")
	if !ok || !two {
		return ""
	}
	return session
}

// scan refreshes the list of living processes. A process that was seen once stays known even if it has
// lost its mark and its parent; only processes of our own users count.
func (s *sweeper) scan() {
	all := processes(0)
	var roots []stat
	for _, p := range all {
		if s.known[p.identity] || s.hasMark(p.pid) {
			roots = append(roots, p)
		}
	}
	s.alive = s.alive[:0]
	for _, p := range descendants(all, roots, s.led) {
		if owner, ok := ownerOf(p.pid); !ok || !slices.Contains(s.users, owner) {
			continue
		}
		s.known[p.identity] = true
		s.alive = append(s.alive, p)
		if p.Session == p.pid {
			s.led[p.pid] = true
		}
	}
}

// agents are the CLIs among the living processes, with their own helpers. Their tools are recognized by a variable that
// the CLI sets.
func (s *sweeper) agents() []Descendant {
	var list []Descendant
	for _, p := range s.alive {
		_, inside := environVariable(p.pid, "CLAUDECODE")
		if !inside && s.hasMark(p.pid) {
			list = append(list, p)
		}
	}
	return list
}

// ownerOf is the user of a process.
func ownerOf(pid int) (uid uint32, ok bool) {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return 0, false
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return sys.Uid, true
}
