package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/config"
	"magpie/internal/modelsim"
)

// After an upgrade, a session in the home folder of the machine's user is moved to the chat's own folder and resumed.
func TestASessionIsMovedAtTheFirstStart(t *testing.T) {
	r := newRig(t)
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
		t.Errorf("%d folders lack their sessions", n)
	}
	const slash = string(filepath.Separator)
	id := strings.Split(strings.TrimPrefix(r.transcriptPath(), agents+slash), slash)[0]
	if whose, err := r.prog.store.Folders().Chat(t.Context(), id); whose != chat.FeishuChat(r.chat) || err != nil {
		t.Errorf("%s is the folder of %v, %v", id, whose, err)
	}
}

// A rule that allows reading everything does not cover the program's own files: its configuration, its secrets, and its
// data, except for the chat's own files.
func TestABareReadDoesNotReachTheProgram(t *testing.T) {
	const secret = "canary-of-the-program"
	dir := t.TempDir()
	own := map[string]string{"config": filepath.Join(dir, "magpie.toml"), "secret": filepath.Join(dir, "secret")}
	free := filepath.Join(dir, "free.txt")
	r := newRig(t, realCLI(t), func(c *config.Config) {
		data := filepath.Dir(strings.TrimPrefix(c.DB.URL, "sqlite://"))
		own["data"], own["another chat"] = filepath.Join(data, "notes.txt"),
			filepath.Join(data, "files", "0a1b2c3d4e5f", "notes.txt")
		c.Feishu.File, c.Claude.AllowedTools = own["config"], []string{"Read"}
		c.Claude.Environ = append(c.Claude.Environ, "MAGPIE_FEISHU_APP_SECRET_FILE="+own["secret"])
		must(t, os.MkdirAll(filepath.Dir(own["another chat"]), 0o700))
		for _, path := range own {
			must(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
		}
		must(t, os.WriteFile(free, []byte("free to read\n"), 0o600))
	})
	var steps []modelsim.Step
	for _, path := range own {
		steps = append(steps, modelsim.Tool("Read", map[string]string{"file_path": path}))
	}
	r.calls(append(steps, modelsim.Tool("Read", map[string]string{"file_path": free}))...)
	r.ask("看看")
	list := r.model.Requests()
	last := string(list[len(list)-1].Body)
	if strings.Contains(last, secret) || !strings.Contains(last, "free to read") ||
		strings.Count(last, `"is_error":true`) != len(own) {
		t.Errorf("the agent could read %s", last[strings.Index(last, "tool_use"):])
	}
}
