package delivery

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/chat"
)

// hanging is a messenger whose reactions block until the context ends.
type hanging struct{ deliverytest.Recorder }

func (h *hanging) SetReaction(ctx context.Context, _ chat.Ref, _ chat.Reaction) error {
	<-ctx.Done()
	return ctx.Err()
}

// The end of the program does not wait for reactions.
func TestReactionsEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ss, end := signalling(t, &hanging{})
		ss.Set([]chat.Message{{ID: "1"}, {ID: "2"}}, chat.Finished)
		synctest.Wait()
		began := time.Now()
		end()
		if took := time.Since(began); took != time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

// slowHand is a messenger with slow reactions.
type slowHand struct{ deliverytest.Recorder }

func (s *slowHand) SetReaction(ctx context.Context, to chat.Ref, sign chat.Reaction) error {
	time.Sleep(time.Second)
	return s.Recorder.SetReaction(ctx, to, sign)
}

func signalling(t *testing.T, out Messenger) (ss *Reactions, end func()) {
	t.Helper()
	ss = NewReactions(out, zerolog.Nop())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); ss.Run(t.Context(), stop) }()
	return ss, func() { close(stop); <-done }
}

func TestAQuestionShowsTheLatestReaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowHand{}
		ss, end := signalling(t, out)
		one, two := []chat.Message{{ID: "1"}}, []chat.Message{{ID: "2"}}
		ss.Set(one, chat.Working)
		time.Sleep(100 * time.Millisecond)
		ss.Set(one, chat.Working)
		ss.Set(one, chat.NoReaction)
		ss.Set(one, chat.Finished) // before the first one was set
		time.Sleep(10 * time.Second)
		end()
		if want := []string{"1 working", "1 finished"}; !slices.Equal(out.Reactions, want) {
			t.Errorf("signals %q, want %q", out.Reactions, want)
		}
		ss, end = signalling(t, out)
		ss.Set(two, chat.NoReaction) // an earlier process may have set one
		end()
		if got := out.Reactions[len(out.Reactions)-1]; got != "2 " {
			t.Errorf("last signal %q", got)
		}
		if len(ss.questions) != 0 {
			t.Errorf("%d questions are still in memory", len(ss.questions))
		}
	})
}

func TestAReactionThatFailsIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &deliverytest.Recorder{Fail: errors.New("no permission")}
		ss, end := signalling(t, out)
		ss.Set([]chat.Message{{ID: "1"}, {ID: "2"}}, chat.Working)
		synctest.Wait()
		ss.Set([]chat.Message{{ID: "1"}}, chat.Failed)
		end()
		slices.Sort(out.Reactions)
		if want := []string{"1 failed", "1 working", "2 working"}; !slices.Equal(out.Reactions, want) {
			t.Errorf("signals %q, want %q", out.Reactions, want)
		}
	})
}
