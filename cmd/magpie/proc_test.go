package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killProcess kills the chat's waiting CLI behind the bridge's back: the one that has the session's id in its
// arguments.
func (r *rig) killProcess() {
	r.Helper()
	must(r, syscall.Kill(r.agent(), syscall.SIGKILL))
}

// agent is the process that holds the private chat's session.
func (r *rig) agent() (pid int) {
	r.Helper()
	c := r.chatNow()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(r, err)
	for _, file := range files {
		args, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(args, []byte("="+c.Session.ID)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(r, err)
		return pid
	}
	r.Fatalf("no process holds session %s", c.Session.ID)
	return 0
}
