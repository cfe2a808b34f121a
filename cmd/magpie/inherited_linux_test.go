package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that the program has inherited from whoever called it does not reach the programs that it starts, whatever its
// number is.
func TestAttackInheritedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("canary"), 0o600))
	const cli = "#!/bin/sh\nfor fd in /proc/$$/fd/*; do readlink $fd; done >>seen\necho '2.1.330 (Claude Code)'\n"
	must(t, os.WriteFile(filepath.Join(dir, "claude"), []byte(cli), 0o700))
	cmd := magpie(t, dir, "doctor")
	for range 30 {
		f, err := os.Open(secret)
		must(t, err)
		defer f.Close() //nolint:errcheck // it was only read
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.Env = append(cmd.Env, "MAGPIE_CLAUDE_COMMAND="+filepath.Join(dir, "claude"))
	out, _ := cmd.CombinedOutput() // fails without a configuration
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatalf("the CLI was not started: %v\n%s", err, out)
	}
	if strings.Contains(string(seen), secret) {
		t.Errorf("the CLI has the caller's files:\n%s", seen)
	}
}
