package claude

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// relative is a process that one of ours has started, directly or not.
type relative struct {
	pid     int
	session int
	started string // in ticks since boot; with pid it names a process for good
}

type stat struct {
	relative
	parent int
}

// family lists all processes that pid has started, as /proc knows them now: those below it, and those that have lost
// their parent but carry the mark in their environment. pid itself is not among them.
func family(pid int, mark string) []relative {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]stat{}
	var queue []stat
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		s, ok := readStat(n)
		if !ok {
			continue
		}
		children[s.parent] = append(children[s.parent], s)
		if n == pid || marked(n, mark) {
			queue = append(queue, s)
		}
	}
	seen := map[int]bool{pid: true}
	var list []relative
	for len(queue) > 0 {
		s := queue[0]
		queue = append(queue[1:], children[s.pid]...)
		delete(children, s.pid)
		if !seen[s.pid] {
			seen[s.pid] = true
			list = append(list, s.relative)
		}
	}
	return list
}

// marked reports whether a process has the mark in its environment. Those of other users cannot be read.
func marked(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(mark))
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
	return stat{relative{pid: pid, session: session, started: fields[19]}, parent}, true
}

// sessionOf is the session of a process, or 0 when it is gone.
func sessionOf(pid int) int {
	s, _ := readStat(pid)
	return s.session
}

// killAll kills those that still are who they were.
func killAll(list []relative) {
	for _, d := range list {
		if now, ok := readStat(d.pid); ok && now.started == d.started {
			_ = syscall.Kill(d.pid, syscall.SIGKILL) // it may end between the look and the kill
		}
	}
}
