package bridge

import (
	"context"
	"testing"
	"time"

	"magpie/bridge/turncard"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// statesOf are the states of all turns, in order.
func (l *bridgeRig) statesOf() (list []convo.Phase) {
	l.Helper()
	side := l.store.Side()
	defer side.Close() //nolint:errcheck // only read
	rows, err := side.Query(`SELECT state FROM turns ORDER BY id`)
	l.must(err)
	defer rows.Close() //nolint:errcheck // only read
	for rows.Next() {
		var is string
		l.must(rows.Scan(&is))
		for _, state := range []convo.Phase{convo.Queued, convo.Running, convo.Done, convo.Interrupted} {
			if state.String() == is {
				list = append(list, state)
			}
		}
	}
	l.must(rows.Err())
	return list
}

// newHeldRig runs a bridge whose answers all wait until release is called.
func newHeldRig(t *testing.T) (l *bridgeRig, release func()) {
	t.Helper()
	l = newRig(t)
	hold := make(chan struct{})
	l.answerWith(func(ctx context.Context, _ *turn) turncard.Outcome {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return turncard.Outcome{State: convo.Done}
	})
	l.start()
	l.must(l.awaitRecovery(t.Context()))
	return l, func() { close(hold) }
}

// A question in an idle chat is claimed in the transaction that stores it; others wait for their turn.
func TestAQuestionInAnIdleChatIsClaimedAsItIsStored(t *testing.T) {
	t.Parallel()
	l, release := newHeldRig(t)
	l.say("om_1", "one")
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Running {
		t.Errorf("in an idle chat: %v", got)
	}
	l.say("om_2", "two")
	l.say("om_2", "two") // the platform delivers it again
	if got := l.statesOf(); len(got) != 2 || got[1] != convo.Queued {
		t.Errorf("behind another question: %v", got)
	}
	release()
	done := func() bool { return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done' AND attempts = 1`) == 2 }
	l.until("both answers", done)
	l.until("no work", func() bool { chats, _ := l.working(); return chats == 0 })
	if _, jobs := l.working(); jobs != 0 {
		t.Errorf("%d jobs wait, or have a place", jobs)
	}
	l.say("om_1", "one") // and again, when nothing runs: it takes no place for ever
	l.until("no work", func() bool { _, jobs := l.working(); return jobs == 0 })
}

// A question without a free slot is not claimed: later messages are asked together with it.
func TestAQuestionWithoutAPlaceQueues(t *testing.T) {
	t.Parallel()
	l, release := newHeldRig(t)
	free := l.takePlaces()
	l.say("om_1", "one")
	l.say("om_2", "two")
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Queued {
		t.Errorf("%v", got)
	}
	free()
	release()
	l.ended(convo.Done, 1)
}

// A message is stored even if its turn cannot be claimed, which is retried.
func TestAQuestionIsStoredThoughItsTurnCannotBegin(t *testing.T) {
	t.Parallel()
	l, release := newHeldRig(t)
	release()
	claimed := dbtest.Trigger{Name: "claimed", On: "BEFORE INSERT ON turns", If: "NEW.state = 'running'"}
	l.sql(refusedStates.Create())
	l.sql(claimed.Create())
	l.say("om_1", "one")
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Queued {
		t.Errorf("%v", got)
	}
	l.sql(refusedStates.Drop())
	l.sql(claimed.Drop())
	l.ended(convo.Done, 1)
}

// A question that is stopped between claim and start is not answered.
func TestAQuestionIsStoppedBeforeItsTurnBegins(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.open() // nobody runs the turns yet
	l.say("om_1", "one")
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Running {
		t.Fatalf("%v", got)
	}
	l.say("om_2", "/stop")
	l.start()
	l.ended(convo.Cancelled, 1)
	l.stopsQuietly()
}

// Nothing is claimed before recovery: the chat may have a running turn.
func TestAQuestionBeforeTheRecoveryQueues(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.say("om_1", "one")
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Queued {
		t.Errorf("%v", got)
	}
}

// A question that needs no answer now is not claimed.
func TestALateQuestionIsNotClaimed(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.open() // nobody runs the turns yet
	m := incoming("om_1", "are you there?")
	m.Time = m.Time.Add(-2 * l.cfg().MaxAge)
	l.receive(m)
	file := incoming("om_2", "")
	file.Files = []chat.File{{Kind: chat.Picture, Of: "om_2", Key: "img_1"}}
	l.receive(file)
	if got := l.statesOf(); len(got) != 2 || got[0] != convo.Interrupted || got[1] != convo.Queued {
		t.Errorf("%v", got)
	}
}

// Whether a question is late is decided by the platform's clock, since this machine's may be off by hours.
func TestAgesAreThoseOfThePlatform(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": 8 * time.Hour, "behind": -8 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs := func() time.Time { return time.Now().Add(-ahead) }
			l := newRig(t)
			l.remake(func(c *Config) { c.Age = func(m chat.Incoming) time.Duration { return theirs().Sub(m.Time) } })
			l.open() // nobody runs the turns yet
			m := incoming("om_1", "are you there?")
			m.Time = theirs().Add(-2 * l.cfg().MaxAge)
			l.receive(m)
			m = incoming("om_2", "are you there now?")
			m.Time = theirs()
			l.receive(m)
			if got := l.statesOf(); len(got) != 2 || got[0] != convo.Interrupted || got[1] == convo.Interrupted {
				t.Errorf("%v", got)
			}
			if n := l.count(`SELECT COUNT(*) FROM outbox WHERE content LIKE '%2 h%'`); n != 1 {
				t.Errorf("%d cards say how late it is", n)
			}
		})
	}
}

// What is added when the agent has given its answer, and the turn has not ended yet, is a question of its own: nobody
// reads it in this turn any more. It is asked once.
func TestAnAdditionBehindTheResult(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	turns := 0
	l.answerWith(func(ctx context.Context, t *turn) turncard.Outcome {
		end := l.runner().answer(ctx, t)
		if turns++; turns == 1 {
			l.say("om_2", "also: two")
			if n := l.count(`SELECT COUNT(*) FROM steers WHERE turn_id = 1`); n != 1 {
				l.Errorf("%d additions to the turn", n)
			}
		}
		return end
	})
	l.start()
	l.say("om_1", "one")
	l.settled(2)
	for query, want := range map[string]int{
		`SELECT COUNT(*) FROM steers`: 0,
		`SELECT COUNT(*) FROM messages WHERE turn_id = 1 AND message_id = 'om_1'`:                                1,
		`SELECT COUNT(*) FROM messages WHERE turn_id = 2 AND message_id = 'om_2'`:                                1,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND turn_id = 1 AND content = 'echo: one'`:       1,
		`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND turn_id = 2 AND content = 'echo: also: two'`: 1,
		`SELECT COUNT(*) FROM messages`: 4,
	} {
		if got := l.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if turns != 2 {
		t.Errorf("%d turns ran", turns)
	}
}
