package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// A rule that allows reading everything does not cover the program's own files: its configuration, its secrets, and its
// data, except for the chat's own files.
func TestABareReadDoesNotReachTheProgram(t *testing.T) {
	const secret = "canary-of-the-program"
	dir := t.TempDir()
	own := map[string]string{"config": filepath.Join(dir, "magpie.toml"), "secret": filepath.Join(dir, "secret")}
	free := filepath.Join(dir, "free.txt")
	r := newRig(t, realCLI(t), func(c *config.Config) {
		data := filepath.Dir(databaseOf(*c))
		own["data"], own["another chat"] = filepath.Join(data, "notes.txt"),
			filepath.Join(data, "files", "0a1b2c3d4e5f", "notes.txt")
		c.File, c.Claude.AllowedTools = own["config"], []string{"Read"}
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
