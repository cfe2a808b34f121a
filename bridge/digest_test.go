package bridge

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// The owner gets a digest at the chosen time, once a day, also after a restart, and only if anything happened. Nobody
// else gets one.
func TestTheOwnerGetsADailyDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		boss := place{alice.key, chat.Private, "ou_boss"}
		w.order(boss, "/lang en")
		nextDigest := func() string {
			t.Helper()
			w.must(w.digest(w.ctx, time.Now()))
			return waiting(w, boss.key)
		}
		for _, wrong := range []place{{boss.key, chat.Private, "ou_user"}, {team.key, chat.Group, "ou_boss"}} {
			if got := w.order(wrong, "/digest on 09:30"); got == "" || nextDigest() != "" {
				t.Errorf("%v: %q", wrong, got)
			}
		}
		w.expect(w.order(boss, "/digest"), i18n.DigestOff.EN)
		for _, wrong := range []string{"25:00", "on soon", "off 09:30", "maybe"} {
			w.expect(w.order(boss, "/digest "+wrong), i18n.DigestUsage.EN)
		}
		w.expect(w.order(boss, "/digest on 9:30"), "09:30")
		w.expect(w.order(boss, "/digest"), "09:30")

		w.spendOverDays(boss.key, "ou_user") // 51 hours
		day := time.Date(2000, 1, 3, 9, 29, 0, 0, time.UTC)
		time.Sleep(time.Until(day))
		if got := nextDigest(); got != "" {
			t.Errorf("too early: %q", got)
		}
		time.Sleep(time.Minute)
		if got := nextDigest(); got != i18n.DigestReport.Sprintf(i18n.English, 0, 0, "$3.25", 0) {
			t.Errorf("digest %q", got)
		}
		w.expect(w.order(boss, "/digest 23:00"), "23:00")
		time.Sleep(14 * time.Hour)
		if got := nextDigest(); got != "" {
			t.Errorf("a second one of the day: %q", got)
		}
		time.Sleep(48 * time.Hour)
		if got := nextDigest(); got != "" {
			t.Errorf("of a day on which nothing happened: %q", got)
		}
		w.must(w.store.Access().Book(w.ctx, db.Expense{Key: boss.key, Purpose: "test",
			Usage: db.Usage{CostUSD: 1}}))
		w.bridge.SetAccess(access.Config{Owner: "ou_other"})
		time.Sleep(23*time.Hour + 45*time.Minute)
		if got := nextDigest(); got != "" {
			t.Errorf("to somebody who is not the owner any more: %q", got)
		}
		w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
		if got := nextDigest(); got == "" {
			t.Error("the owner is not told")
		}
		w.expect(w.order(boss, "/日报 关"), i18n.DigestOff.EN)
		if list, err := w.store.Schedules().Digests(w.ctx); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// The digest tells of what the bridge has done: answers, failures, and what they cost.
func TestTheDigestTellsOfTheDay(t *testing.T) {
	t.Parallel()
	l, n := newRig(t), 0
	l.remake(func(c *Config) {
		c.Access.Owner, c.Lang = "ou_1", "en"
		c.Context.TimeZone = fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // it is about noon there
	})
	l.actAs(func(*turn, func(claude.Event)) claude.Result {
		end := claude.Result{Model: "m", CostUSD: 0.75}
		if n++; n == 2 {
			end.Failure = claude.FailServer
		}
		return end
	})
	l.start()
	l.say("om_1", "/digest on 09:00")
	for i := 2; i <= 4; i++ {
		l.say(fmt.Sprintf("om_%d", i), "question")
		l.until("the end of the turn", func() bool {
			return l.count(`SELECT COUNT(*) FROM turns WHERE state IN ('done', 'failed')`) == i-1 && l.unsent() == 0
		})
	}
	l.must(l.digest(t.Context(), time.Now().Add(23*time.Hour)))
	want := i18n.DigestReport.Sprintf(i18n.English, 3, 1, "$2.25", 0)
	l.until("the digest", func() bool {
		said, _, _ := l.rec.SoFar()
		return len(said) > 0 && said[len(said)-1] == want
	})
}
