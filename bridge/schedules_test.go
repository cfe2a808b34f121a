package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/access"
	"magpie/contextmgr/redact"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// schedulesOf lists the schedules of a chat.
func (w *memoryRig) schedulesOf(p place) []schedules.Schedule {
	w.Helper()
	list, err := w.store.Schedules().Of(w.ctx, p.key)
	w.must(err)
	return list
}

// asked are the questions that wait in a chat.
func (w *memoryRig) asked(p place) (list []chat.Message) {
	w.Helper()
	all, err := w.store.Messages().Latest(w.ctx, p.key, 100)
	w.must(err)
	for _, m := range all {
		if m.Class == chat.Talk {
			list = append(list, m)
		}
	}
	return list
}

// A schedule asks on behalf of its maker, in its chat or topic, and says what it asks.
func TestAScheduleAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		topic := place{team.key, chat.Group, "ou_user"}
		topic.key.Thread = "omt_1"
		w.order(topic, "/lang en")
		w.expect(w.order(topic, "/every day 9:00 look at the logs"), "Schedule 1", "day 9:00", "look at the logs", "Sat 2000-01-01 09:00 · Sun 2000-01-02 09:00 · Mon 2000-01-03 09:00", "UTC")
		made := fmt.Sprintf("om_%d", w.said)
		running := w.runClock()
		defer running()
		time.Sleep(9*time.Hour - time.Second)
		if got := w.asked(topic); len(got) != 0 {
			t.Fatalf("too early: %+v", got)
		}
		time.Sleep(2 * time.Second)
		got := w.asked(topic)
		if len(got) != 1 || got[0].Text != "look at the logs" || got[0].Actor.ID != "ou_user" || got[0].Actor.Name != "Nou_user" {
			t.Fatalf("%+v", got)
		}
		post, err := w.store.Outbox().Next(w.ctx, topic.key)
		w.must(err)
		if post.ReplyTo != made || post.Text != "⏰ Schedule 1 (day 9:00): look at the logs" {
			t.Errorf("%+v", post)
		}
		if c := w.claim(topic); c.Turn.ReplyTo != made || c.Asked[0].Text != "look at the logs" {
			t.Errorf("%+v", c)
		}
	})
}

// runClock runs the clock until the returned function is called.
func (w *memoryRig) runClock() (stop func()) {
	done := make(chan struct{})
	running := w.bridge.clock
	ctx, cancel := context.WithCancel(w.ctx)
	go func() { defer close(done); running.Run(ctx) }()
	return func() { cancel(); <-done }
}

// Schedules are listed, paused, resumed, removed and run by whoever has made them, and by admins.
func TestManagingSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		one, other, boss := team.by("ou_user"), team.by("ou_other"), team.by("ou_boss")
		w.order(one, "/lang en")
		w.order(one, "/schedule zone Asia/Shanghai")
		w.expect(w.order(one, "/every weekday 9:00 look"), "Schedule 1", "Asia/Shanghai", "01-03 09:00") // a Monday
		w.expect(w.order(one, "/at tomorrow 15:00 call Ann"), "Schedule 2", "01-02 15:00")
		w.expect(w.order(other, "/schedule"), "**1** · weekday 9:00 · look", "01-03 09:00", "**2** · tomorrow 15:00 · call Ann", "01-02 15:00", "Nou_user")
		w.expect(w.order(other, "/schedule remove 1"), "somebody else's")
		w.expect(w.order(other, "/schedule pause 2"), "somebody else's")
		w.expect(w.order(one, "/schedule pause 1"), "paused")
		if got := w.schedulesOf(one); got[0].State != schedules.Paused || !got[0].Next.IsZero() || got[1].Next.IsZero() {
			t.Errorf("%+v", got)
		}
		w.expect(w.order(one, "/schedule"), "weekday 9:00", "paused")
		w.expect(w.order(boss, "/计划 继续 #1"), "01-03 09:00")
		w.order(other, "/schedule run 1") // on behalf of whoever wants it now
		if got := w.asked(one); len(got) != 1 || got[0].Text != "look" || got[0].Actor.ID != "ou_other" {
			t.Errorf("%+v", got)
		}
		w.expect(w.order(one, "/schedule run 1 12345"), "done already")
		w.drain(one)
		w.expect(w.order(one, "/schedule remove 1"), "removed")
		w.expect(w.order(one, "/schedule run 1"), "no schedule 1")
		w.expect(w.order(one, "/every day 9:00 again"), "Schedule 3") // a number is never used again
		// A paused one whose time is over cannot go on.
		w.order(one, "/schedule pause 2")
		time.Sleep(48 * time.Hour)
		w.expect(w.order(one, "/schedule resume 2"), "is over")
		w.expect(w.order(one, "/every * * * * * look"), "at least 5 minutes between")
		w.expect(w.order(one, "/trigger ci look"), "Schedule 4")
		w.order(one, "/schedule pause 4")
		w.expect(w.order(one, "/schedule resume 4"), "active again. started by a program: ci")
		w.expect(w.order(one, "/schedule resume 4"), "done already")
	})
}

// drain drops what is to be shown in a chat.
func (w *memoryRig) drain(p place) {
	w.Helper()
	for w.answered(p) {
		post, err := w.store.Outbox().Next(w.ctx, p.key)
		w.must(err)
		w.must(w.store.Outbox().MarkDelivered(w.ctx, post, ""))
	}
}

// A schedule whose maker has lost access is paused: the chat and the owner are told.
func TestAMakerWithoutAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		one := team.by("ou_user")
		w.order(one, "/lang en")
		w.order(one, "/every day 9:00 look")
		w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
		stop := w.runClock()
		defer stop()
		time.Sleep(10 * time.Hour)
		if got := w.asked(one); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if got := w.schedulesOf(one); got[0].State != schedules.Paused {
			t.Errorf("%+v", got)
		}
		for _, key := range []chat.Key{one.key, chat.PersonKey("ou_boss")} {
			post, err := w.store.Outbox().Next(w.ctx, key)
			if w.must(err); !strings.Contains(post.Text, i18n.ScheduleNoAccess.EN) && !strings.Contains(post.Text, i18n.ScheduleNoAccess.ZH) {
				t.Errorf("%v is told %q", key, post.Text)
			}
		}
		w.drain(one)
		w.expect(w.order(one.by("ou_boss"), "/schedule resume 1"), i18n.ScheduleNoAccess.EN)
	})
}

// Schedules of two chats with the same number and time are two: each chat is told what is asked there.
func TestSchedulesOfTwoChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		chats := []place{team, alice}
		for _, p := range chats {
			w.order(p, "/every day 9:00 look")
		}
		stop := w.runClock()
		defer stop()
		time.Sleep(10 * time.Hour)
		for _, p := range chats {
			post, err := w.store.Outbox().Next(w.ctx, p.key)
			if w.must(err); !strings.HasPrefix(post.Text, "⏰") || len(w.asked(p)) != 1 {
				t.Errorf("%v is told %q", p.key, post.Text)
			}
		}
	})
}

// What is asked at a time leaves alone what its maker has sent in the group for a question of his own.
func TestAScheduleTakesNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		w.order(team, "/every day 9:00 look")
		stop := w.runClock()
		defer stop()
		time.Sleep(9*time.Hour - time.Minute)
		w.must(w.bridge.HandleMessage(w.ctx, chat.Incoming{
			Key: team.key, Kind: chat.Group, ID: "om_picture", Actor: chat.Actor{ID: team.who}, Time: time.Now(), Text: "[图片]",
			Files: []chat.File{{Number: 1, Kind: chat.Picture, Of: "om_picture", Key: "img_1"}},
		}))
		time.Sleep(time.Minute + time.Second)
		if got := w.claim(team); len(got.Asked) != 1 || got.Asked[0].Text != "look" {
			t.Errorf("%+v", got.Asked)
		}
		time.Sleep(time.Second)
		w.receive(team, "what is this?", true)
		if got := w.asked(team); len(got) != 3 || got[0].ID != "om_picture" || got[0].Turn != got[2].Turn {
			t.Errorf("%+v", got)
		}
	})
}

// A chat from which the bot was removed is not asked in.
func TestAChatThatTheBotHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		one := team.by("ou_user")
		w.order(one, "/every day 9:00 look")
		w.must(w.bridge.HandleMembership(w.ctx, chat.Change{Key: one.key, Kind: chat.Group, Did: chat.Removed, Actor: chat.Actor{ID: "ou_user"}, Time: time.Now()}))
		stop := w.runClock()
		defer stop()
		time.Sleep(10 * time.Hour)
		if got := w.asked(one); len(got) != 0 || w.schedulesOf(one)[0].State != schedules.Paused {
			t.Errorf("%+v", got)
		}
	})
}

// What was missed is made up for once, whoever presses the button, however often.
func TestMakingUpForWhatWasMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		one := team.by("ou_user")
		w.order(one, "/lang en")
		w.order(one, "/at 9:00 look")
		time.Sleep(10 * time.Hour)
		stop := w.runClock()
		time.Sleep(time.Minute)
		stop()
		post, err := w.store.Outbox().Next(w.ctx, one.key)
		w.must(err)
		if post.Card == nil || !strings.Contains(post.Card.Body, "1 run was missed, the last one on Sat 2000-01-01 09:00") {
			t.Fatalf("%+v", post)
		}
		w.drain(one)
		run := post.Card.Buttons[0]
		for i := range 2 {
			w.press(one, fmt.Sprint("p", i), run)
		}
		if got := w.asked(one); len(got) != 1 || got[0].Text != "look" {
			t.Errorf("%+v", got)
		}
		if got := w.schedulesOf(one); len(got) != 0 {
			t.Errorf("left: %+v", got)
		}
	})
}

// press presses a button of a card.
func (w *memoryRig) press(p place, id string, b chat.Button) {
	w.Helper()
	_, err := w.bridge.HandlePress(w.ctx, chat.Press{ID: id, Key: p.key, Card: "om_card", Actor: chat.Actor{ID: p.who, Name: "N" + p.who}, Action: b.Action})
	w.must(err)
}

// The buttons of what is ordered in a topic are those of the topic, though a press names only the chat.
func TestTheButtonsOfATopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		group := team.by("ou_user")
		topic := group
		topic.key.Thread = "omt_1"
		w.order(group, "/every day 8:00 of the group")
		w.receive(topic, "/every day 9:00 of the topic", true)
		post, err := w.store.Outbox().Next(w.ctx, topic.key)
		w.must(err)
		w.press(group, "p1", post.Card.Buttons[1]) // remove
		if of, left := w.schedulesOf(group), w.schedulesOf(topic); len(of) != 1 || len(left) != 0 {
			t.Errorf("left: %+v and %+v", of, left)
		}
		forged := post.Card.Buttons[1]
		forged.Action.Thread = "omt_nowhere"
		w.press(place{alice.key, chat.Private, "ou_user"}, "p2", forged)
		w.press(group, "p3", forged) // counts as one in the group
		if of := w.schedulesOf(group); len(of) != 0 {
			t.Errorf("left: %+v", of)
		}
	})
}

// What cannot be skipped is not, and a proposal can only be confirmed or not.
func TestWhatCannotBeDoneToASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		one, other := team.by("ou_user"), team.by("ou_other")
		w.order(one, "/lang en")
		w.order(one, "/at 9:00 look")
		w.expect(w.order(other, "/schedule skip 1"), "Nothing was missed")
		if got := w.schedulesOf(one); len(got) != 1 || got[0].State != schedules.Active {
			t.Errorf("%+v", got)
		}
		w.must(w.store.Schedules().Make(w.ctx, one.key, schedules.Change{Is: schedules.Schedule{
			Key: one.key, Number: 2, State: schedules.Proposed, Rule: "0 9 * * *", Words: "0 9 * * *", Zone: "UTC", Task: "look",
		}}))
		for _, verb := range []string{"pause", "run", "skip"} {
			w.expect(w.order(one, "/schedule "+verb+" 2"), "waits to be confirmed")
		}
		w.expect(w.order(other, "/schedule confirm 2"), "Schedule 2", "on behalf of `Nou_other`")
		if got := w.schedulesOf(one); got[1].State != schedules.Active || got[1].Maker.ID != "ou_other" || got[1].Next.IsZero() {
			t.Errorf("%+v", got)
		}
		w.expect(w.order(one, "/schedule confirm 2"), "somebody else's")
	})
}

// Secrets do not stay in what is to be asked later.
func TestASecretInASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir(), func(c *Config) { c.Redact = redact.All() })
		defer func() { w.must(w.store.Close()) }()
		w.order(alice, "/every day 9:00 log in with ghp_0123456789abcdefghijklmnopqrstuvwxyz")
		if got := w.schedulesOf(alice); len(got) != 1 || strings.Contains(got[0].Task, "ghp_0123456789") {
			t.Errorf("%+v", got)
		}
	})
}
