package claude

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// descendant is a process that a process of ours has started, directly or not.
type descendant struct {
	pid     int
	session int
	started string // in ticks since boot; with pid it names a process for good
}

type stat struct {
	descendant
	parent int
}

// descendants lists all processes below pid, as /proc knows them now. A process that has lost its parent is not among them.
func descendants(pid int) []descendant {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]stat{}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := readStat(n); ok {
				children[s.parent] = append(children[s.parent], s)
			}
		}
	}
	var list []descendant
	queue := []int{pid}
	for len(queue) > 0 {
		for _, s := range children[queue[0]] {
			list = append(list, s.descendant)
			queue = append(queue, s.pid)
		}
		queue = queue[1:]
	}
	return list
}

// readStat reads /proc/<pid>/stat, see proc_pid_stat(5): pid (comm) state ppid pgrp session ... starttime as field 22.
func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // comm may hold anything
	if len(fields) < 20 || fields[0] == "Z" {
		return stat{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	session, _ := strconv.Atoi(fields[3])
	return stat{descendant{pid: pid, session: session, started: fields[19]}, parent}, true
}

// sessionOf is the session of a process, or 0 when it is gone.
func sessionOf(pid int) int {
	s, _ := readStat(pid)
	return s.session
}

// killAll kills those that still are who they were.
func killAll(list []descendant) {
	for _, d := range list {
		if now, ok := readStat(d.pid); ok && now.started == d.started {
			_ = syscall.Kill(d.pid, syscall.SIGKILL) // it may end between the look and the kill
		}
	}
}
