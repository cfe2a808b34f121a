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
	"magpie/internal/convo"
)

// Reactions shows on questions that they are being worked on, and how that ended. It is best effort: failures are
// ignored.
type Reactions struct {
	out  Messenger
	log  zerolog.Logger
	jobs *workqueue.Queue

	mu        sync.Mutex
	questions map[chat.Ref]*reaction
}

// reaction is the shown and the wanted reaction of a question.
type reaction struct {
	want, shown chat.Reaction
	known       bool // shown is certain
	busy        bool // a job is updating it
}

const maxReactionCalls = 8 // concurrent calls

// reactionTimeout is how long a reaction may wait while other calls go first. "Working" soon loses its value; but once
// shown, it should be replaced in the end.
func reactionTimeout(s chat.Reaction) time.Duration {
	if s == chat.Working {
		return 10 * time.Second
	}
	return 3 * time.Minute
}

// NewReactions makes a Reactions, which works while Run is running.
func NewReactions(out Messenger, log zerolog.Logger) *Reactions {
	return &Reactions{out: out, log: log, jobs: workqueue.New(maxReactionCalls), questions: map[chat.Ref]*reaction{}}
}

// Run sets reactions until stop is closed, and for one more second: turns that have just ended should not keep a wrong
// reaction.
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

// Set sets a reaction on questions. It does not wait for the platform.
func (rs *Reactions) Set(asked []chat.Message, s chat.Reaction) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, m := range asked {
		if db.IsPressID(m.ID) {
			continue // it cannot carry a reaction
		}
		to := chat.Ref{Key: m.Key, ID: db.PlatformID(m.ID)}
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

// Forget drops questions that will not be answered. Their reactions stay.
func (rs *Reactions) Forget(gone func(chat.Ref) bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	maps.DeleteFunc(rs.questions, func(to chat.Ref, _ *reaction) bool { return gone(to) })
}

// apply sets the wanted reaction of a question. It skips those that were replaced meanwhile.
func (rs *Reactions) apply(ctx context.Context, to chat.Ref, r *reaction) {
	for {
		s, ok := rs.nextReaction(to, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, reactionTimeout(s))
		if err := rs.out.SetReaction(ctx, to, s); err != nil {
			rs.log.Debug().Err(err).Stringer("chat", to.Key).Msg("reaction to a question not set")
		}
		cancel()
	}
}

// nextReaction returns the wanted reaction if a different one is shown. Questions of ended turns are removed, so that
// the map stays small.
func (rs *Reactions) nextReaction(to chat.Ref, r *reaction) (chat.Reaction, bool) {
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

// ReactionOf is the reaction to the questions of an ended turn.
func ReactionOf(state convo.Phase) chat.Reaction {
	switch state {
	case convo.Done:
		return chat.Finished
	case convo.Failed:
		return chat.Failed
	case convo.Queued:
		return chat.Working
	}
	return chat.NoReaction
}
