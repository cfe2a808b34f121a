package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// progress shows the progress, speed and remaining time of some work on a terminal, in one line that is overwritten.
// Without a terminal it prints nothing. It does not use a library's progress bar: the maintained ones show rate and
// remaining time in English only.
type progress struct {
	out   io.Writer // nil = not a terminal
	now   func() time.Time
	lang  i18n.Lang
	what  i18n.Phrase // the work
	unit  i18n.Phrase // what is counted
	total int64       // of the done argument of draw; 0 = unknown

	began, drawn  time.Time // zero = not yet
	from, counted int64     // done and count at the beginning
}

// newProgress draws only on a terminal; in a log file the escape sequences would be noise.
func newProgress(f *os.File, what, unit i18n.Phrase, total int64) *progress {
	p := &progress{now: time.Now, lang: userLang(), what: what, unit: unit, total: total}
	if isatty.IsTerminal(f.Fd()) {
		p.out = f
	}
	return p
}

// redraw is slow enough not to slow down the work, and fast enough to look alive.
const redraw = 200 * time.Millisecond

// draw redraws the line, at most once per redraw interval: done of the total, which is count units.
func (p *progress) draw(done, count int64) {
	if p == nil || p.out == nil {
		return
	}
	now := p.now()
	if p.began.IsZero() {
		p.began, p.from, p.counted = now, done, count
	}
	if now.Sub(p.drawn) < redraw {
		return
	}
	p.drawn = now
	_, _ = io.WriteString(p.out, "\r\x1b[K"+p.line(now.Sub(p.began), done, count))
}

// drawFunc draws work that counts itself; nil if nobody sees it, so that nothing is counted for that alone.
func (p *progress) drawFunc() func(done, total int) {
	if p.out == nil {
		return nil
	}
	return func(done, total int) {
		p.total = int64(total)
		p.draw(int64(done), int64(done))
	}
}

// clear removes the line, so that the next output starts on an empty one.
func (p *progress) clear() {
	if p != nil && p.out != nil && !p.drawn.IsZero() {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// speedAfter is when rate and remaining time become meaningful.
const speedAfter = time.Second

// line is the content after that time. Without a total it has only the count and the rate.
func (p *progress) line(after time.Duration, done, count int64) string {
	s := p.what.In(p.lang) + " "
	if p.total > 0 {
		const width = 20
		share := min(float64(done)/float64(p.total), 1)
		full := int(share * width)
		s += fmt.Sprintf("[%s%s] %3.0f %%  ", strings.Repeat("#", full), strings.Repeat(".", width-full), share*100)
	}
	s += p.unit.Sprintf(p.lang, count)
	if after < speedAfter {
		return s
	}
	s += i18n.CmdRate.Sprintf(p.lang, float64(count-p.counted)/after.Seconds())
	if moved := done - p.from; p.total > done && moved > 0 {
		left := time.Duration(float64(after) * float64(p.total-done) / float64(moved))
		s += i18n.CmdTimeLeft.Sprintf(p.lang, i18n.Duration(max(left, time.Second), p.lang))
	}
	return s
}

// The kinds of database work, and their units.
var (
	textsOfWork = map[engine.Work]i18n.Phrase{
		engine.Copying: i18n.CmdCopying, engine.Upgrading: i18n.CmdUpgrading, engine.Indexing: i18n.CmdIndexing,
		engine.Moving: i18n.CmdMoving, engine.Comparing: i18n.CmdComparing,
	}
	unitsOfWork = map[engine.Work]i18n.Phrase{
		engine.Copying: i18n.CmdInMB, engine.Upgrading: i18n.CmdInSteps, engine.Indexing: i18n.CmdInMessages,
		engine.Moving: i18n.CmdInRows, engine.Comparing: i18n.CmdInRows,
	}
)

// databaseWork shows the work that a database may need before it can be used, such as after an upgrade, until end is
// called.
func databaseWork() (show func(w engine.Work, done, total int64), end func()) {
	var now *progress
	var work engine.Work
	over := false
	show = func(w engine.Work, done, total int64) {
		if over {
			return
		}
		if w != work {
			now.clear()
			work, now = w, newProgress(os.Stderr, textsOfWork[w], unitsOfWork[w], total)
		}
		now.total = total
		count := done
		if w == engine.Copying {
			count /= 1e6
		}
		now.draw(done, count)
	}
	return show, func() {
		over = true
		now.clear()
	}
}
