package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
)

// progress shows a progress bar on a terminal. It prints nothing elsewhere.
type progress struct {
	out   io.Writer // nil = not a terminal
	total int64     // 0 = not known
	unit  string
	drawn time.Time
}

// newProgress draws only on a terminal; in a log file the escape sequences would be noise.
func newProgress(f *os.File, total int64, unit string) *progress {
	p := &progress{total: total, unit: unit}
	if isatty.IsTerminal(f.Fd()) {
		p.out = f
	}
	return p
}

// redraw is slow enough not to slow down the import, and fast enough to look alive.
const redraw = 200 * time.Millisecond

// show redraws the bar, at most once per redraw interval.
func (p *progress) show(done int64, count int) {
	if p.out == nil || time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	_, _ = io.WriteString(p.out, "\r\x1b[K"+bar(done, p.total, count, p.unit))
}

// clear removes the bar, so that the next output starts on an empty line.
func (p *progress) clear() {
	if p.out != nil {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// bar renders the bar; without a known total only the count.
func bar(done, total int64, count int, unit string) string {
	if total <= 0 {
		return fmt.Sprintf("%d %s", count, unit)
	}
	const width = 30
	share := min(float64(done)/float64(total), 1)
	full := int(share * width)
	return fmt.Sprintf("[%s%s] %3.0f %%  %d %s",
		strings.Repeat("#", full), strings.Repeat(".", width-full), share*100, count, unit)
}
