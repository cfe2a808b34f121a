package main

import "testing"

// A bridge that has to bring its database up to date first, here from nothing, shows that on a terminal.
func TestTheBridgeShowsTheWorkOnItsDatabase(t *testing.T) {
	t.Parallel()
	dir, sim := t.TempDir(), startSim(t)
	writeService(t, dir, sim, "[log]\nformat = \"console\"\n")
	term := openTerminal(t, magpie(t, dir, "serve"))
	term.await("\r\x1b[Kupgrading [")
	term.await("Connected to Feishu as")
	_, err := term.tty.WriteString("\x03")
	must(t, err)
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, term)
	}
}
