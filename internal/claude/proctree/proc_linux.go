package proctree

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// identity identifies a process permanently: process ids are reused.
type identity struct {
	pid     int
	started uint64 // in ticks since boot
}

// Descendant is a process that one of ours has started, directly or not.
type Descendant struct {
	identity
	Session int // the process id of its leader
}

// stat is the data in /proc about a process.
type stat struct {
	Descendant
	parent int
	group  int
	zombie bool // it has ended and was not waited for
}

// processes lists all processes of this machine that started at or after that tick.
func processes(since uint64) []stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []stat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok && s.started >= since {
			list = append(list, s)
		}
	}
	return list
}

// descendantsOf lists all processes that a process has started: those below it in the process table, and those that
// have lost their parent but carry the mark in their environment, with the sessions that they lead. The process itself
// is not included.
func descendantsOf(of identity, mark string) []Descendant {
	all := processes(of.started) // no descendant is older
	var roots []stat
	for _, s := range all {
		if s.identity == of || hasMark(s.pid, func(v string) bool { return v == mark }) {
			roots = append(roots, s)
		}
	}
	return slices.DeleteFunc(descendants(all, roots, nil), func(d Descendant) bool { return d.identity == of })
}

// descendants lists the living processes among the roots, their descendants, and the sessions that any of them leads
// or, according to led, has led. This program and its ancestors are never included.
func descendants(all, roots []stat, led map[int]bool) []Descendant {
	parents, children, sessions := map[int]int{}, map[int][]stat{}, map[int][]stat{}
	queue := slices.Clone(roots)
	for _, s := range all {
		parents[s.pid] = s.parent
		children[s.parent] = append(children[s.parent], s)
		sessions[s.Session] = append(sessions[s.Session], s)
		if led[s.Session] {
			queue = append(queue, s)
		}
	}
	seen := map[int]bool{}
	// Marked as seen, and therefore never in the list: killing an ancestor would end this program.
	for pid := os.Getpid(); pid > 0 && !seen[pid]; pid = parents[pid] {
		seen[pid] = true
	}
	var list []Descendant
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if seen[s.pid] {
			continue
		}
		seen[s.pid] = true
		queue = append(queue, children[s.pid]...)
		if s.Session == s.pid {
			queue = append(queue, sessions[s.pid]...)
		}
		if !s.zombie {
			list = append(list, s.Descendant)
		}
	}
	return list
}

// hasMark reports whether a process carries a matching mark. The environment of other users' processes cannot be read.
func hasMark(pid int, fits func(mark string) bool) bool {
	mark, ok := environVariable(pid, markName)
	return ok && fits(markName+"="+mark)
}

// environVariable reads an environment variable with which a process was started.
func environVariable(pid int, name string) (value string, ok bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for kv := range strings.SplitSeq(string(env), "\x00") {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// readStat reads /proc/<pid>/stat, see proc_pid_stat(5): pid (comm) state ppid pgrp session ... starttime as field 22.
func readStat(pid int) (stat, bool) {
	text, ok := readShort("/proc/" + strconv.Itoa(pid) + "/stat")
	if !ok {
		return stat{}, false
	}
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // comm may contain anything
	if len(fields) < 20 {
		return stat{}, false
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(fields[i+1])
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	return stat{
		Descendant: Descendant{identity: identity{pid, started}, Session: n[2]},
		parent:     n[0], group: n[1], zombie: fields[0] == "Z" || fields[0] == "X",
	}, err == nil
}

// children lists the children of a process, see proc_pid_task_tid_children(5). It is much cheaper than reading all
// processes. Not every kernel supports it, and one child may be missing if another ends at that moment.
func children(pid int) (pids []int, ok bool) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		list, ok := readShort(tasks + "/" + e.Name() + "/children")
		if !ok {
			if _, err := os.Lstat(tasks + "/" + e.Name()); err != nil {
				continue // the thread has ended; its children moved to another one
			}
			return nil, false
		}
		if len(list) == shortFile { // there may be more
			return nil, false
		}
		for field := range strings.FieldsSeq(list) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, false
			}
			pids = append(pids, child)
		}
	}
	return pids, len(entries) > 0
}

// childless reports whether a process certainly has no children.
func childless(pid int) bool {
	pids, ok := children(pid)
	return ok && len(pids) == 0
}

// shortFile is how much readShort reads, in bytes.
const shortFile = 1024

// readShort reads as much of the beginning of a file in /proc as the kernel returns at once. Many such files are read,
// and os.ReadFile makes twice as many system calls.
func readShort(path string) (string, bool) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd) //nolint:errcheck // only read
	var buf [shortFile]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil {
		return "", false
	}
	return string(buf[:n]), true
}

// identify returns the identity of a process that is running, or has ended and was not waited for.
func identify(pid int) identity {
	s, _ := readStat(pid)
	return s.identity
}

// sessionOf is the session of a process, or 0 if it has ended.
func sessionOf(pid int) int {
	s, _ := readStat(pid)
	return s.Session
}

// Kill kills those processes whose identity is unchanged.
func Kill(list []Descendant) { signalAll(list, syscall.SIGKILL) }

// signalAll compares the start time before it signals: the pid may have been reused.
func signalAll(list []Descendant, sig syscall.Signal) {
	for _, d := range list {
		p, err := os.FindProcess(d.pid) // a handle, so that the process checked below is the one that is signalled
		if err != nil {
			continue
		}
		if now, ok := readStat(d.pid); ok && now.started == d.started && !now.zombie {
			_ = p.Signal(sig) // it may end between the check and the signal
		}
		_ = p.Release()
	}
}
