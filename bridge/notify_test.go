package bridge

import (
	"strings"
	"testing"
	"time"

	"magpie/internal/i18n"
)

// The end of a long turn notifies its askers, after the card, unless the chat wants no notifications.
func TestALongAnswerCallsWhoAsked(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.NotifyAfter = time.Nanosecond }) // an agent takes more
	l.start()
	answers := 0
	ask := func(id string) {
		l.Helper()
		answers++
		l.say(id, "请回答")
		l.settled(answers)
	}
	calls := func() (n int) {
		said, _ := l.rec.Replies()
		for _, s := range said {
			if s == "@ou_1 "+i18n.NoticeDone.ZH {
				n++
			}
		}
		return n
	}
	ask("om_1")
	if n := calls(); n != 1 {
		t.Errorf("called %d times", n)
	}
	if got := l.ordered("om_2", "/通知 关"); got != i18n.NotifyOff.ZH {
		t.Errorf("reply %q", got)
	}
	if got := l.ordered("om_3", "/status"); !strings.Contains(got, i18n.StatusNotifyOff.ZH) {
		t.Errorf("status %q", got)
	}
	ask("om_4")
	if n := calls(); n != 1 {
		t.Errorf("called %d times", n)
	}
	if got := l.ordered("om_5", "/notify"); !strings.HasPrefix(got, i18n.NotifyOff.ZH) ||
		!strings.Contains(got, "开启: /notify on") {
		t.Errorf("reply %q", got)
	}
	if got := l.ordered("om_6", "/notify on"); got != i18n.NotifyOn.ZH {
		t.Errorf("reply %q", got)
	}
	ask("om_7")
	if n := calls(); n != 2 {
		t.Errorf("called %d times", n)
	}
}
