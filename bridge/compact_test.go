package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"magpie/bridge/budget"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/i18n"
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
		l.say(id, "/compact")
		return l.compacted()
	}
}

// compacted is what is said about a summary that was ordered.
func (l *bridgeRig) compacted() string {
	l.Helper()
	var said []string
	l.until("the outcome", func() bool {
		over := l.chat().Compacting == "" && l.unsent() == 0
		said = append(said, l.rec.TakeSaid()...)
		return over && len(said) > 0
	})
	return strings.Join(said, "\n") // when it takes long, that it was begun is said as well
}

// Whoever orders a summary while one is being made that nobody has ordered is answered, however that one ends.
func TestASummaryIsOrderedWhileAnotherIsMade(t *testing.T) {
	t.Parallel()
	type summary = func(context.Context, chat.Key, <-chan struct{}) error
	failed := errors.New("no luck")
	for name, tc := range map[string]struct {
		first func(ctx context.Context, make func() error, order func()) error
		want  string
	}{
		"and fails": {func(_ context.Context, _ func() error, order func()) error {
			order()
			return failed
		}, "summarized"},
		"and is stored": {func(_ context.Context, make func() error, order func()) error {
			order()
			return make()
		}, "summarized"},
		"after it was stored": {func(_ context.Context, make func() error, order func()) error {
			err := make()
			order()
			return err
		}, i18n.CompactNothing.EN},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			l.longChat()
			u, begun, ordered, runs := l.upkeep(), make(chan struct{}), make(chan struct{}), 0
			u.Compact = func(then summary) summary {
				return func(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
					again := func() error { return then(ctx, key, wanted) }
					if runs++; runs > 1 {
						return again()
					}
					return tc.first(ctx, again, func() { close(begun); <-ordered })
				}
			}(u.MakeSummary)
			u.Summarize(room)
			<-begun
			l.say("om_c", "/compact")
			close(ordered)
			if got := l.compacted(); !strings.Contains(got, tc.want) {
				t.Errorf("told %q", got)
			}
			if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'summary'`); n != 1 {
				t.Errorf("made %d times", n)
			}
		})
	}
}

// A summary that the budget does not allow is answered with the numbers of the budget.
func TestCompactSaysThatTheBudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	compact := l.longChat()
	l.bridge.SetBudget(budget.Limits{ChatDayUSD: 1})
	spend(t, l.store.Access(), room, "ou_1", 2)
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
		"again": {"TRUE", i18n.CompactChanged.EN, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			compact := l.longChat()
			l.sql(dbtest.Trigger{Name: "meanwhile", On: "AFTER INSERT ON ledger", If: "NEW.purpose = 'summary' AND " + tc.when,
				Does: `UPDATE messages SET state = 'recalled' WHERE id = (SELECT MIN(id) FROM messages
					WHERE class = 'talk' AND state = '')`}.Create())
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
