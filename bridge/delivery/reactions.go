package delivery

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
)

// Reactions shows on questions that somebody works on them, and how that ended. It is a courtesy: what fails is let go.
type Reactions struct {
	out  Messenger
	log  zerolog.Logger
	jobs *workqueue.Queue

	mu        sync.Mutex
	questions map[chat.Ref]*reaction
}

// reaction is what a question shows, and what it should show.
type reaction struct {
	want, shown chat.Reaction
	known       bool // shown is no guess
	busy        bool // a job brings it to what it should show
}

const mostSignals = 8 // calls at the same time

// timeout is how long a signal may take while other calls go first. "Working" is of no interest later; but who has
// seen it should not see it for ever.
func timeout(s chat.Reaction) time.Duration {
	if s == chat.Working {
		return 10 * time.Second
	}
	return 3 * time.Minute
}

// NewReactions makes reactions, which are shown while Run is running.
func NewReactions(out Messenger, log zerolog.Logger) *Reactions {
	return &Reactions{out: out, log: log, jobs: workqueue.New(mostSignals), questions: map[chat.Ref]*reaction{}}
}

// Run sets reactions until stop is closed, and for one more second: the reactions of turns that have
// just ended should not stay wrong.
func (rs *Reactions) Run(ctx context.Context, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	var end sync.WaitGroup
	end.Go(func() {
		<-stop
		workqueue.Sleep(ctx, time.Second)
		cancel()
	})
	rs.jobs.Run(ctx, stop)
	cancel()
	end.Wait()
}

// Set lets questions show a signal. It does not wait for the platform.
func (rs *Reactions) Set(asked []chat.Message, s chat.Reaction) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, m := range asked {
		if db.Pressed(m.ID) {
			continue // nothing can be put on it
		}
		to := chat.Ref{Key: m.Key, ID: db.Answerable(m.ID)}
		r := rs.questions[to]
		if r == nil {
			r = &reaction{}
			rs.questions[to] = r
		}
		if r.want = s; !r.busy {
			r.busy = true
			rs.jobs.Enqueue(func(ctx context.Context) { rs.apply(ctx, to, r) })
		}
	}
}

// Forget drops questions that nobody will answer. What they show stays.
func (rs *Reactions) Forget(gone func(chat.Ref) bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	maps.DeleteFunc(rs.questions, func(to chat.Ref, _ *reaction) bool { return gone(to) })
}

// apply sets the wanted reaction of a question. Wishes that were replaced meanwhile are skipped.
func (rs *Reactions) apply(ctx context.Context, to chat.Ref, r *reaction) {
	for {
		s, ok := rs.next(to, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, timeout(s))
		if err := rs.out.SetReaction(ctx, to, s); err != nil {
			rs.log.Debug().Err(err).Stringer("chat", to.Key).Msg("reaction to a question not set")
		}
		cancel()
	}
}

// next returns the wanted reaction if another one is shown. Questions of ended turns are forgotten, so
// that the map stays small.
func (rs *Reactions) next(to chat.Ref, r *reaction) (chat.Reaction, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.known && r.want == r.shown {
		r.busy = false
		if r.want != chat.Working {
			delete(rs.questions, to)
		}
		return "", false
	}
	r.shown, r.known = r.want, true
	return r.want, true
}

// ReactionOf is what the questions of a turn that ended so show.
func ReactionOf(state db.TurnState) chat.Reaction {
	switch state {
	case db.Done:
		return chat.Finished
	case db.Failed:
		return chat.Failed
	case db.Queued:
		return chat.Working
	}
	return chat.NoReaction
}
