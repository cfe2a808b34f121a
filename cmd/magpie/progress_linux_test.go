package main

import (
	"strings"
	"testing"
)

// A new database is no upgrade, so a terminal shows none.
func TestANewDatabaseIsNoUpgrade(t *testing.T) {
	t.Parallel()
	dir, sim := t.TempDir(), startSim(t)
	writeService(t, dir, sim, "[log]\nformat = \"console\"\n")
	term := openTerminal(t, magpie(t, dir, "serve"))
	term.await("Connected to Feishu as")
	if strings.Contains(term.String(), "upgrading") {
		t.Errorf("shown:\n%s", term)
	}
	_, err := term.tty.WriteString("\x03")
	must(t, err)
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
}
