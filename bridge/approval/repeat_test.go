package approval

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/db"
)

// calls takes the notifications out of the outbox.
func (a *asking) calls() []db.Post {
	a.Helper()
	return slices.DeleteFunc(a.posts(), func(p db.Post) bool { return len(p.Mentions) == 0 })
}

// posts delivers what is to be shown, and returns it.
func (a *asking) posts() (list []db.Post) {
	a.Helper()
	for {
		p, err := a.store.Outbox().Next(a.Context(), a.approval.Key)
		if errors.Is(err, db.ErrNotFound) {
			return list
		} else if err != nil {
			a.Fatal(err)
		}
		list = append(list, p)
		a.must(a.store.Outbox().MarkDelivered(a.Context(), p, ""))
	}
}

// seen lets the card of the approval be shown.
func (a *asking) seen() {
	a.Helper()
	a.must(a.store.Outbox().SetCard(a.Context(), db.Post{Key: a.approval.Key, Approval: a.approval.ID}, "om_card/entity/0/oc_1/om_1"))
}

// die ends the timers, as the end of the program does.
func (a *asking) die() {
	for _, id := range a.as.open.find(func(pending) bool { return true }) {
		a.as.open.remove(id)
	}
}

// restart is a new program that takes over the approvals.
func (a *asking) restart() {
	a.Helper()
	a.die()
	a.as = NewRequests(Config{Language: english, Interrupted: nothingInterrupted{}}, a.store, a.outbox, a.as.access,
		zerolog.Nop())
	a.must(a.as.Recover(context.WithoutCancel(a.Context()), a.approval.Key))
	a.work()
}

// People who have not decided after half the time are notified once, in answer to the card, also after a restart.
func TestPeopleAreNotifiedAfterHalfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, 0)
		a.work()
		a.seen()
		time.Sleep(15*time.Minute - time.Millisecond)
		synctest.Wait()
		if got := a.calls(); len(got) > 0 {
			t.Errorf("before that: %+v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		got := a.calls()
		if len(got) != 1 || got[0].ReplyTo != "om_card" || !slices.Equal(got[0].Mentions, []string{asker.ID}) ||
			got[0].Text != "this is still waiting for your decision. It expires in 15 min." {
			t.Errorf("called: %+v", got)
		}
		a.restart()
		time.Sleep(14 * time.Minute)
		synctest.Wait()
		if got := a.calls(); len(got) > 0 {
			t.Errorf("after a restart: %+v", got)
		}
	})
}

// If half of the time passes while the program is off, the people who may decide now are notified at the start.
func TestPeopleAreNotifiedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Hour)
		a.seen()
		a.die()
		time.Sleep(40 * time.Minute)
		a.as.access = access.NewAuthorizer(access.Config{Owner: "ou_boss", Admins: []string{"ou_2"}, Deciders: access.AdminsDecide}, a.store.Access(), nil, 0, zerolog.Nop())
		a.restart()
		time.Sleep(time.Second)
		synctest.Wait()
		got := a.calls()
		if len(got) != 1 || !slices.Equal(got[0].Mentions, []string{"ou_2", "ou_boss"}) {
			t.Errorf("called: %+v", got)
		}
	})
}

// There is no notification about approvals that were decided in the first half, nor if the time is very short.
func TestNoNeedlessNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, patience := range []time.Duration{time.Hour, time.Minute} {
			a := newAsking(t, patience)
			a.work()
			a.seen()
			if patience == time.Hour {
				a.press("ev_1", DoAllow)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if got := a.calls(); len(got) > 0 {
				t.Errorf("with %v: %+v", patience, got)
			}
		}
	})
}
