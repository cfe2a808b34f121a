package bridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// hangingMessenger is a platform of which no call returns before it is given up.
type hangingMessenger struct{ *deliverytest.Recorder }

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hangingMessenger) Reply(ctx context.Context, _ chat.Ref, _, _ string) (string, error) {
	return "", hang(ctx)
}

func (hangingMessenger) Mention(ctx context.Context, _ chat.Ref, _ []string, _, _ string) (string, error) {
	return "", hang(ctx)
}

func (hangingMessenger) Post(ctx context.Context, _ chat.Ref, _ chat.Card, _ string) (string, error) {
	return "", hang(ctx)
}
func (hangingMessenger) Ready(ctx context.Context, _ string) error              { return hang(ctx) }
func (hangingMessenger) Edit(ctx context.Context, _ string, _ chat.Card) error  { return hang(ctx) }
func (hangingMessenger) Close(ctx context.Context, _ string, _ chat.Card) error { return hang(ctx) }
func (hangingMessenger) RemoveButtons(ctx context.Context, _ string) error      { return hang(ctx) }
func (hangingMessenger) Find(ctx context.Context, _ chat.Ref) ([]chat.Sent, error) {
	return nil, hang(ctx)
}
func (hangingMessenger) SetReaction(ctx context.Context, _ chat.Ref, _ chat.Reaction) error {
	return hang(ctx)
}

func (hangingMessenger) Upload(ctx context.Context, _ chat.Ref, _ chat.Upload) (string, error) {
	return "", hang(ctx)
}

func (hangingMessenger) Attach(ctx context.Context, _ chat.Ref, _, _, _ string) (string, error) {
	return "", hang(ctx)
}

// Whatever hangs, a stop is carried out: the platform answers no call, and the agent reads nothing and heeds no signal,
// with more handed to it than its input takes. Nothing of that is released before the turn has ended, and no event waits.
func TestAStopWhileEverythingHangs(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(l *bridgeRig){
		"the button": func(l *bridgeRig) {
			if got, err := l.bridge.HandlePress(l.Context(), pressed("ev_1", turncard.DoStop, 1)); got != i18n.StopAsked.EN || err != nil {
				l.Errorf("told %q, %v", got, err)
			}
		},
		"the command": func(l *bridgeRig) { l.say("om_stop", "/stop") },
		"the word":    func(l *bridgeRig) { l.say("om_stop", "stop") },
		"a recall":    func(l *bridgeRig) { l.must(l.bridge.HandleRecall(l.Context(), room, "om_1")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newBridgeRig(t, hangingMessenger{&deliverytest.Recorder{}}, func(c *claude.Config) {
				c.Env["MAGPIE_SCRIPTED_FAULTS"], c.WhileBusy = "1", workspace.Steers
			})
			l.start()
			l.must(l.awaitRecovery(t.Context()))
			l.say("om_1", "fault: deaf to signals")
			l.until("the agent to have its question", func() bool { return l.pool.Stats().Running == 1 })
			for _, id := range []string{"om_2", "om_3"} { // a pipe takes 64 KB
				l.say(id, "also: "+string(make([]byte, 50_000)))
			}
			stop(l)
			l.until("the end of the turn", func() bool {
				return l.count(`SELECT COUNT(*) FROM turns WHERE id = 1 AND state = 'cancelled'`) == 1
			})
			if at := l.bridge.OldestEvent(); !at.IsZero() {
				t.Errorf("an event waits since %v", time.Since(at))
			}
		})
	}
}

// An event that cannot be stored waits, and that shows.
func TestAnEventThatWaitsShows(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.open()
	side := l.store.Side() // its transaction keeps all others out
	side.SetMaxOpenConns(1)
	_, err := side.Exec(dbtest.KeepOut())
	l.must(err)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		l.say("om_1", "one")
	}()
	l.until("the event", func() bool { return !l.bridge.OldestEvent().IsZero() })
	_, err = side.Exec("ROLLBACK")
	l.must(errors.Join(err, side.Close()))
	<-taken
	if at := l.bridge.OldestEvent(); !at.IsZero() {
		t.Errorf("it still waits after %v", time.Since(at))
	}
	if got := l.statesOf(); len(got) != 1 || got[0] != convo.Running {
		t.Errorf("%v", got)
	}
}
