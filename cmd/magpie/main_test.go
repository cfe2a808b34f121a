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
		"help":           {0, "Usage: magpie <command>"},
		"help serve":     {0, "Usage: magpie serve"},
		"help history":   {0, "history import <file>"},
		"--help":         {0, "Usage: magpie <command>"},
		"version":        {0, string(built)},
		"":               {0, "Usage: magpie <command>"},
		"version --json": {0, `"version":"` + strings.TrimSpace(string(built)) + `"`},
		"version serve":  {2, "magpie: unexpected argument serve\nSee magpie version --help.\n"},
		"nonsense":       {2, "magpie: unexpected argument nonsense\nSee magpie --help.\n"},
		"serve --port 1": {2, "magpie: unknown flag --port"},
		"context --chat oc_1 --message x --at yesterday": {2, `want one such as 2026-05-04, "2026-05-04 12:00"`},
		"serve": {
			2, "there is no magpie.toml here, nor in the user's or the system's configuration folder: " +
				"make one with magpie setup",
		},
		"doctor":                          {1, "there is no magpie.toml - make one with magpie setup"},
		"backup copy.db":                  {2, "make one with magpie setup"},
		"history export":                  {2, "make one with magpie setup"},
		"history import /dev/null":        {2, "make one with magpie setup"},
		"memory export memories":          {2, "make one with magpie setup"},
		"audit":                           {2, "make one with magpie setup"},
		"context --chat oc_1 --message x": {2, "make one with magpie setup"},
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
