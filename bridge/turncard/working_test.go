package turncard

import (
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// The time in the footer is that of work: waits for people, however many are asked at once, and for other answers are not
// part of it, also if the turn starts over.
func TestTheFooterCountsWorkingTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	v := New(1, i18n.English, now)
	after := func(d time.Duration, ev claude.Event) { now = now.Add(d); v = v.Apply(ev, now) }
	now = now.Add(10 * time.Minute)
	v = Waited(v, 10*time.Minute).Restarted(now)
	after(5*time.Second, claude.ToolAsk{ID: "a"})
	after(time.Minute, claude.ToolAsk{ID: "b"})
	after(time.Minute, claude.ToolAllowed{})
	after(time.Hour, claude.ToolDenied{Name: "Bash"})
	after(2*time.Second, claude.ToolAsk{ID: "c"})
	after(time.Hour, claude.ToolAskEnd{ID: "c"})
	after(4*time.Second, claude.Result{Text: "done"})
	if v.figures.took != 11*time.Second {
		t.Errorf("%v of work", v.figures.took)
	}
}
