package bridge

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

// reactions shows on questions that somebody works on them, and how that ended. It is a courtesy: what fails is let go.
type reactions struct {
	out  Messenger
	log  zerolog.Logger
	jobs *workqueue.Queue

	mu     sync.Mutex
	wishes map[chat.Ref]*desired
}

// desired is what a question should show.
type desired struct {
	want, shown chat.Signal
	tried       bool // shown is no guess
	busy        bool // somebody sees to it
}

const signallers = 8 // at the same time

// timeFor is how long a signal may take while other calls go first. That somebody works is of no interest later; but
// one who has seen that should not see it for ever.
func timeFor(s chat.Signal) time.Duration {
	if s == chat.Working {
		return 10 * time.Second
	}
	return 3 * time.Minute
}

func newReactions(out Messenger, log zerolog.Logger) *reactions {
	return &reactions{out: out, log: log, jobs: workqueue.New(signallers), wishes: map[chat.Ref]*desired{}}
}

// run shows signals until stop is closed, and then for a moment.
func (ss *reactions) run(ctx context.Context, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	var end sync.WaitGroup
	end.Go(func() {
		<-stop
		workqueue.Sleep(ctx, time.Second)
		cancel()
	})
	ss.jobs.Run(ctx, stop)
	cancel()
	end.Wait()
}

// set lets questions show a signal. It does not wait for the platform.
func (ss *reactions) set(asked []chat.Message, s chat.Signal) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, m := range asked {
		if db.Pressed(m.ID) {
			continue // nothing can be put on it
		}
		to := chat.Ref{Key: m.Key, ID: db.Answerable(m.ID)}
		w := ss.wishes[to]
		if w == nil {
			w = &desired{}
			ss.wishes[to] = w
		}
		if w.want = s; !w.busy {
			w.busy = true
			ss.jobs.Enqueue(func(ctx context.Context) { ss.show(ctx, to, w) })
		}
	}
}

// forget drops questions that nobody will answer. What they show stays.
func (ss *reactions) forget(gone func(chat.Ref) bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	maps.DeleteFunc(ss.wishes, func(to chat.Ref, _ *desired) bool { return gone(to) })
}

// show brings a question to what it should show; what was wanted in between is left out.
func (ss *reactions) show(ctx context.Context, to chat.Ref, w *desired) {
	for {
		s, ok := ss.next(to, w)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, timeFor(s))
		if err := ss.out.Signal(ctx, to, s); err != nil {
			ss.log.Debug().Err(err).Stringer("chat", to.Key).Msg("no signal on a question")
		}
		cancel()
	}
}

// next is the signal that is to be shown, if another one is shown. A question whose turn is over is forgotten.
func (ss *reactions) next(to chat.Ref, w *desired) (chat.Signal, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if w.tried && w.want == w.shown {
		w.busy = false
		if w.want != chat.Working {
			delete(ss.wishes, to)
		}
		return "", false
	}
	w.shown, w.tried = w.want, true
	return w.want, true
}

// signalOf is what the questions of a turn that ended so show.
func signalOf(state db.TurnState) chat.Signal {
	switch state {
	case db.Done:
		return chat.Finished
	case db.Failed:
		return chat.Failed
	case db.Queued:
		return chat.Working
	}
	return chat.NoSignal
}
