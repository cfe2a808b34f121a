package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// hanging is a messenger that signals nothing until it must end.
type hanging struct{ recorder }

func (h *hanging) Signal(ctx context.Context, _ chat.Ref, _ chat.Signal) error {
	<-ctx.Done()
	return ctx.Err()
}

// A signal is not worth waiting for at the end of the program.
func TestSignalsEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ss, end := signalling(t, &hanging{})
		ss.set([]chat.Message{{ID: "1"}, {ID: "2"}}, chat.Finished)
		synctest.Wait()
		began := time.Now()
		end()
		if took := time.Since(began); took != time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

// slowHand is a messenger that takes its time to signal.
type slowHand struct{ recorder }

func (s *slowHand) Signal(ctx context.Context, to chat.Ref, sign chat.Signal) error {
	time.Sleep(time.Second)
	return s.recorder.Signal(ctx, to, sign)
}

func signalling(t *testing.T, out Messenger) (ss *reactions, end func()) {
	t.Helper()
	ss = newReactions(out, zerolog.Nop())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); ss.run(t.Context(), stop) }()
	return ss, func() { close(stop); <-done }
}

func TestAQuestionShowsTheLatestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowHand{}
		ss, end := signalling(t, out)
		one, two := []chat.Message{{ID: "1"}}, []chat.Message{{ID: "2"}}
		ss.set(one, chat.Working)
		time.Sleep(100 * time.Millisecond)
		ss.set(one, chat.Working)
		ss.set(one, chat.NoSignal)
		ss.set(one, chat.Finished) // before the first could be shown
		time.Sleep(10 * time.Second)
		end()
		if want := []string{"1 working", "1 finished"}; !slices.Equal(out.reactions, want) {
			t.Errorf("signals %q, want %q", out.reactions, want)
		}
		ss, end = signalling(t, out)
		ss.set(two, chat.NoSignal) // an earlier process may have shown one
		end()
		if got := out.reactions[len(out.reactions)-1]; got != "2 " {
			t.Errorf("last signal %q", got)
		}
		if len(ss.wishes) != 0 {
			t.Errorf("%d questions are not forgotten", len(ss.wishes))
		}
	})
}

func TestASignalThatFailsIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &recorder{fail: errors.New("no permission")}
		ss, end := signalling(t, out)
		ss.set([]chat.Message{{ID: "1"}, {ID: "2"}}, chat.Working)
		synctest.Wait()
		ss.set([]chat.Message{{ID: "1"}}, chat.Failed)
		end()
		slices.Sort(out.reactions)
		if want := []string{"1 failed", "1 working", "2 working"}; !slices.Equal(out.reactions, want) {
			t.Errorf("signals %q, want %q", out.reactions, want)
		}
	})
}

// A question that was taken back while it waited, or whose chat the bot left, is not remembered for ever.
func TestQuestionsThatNobodyAnswersAreForgotten(t *testing.T) {
	w := testWorld(t)
	ss := w.bridge.reactions
	asked := func(p place, text string) string {
		w.hear(p, text, true)
		return fmt.Sprintf("om_%d", w.said)
	}
	first, second := asked(team, "one"), asked(team, "two")
	w.must(w.bridge.Recalled(w.ctx, team.key, first))
	if _, ok := ss.wishes[chat.Ref{Key: team.key, ID: second}]; !ok || len(ss.wishes) != 1 {
		t.Errorf("after one was taken back: %v", ss.wishes)
	}
	asked(alice, "three")
	w.must(w.bridge.Change(w.ctx, chat.Change{Key: team.key, Kind: chat.Group, Did: chat.Removed, Time: time.Now()}))
	if len(ss.wishes) != 1 {
		t.Errorf("after the bot has left: %v", ss.wishes)
	}
}
