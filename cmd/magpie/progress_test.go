package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// The progress of some work, on a clock of the test's own.
func TestProgressShowsRateAndTimeLeft(t *testing.T) {
	for _, tc := range []struct {
		after       time.Duration
		done, total int64
		count       int64
		lang        i18n.Lang
		want        string
	}{
		{0, 0, 200, 0, "en", "importing [....................]   0 %  0 messages"},
		{0, 100, 200, 7, "en", "importing [##########..........]  50 %  7 messages"},
		{10 * time.Second, 50, 200, 500, "en", "importing [#####...............]  25 %  500 messages, 50/s, 30 s left"},
		{10 * time.Second, 50, 200, 500, "zh", "导入 [#####...............]  25 %  500 条，每秒 50，还需 30 秒"},
		{time.Minute, 1, 100, 600, "en", "importing [....................]   1 %  600 messages, 10/s, 99 min 00 s left"},
		{time.Minute, 200, 200, 600, "en", "importing [####################] 100 %  600 messages, 10/s"},
		{time.Minute, 300, 200, 600, "en", "importing [####################] 100 %  600 messages, 10/s"}, // it grew
		{time.Minute, 300, 0, 600, "en", "importing 600 messages, 10/s"},                                 // from a pipe
		{time.Minute, 0, 200, 0, "en", "importing [....................]   0 %  0 messages, 0/s"},        // no progress
	} {
		p := &progress{lang: tc.lang, what: i18n.CmdImporting, unit: i18n.CmdInMessages, total: tc.total}
		if got := p.line(tc.after, tc.done, tc.count); got != tc.want {
			t.Errorf("%d of %d after %v:\n%q, want\n%q", tc.done, tc.total, tc.after, got, tc.want)
		}
	}
}

// One line is overwritten, not too often, and removed at the end. Work that was done before does not count for the
// rate.
func TestProgressOverwritesOneLine(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &progress{
		out: &out, now: func() time.Time { return now }, lang: "en", what: i18n.CmdIndexing, unit: i18n.CmdInMessages, total: 1000,
	}
	p.clear() // nothing was drawn
	p.draw(500, 500)
	now = now.Add(redraw / 2)
	p.draw(501, 501) // too soon after the last one
	now = now.Add(2 * time.Second)
	p.draw(710, 710)
	p.clear()
	const wipe = "\r\x1b[K"
	want := wipe + "indexing [##########..........]  50 %  500 messages" +
		wipe + "indexing [##############......]  71 %  710 messages, 100/s, 3 s left" + wipe
	if got := out.String(); got != want || strings.Contains(got, "\n") {
		t.Errorf("drawn: %q, want %q", got, want)
	}
}

// Progress is written to a terminal, not to a file or a pipe.
func TestProgressIsForTerminals(t *testing.T) {
	read, write, err := os.Pipe()
	must(t, err)
	p := newProgress(write, i18n.CmdCopying, i18n.CmdInMB, 10)
	p.draw(5, 5)
	p.clear()
	must(t, write.Close())
	var got bytes.Buffer
	_, err = got.ReadFrom(read)
	must(t, err)
	if got.Len() > 0 {
		t.Errorf("into a pipe: %q", got.String())
	}
	var none *progress
	none.draw(1, 1)
	none.clear()

	screen, tty, err := pty.Open()
	must(t, err)
	newProgress(tty, i18n.CmdCopying, i18n.CmdInMB, 10).draw(5, 5)
	buf := make([]byte, 200)
	n, err := screen.Read(buf)
	must(t, err)
	if !strings.Contains(string(buf[:n]), "50 %  5 MB") {
		t.Errorf("on a terminal: %q", buf[:n])
	}
	must(t, tty.Close())
	must(t, screen.Close())
}

// shownOnTerminal runs a command with its errors and progress on a terminal, and returns what that shows.
func shownOnTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	screen, tty, err := pty.Open()
	must(t, err)
	defer screen.Close() //nolint:errcheck // it is only read
	cmd.Stderr = tty
	must(t, cmd.Run())
	must(t, tty.Close())
	shown, _ := io.ReadAll(screen) // it fails at the end, as nobody has the terminal open any more
	return string(shown)
}

// Long-running commands show their progress on a terminal.
func TestCommandsShowTheirProgress(t *testing.T) {
	t.Parallel()
	p := newWorkFolder(t)
	p.write("in.jsonl", sample)
	must(t, os.Mkdir(filepath.Join(p.dir, "docs"), 0o700))
	p.write("docs/tea.md", "---\nchat: feishu:chat:oc_1\n---\ngreen tea\n")
	for _, tc := range []struct{ line, want string }{
		{"history import in.jsonl", "importing [####################] 100 %  8 messages"},
		{"history export out.jsonl", "exporting [....................]   0 %  0 messages"},
		{"backup copy.db", "backing up ["},
		{"db copy --to sqlite://other.db", "copying [#"},
		{"memory import docs", "importing ["},
		{"memory export out", "exporting ["},
	} {
		shown := shownOnTerminal(t, magpie(t, p.dir, strings.Fields(tc.line)...))
		if !strings.Contains(shown, "\r\x1b[K"+tc.want) || !strings.HasSuffix(shown, "\r\x1b[K") {
			t.Errorf("%s shows %q, want %q, and nothing at the end", tc.line, shown, tc.want)
		}
	}
}

// Each kind of work has a text.
func TestEachKindOfWorkHasAText(t *testing.T) {
	for _, w := range []engine.Work{engine.Copying, engine.Upgrading, engine.Indexing, engine.Moving, engine.Comparing} {
		if textsOfWork[w].ZH == "" || unitsOfWork[w].ZH == "" {
			t.Errorf("%s has no text", w)
		}
	}
}
