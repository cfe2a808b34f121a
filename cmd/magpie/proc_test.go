package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killProcess kills the chat's idle CLI without the bridge: the one with the session's id in its arguments.
func (r *rig) killProcess() {
	r.Helper()
	must(r, syscall.Kill(r.agent(), syscall.SIGKILL))
}

// agent is the process with the session of the running turn, or of the private chat.
func (r *rig) agent() (pid int) {
	r.Helper()
	session := r.chatNow().Session.ID
	running, err := r.store().Turns().Running(r.Context())
	must(r, err)
	if len(running) == 1 {
		session = running[0].Session
	}
	if session == "" {
		r.Fatal("the chat has no session")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(r, err)
	for _, file := range files {
		args, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(args, []byte("="+session)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(r, err)
		return pid
	}
	r.Fatalf("no process holds session %s", session)
	return 0
}
