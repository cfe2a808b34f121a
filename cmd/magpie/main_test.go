package main

import (
	"bytes"
	"strings"
	"testing"
)

// The first things that people try, such as help or a start without a configuration, are answered by what to do.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	built, err := magpie(t, dir, "--version").Output()
	if err != nil || len(bytes.TrimSpace(built)) == 0 {
		t.Fatalf("version %q, %v", built, err)
	}
	for line, tc := range map[string]struct {
		code int
		want string
	}{
		"help":          {0, "Usage: magpie <command>"},
		"help serve":    {0, "Usage: magpie serve"},
		"help history":  {0, "history import <file>"},
		"--help":        {0, "Usage: magpie <command>"},
		"version":       {0, string(built)},
		"version serve": {80, "unexpected argument version"},
		"nonsense":      {80, "unexpected argument nonsense"},
		"serve": {
			2, "there is no magpie.toml here, nor in the user's or the system's configuration folder: " +
				"make one with magpie setup",
		},
		"doctor": {1, "there is no magpie.toml - make one with magpie setup"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := magpie(t, dir, strings.Fields(line)...)
			out, _ := cmd.CombinedOutput() // its exit code is looked at below
			if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(string(out), tc.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got, tc.code, tc.want, out)
			}
			if strings.Contains(string(out), "app_id is empty") {
				t.Errorf("it reports mistakes in a configuration that does not exist:\n%s", out)
			}
		})
	}
}
