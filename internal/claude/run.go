package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"syscall"
	"time"

	"magpie/internal/claude/proctree"
	"magpie/internal/failpoint"
)

// Run sends the prompt text, behind pictures, and yields what happens until the turn has ended, which is a [Result] or
// an error. When ctx ends the agent is stopped, and the error is ctx's cause; a Result that tells what it cost may come
// before it. A [ToolAsk] must be answered: until then the agent waits, for ever. When Run returns, nothing of the turn
// runs any more.
//
// id is a UUID that the CLI writes into its transcript with the prompt; [Transcripts.ReadOutcome] finds the turn by it.
// The CLI drops a prompt whose id its session holds already, without a word: Run would then wait for a result until the
// silence is too long. So an id is used once per session.
func (p *Process) Run(ctx context.Context, id, text string, images ...Image) iter.Seq2[Event, error] {
	return p.turnOf(ctx, func() { p.in.ask(id, text, images) })
}

// turnOf is a turn that ask begins.
func (p *Process) turnOf(ctx context.Context, ask func()) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &run{p: p, lines: make(chan []byte), done: make(chan struct{}), open: map[string]bool{}, asks: newAsks(), stop: stopper{p: p}}
		p.fresh = false
		p.meter.begin()
		p.out.attach(r)
		defer p.out.detach(r)
		p.putInMode()
		ask()
		failpoint.At("prompt: sent")
		r.loop(ctx, yield)
	}
}

// run is one turn of a process.
type run struct {
	p     *Process
	lines chan []byte
	done  chan struct{}
	dec   decoder
	open  map[string]bool // tools that run
	asks  *asks
	plan  json.RawMessage // with which the agent has called [PlanTool] last
	stop  stopper
}

// loop runs until the turn has ended or the process has.
func (r *run) loop(ctx context.Context, yield func(Event, error) bool) {
	bounds := newBounds(r.p.limits.TurnLimit.Duration, r.p.limits.Silence.Duration)
	defer bounds.stop()
	defer r.stop.end()
	left := func() {
		yield = func(Event, error) bool { return false } // the caller has left the loop; it may not be called again
		r.stop.begin(context.Canceled)
	}
	ended, deaf := ctx.Done(), r.p.in.failed
	for {
		if r.asks.waiting() {
			bounds.hold()
		}
		select {
		case line := <-r.lines:
			result, more := r.line(line, yield)
			if !more {
				left()
			}
			if result {
				if r.stop.cause != nil {
					r.stop.sweep()
					yield(nil, r.stop.cause)
				}
				return
			}
			bounds.heard(r.patience())
		case <-r.asks.signal:
			for _, ev := range r.asks.take() {
				if !yield(ev, nil) {
					left()
				}
			}
			bounds.heard(r.patience())
		case <-bounds.silence.C:
			r.stop.begin(ErrSilent)
		case <-bounds.turn.C:
			r.stop.begin(ErrTurnEnd)
		case <-ended:
			ended = nil
			r.stop.begin(context.Cause(ctx))
		case <-deaf:
			deaf = nil
			r.stop.begin(errDeaf)
		case <-r.stop.more():
			r.stop.escalate()
		case <-r.p.child.Exited():
			r.stop.sweep()
			if cause := r.stop.cause; cause != nil && !errors.Is(cause, errDeaf) {
				yield(nil, cause)
			} else {
				yield(nil, r.p.exitError())
			}
			return
		}
	}
}

// patience is how long nothing may be said: a tool may run silently, the model may not think so.
func (r *run) patience() time.Duration {
	if len(r.open) > 0 {
		return r.p.limits.ToolSilence.Duration
	}
	return r.p.limits.Silence.Duration
}

// line takes one line up and reports whether it ended the turn, and whether the caller wants more.
func (r *run) line(line []byte, yield func(Event, error) bool) (ended, more bool) {
	if q, ok := toolAsk(line); ok {
		if r.stop.cause != nil {
			r.p.in.refuse(q)
			return false, true
		}
		q.Mode = r.p.mode
		if q.Name == PlanTool {
			q.Input = withPlan(q.Input, r.plan)
		}
		r.asks.add(q)
		return false, yield(q, nil)
	}
	if id, ok := withdrawal(line); ok {
		if q, ok := r.asks.remove(id); ok {
			return false, yield(ToolAskEnd{ID: q.ID}, nil)
		}
		return false, true
	}
	r.p.noteMode(line)
	more = true
	for _, ev := range r.dec.decode(line) {
		switch e := ev.(type) {
		case ToolUse:
			r.open[e.ID] = true
			if e.Name == PlanTool {
				r.plan = e.Input
			}
		case ToolResult:
			delete(r.open, e.ID)
		case Retrying:
			if e.Failure == FailAuth { // it would be tried for minutes, and fail
				r.dec.failure = FailAuth
				r.stop.begin(errUnauthorized)
			}
		case Result:
			ended = true
			ev = r.reapFor(e)
		}
		more = more && yield(ev, nil)
	}
	return ended, more
}

// errDeaf ends a process that does not take its input any more; mostly because it is gone already.
var errDeaf = errors.New("claude does not read its input")

// errUnauthorized stops a turn whose retries are in vain; it becomes a failed Result, not an error.
var errUnauthorized = errors.New("not logged in")

// settle turns the process's own counting into that of the turn.
func (r *run) reapFor(e Result) Result {
	e.CostUSD = r.p.meter.turn(e)
	if errors.Is(r.stop.cause, errUnauthorized) {
		r.stop.cause = nil
		e.Failure = FailAuth
	}
	return e
}

// How long each step of stopping may take, if nothing else is configured.
const (
	grace = 2 * time.Second
	hurry = 700 * time.Millisecond // when the program ends: three steps in less than three seconds
)

// stopper ends a turn against its will: it asks, then signals, then kills everything that was started.
type stopper struct {
	p     *Process
	cause error // why; nil = the turn is not being stopped
	step  int
	timer *time.Timer
	left  []proctree.Descendant // what was seen running since the stopping began
}

// begin asks the CLI to interrupt the turn. Only the first cause counts.
func (s *stopper) begin(cause error) {
	if s.cause != nil {
		return
	}
	s.cause = cause
	s.look()
	s.timer = time.NewTimer(s.patience())
	s.p.in.interrupt()
}

func (s *stopper) patience() time.Duration {
	if errors.Is(s.cause, context.Canceled) {
		return hurry
	}
	return cmp.Or(s.p.limits.Grace, grace)
}

func (s *stopper) look() { s.left = append(s.left, s.p.child.Descendants()...) }

// more tells when the next, harder step is due.
func (s *stopper) more() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

// escalate takes the next step. It waits for nothing: the loop must go on reading, or the process could not end.
func (s *stopper) escalate() {
	s.look()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	if s.step < len(signals) {
		s.p.child.Signal(signals[s.step])
		s.step++
	} else {
		s.p.child.Kill()
	}
	s.timer.Reset(s.patience())
}

// sweep kills the tools that outlived the turn. The CLI runs each in a session of its own, where no signal to its
// group reaches them; helpers in its own session, such as MCP servers, live on with it.
func (s *stopper) sweep() {
	s.look()
	own := s.p.child.Session()
	var tools []proctree.Descendant
	for _, d := range s.left {
		if d.Session != own || !s.p.alive() {
			tools = append(tools, d)
		}
	}
	proctree.Kill(tools)
	s.p.child.KillOrphans()
}

func (s *stopper) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
