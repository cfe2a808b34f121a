package bridge

import (
	"fmt"
	"strings"
	"testing"

	"magpie/bridge/i18n"
	"magpie/db"
)

// longChat is a chat with something to sum up.
func (l *bridgeRig) longChat() (compact func(id string) string) {
	l.Helper()
	l.remake(func(c *Config) { c.Context.Titles, c.Context.KeepRecent = false, 1 })
	l.start()
	for i := range 4 {
		l.say(fmt.Sprintf("om_%d", i), "hello there")
		l.awaitTurns(i + 1) // else the end of the turn may have a summary made as well
	}
	return func(id string) string {
		l.Helper()
		var said []string
		l.say(id, "/compact")
		l.until("the outcome", func() bool {
			over := l.chat().Compacting == "" && l.unsent() == 0
			said = append(said, l.rec.TakeSaid()...)
			return over && len(said) > 0
		})
		return strings.Join(said, "\n") // when it takes long, that it was begun is said as well
	}
}

// A summary that the budget does not allow is answered with the numbers of the budget.
func TestCompactSaysThatTheBudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	compact := l.longChat()
	l.bridge.SetBudget(Budget{ChatDayUSD: 1})
	spend(t, l.store.Ledger(), room, "ou_1", 2)
	l.lasting()
	if got := compact("om_c"); !strings.Contains(got, "$2.00") || !strings.Contains(got, "$1.00") {
		t.Errorf("told %q", got)
	}
}

// A summary is dropped if one of its messages was recalled meanwhile. It is made again, once.
func TestASummaryThatIsNotTrueAnyMore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		when, want string // of each summary, whether something is taken back; part of what is told in the end
		kept       bool
	}{
		"once":  {"1 = (SELECT COUNT(*) FROM ledger WHERE purpose = 'summary')", "summarized 6", true},
		"again": {"1", i18n.CompactChanged.EN, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			compact := l.longChat()
			l.sql(`CREATE TRIGGER meanwhile AFTER INSERT ON ledger WHEN NEW.purpose = 'summary' AND ` + tc.when + `
				BEGIN UPDATE messages SET state = 'recalled' WHERE id = (SELECT MIN(id) FROM messages
				WHERE class = 'talk' AND state = ''); END`)
			if got := compact("om_c"); !strings.Contains(got, tc.want) {
				t.Errorf("told %q", got)
			}
			if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'summary'`); n != 2 {
				t.Errorf("made %d times", n)
			}
			if got := l.chat().Summary != (db.Summary{}); got != tc.kept {
				t.Errorf("kept: %v", got)
			}
		})
	}
}
