package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/chat"
)

// A chat whose session lies with those of the machine's user goes on with it after an upgrade, in a folder of its own.
func TestASessionIsMovedAtTheFirstStart(t *testing.T) {
	r := newRig(t, realCLI(t))
	r.ask("我叫小明")
	session := r.lastSession()
	path := r.transcriptPath()
	agents := r.prog.pool.Config().State
	r.stop()
	machine := ""
	for _, v := range r.cfg.Claude.Environ {
		if dir, ok := strings.CutPrefix(v, "CLAUDE_CONFIG_DIR="); ok {
			machine = dir
		}
	}
	old := filepath.Join(machine, "projects", filepath.Base(filepath.Dir(path)), filepath.Base(path))
	must(t, os.MkdirAll(filepath.Dir(old), 0o700))
	must(t, os.Rename(path, old))
	must(t, os.RemoveAll(agents))
	r.sql(`UPDATE agent_folders SET moved = 0`)
	r.start()
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if got := r.lastSession(); got != session {
		t.Errorf("session %q, want %q", got, session)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the transcript is still among those of the machine's user")
	}
	if n := r.count(`SELECT COUNT(*) FROM agent_folders WHERE moved = 0`); n != 0 {
		t.Errorf("%d folders are without their sessions", n)
	}
	id := strings.Split(strings.TrimPrefix(r.transcriptPath(), agents+string(filepath.Separator)), string(filepath.Separator))[0]
	if whose, err := r.prog.store.Folders().Chat(t.Context(), id); whose != chat.FeishuChat(r.chat) || err != nil {
		t.Errorf("%s is the folder of %v, %v", id, whose, err)
	}
}
