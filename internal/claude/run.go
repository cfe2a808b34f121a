package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/failpoint"
)

// Run sends the prompt text, after images, and yields events until the turn has ended, which is a [stream.Result] or an error.
// If ctx ends, the agent is stopped and the error is ctx's cause; a Result with the cost may come before it. A
// [stream.ToolAsk] must be answered: until then the agent waits, without a limit. When Run returns, nothing of the turn is
// running any more.
//
// id is a UUID that the CLI writes into its transcript with the prompt; [transcript.Files.ReadOutcome] uses it to find the
// turn. The CLI silently drops a prompt whose ID is already in its session: Run would then wait until the silence
// timeout. So an ID is used once per session.
func (p *Process) Run(ctx context.Context, id, text string, images ...stream.Image) iter.Seq2[stream.Event, error] {
	return p.runTurn(ctx, true, func() { p.in.SendPrompt(id, text, images) })
}

// Command makes the CLI run one of [workspace.Config.SlashCommands], such as "/compact". Its events are those of
// [Process.Run].
// Any other line is a prompt.
func (p *Process) Command(ctx context.Context, id, line string) iter.Seq2[stream.Event, error] {
	if p.spec.Task != "" || !p.commands.Allow(line) {
		return p.Run(ctx, id, line)
	}
	return p.runTurn(ctx, false, func() { p.in.SendUserMessage(id, stream.BreakMarkup(line)) })
}

// Follow yields the events of the turn that the agent started by itself (see [Watcher]), as [Process.Run] does, from
// its beginning on.
func (p *Process) Follow(ctx context.Context) iter.Seq2[stream.Event, error] {
	return p.runTurn(ctx, false, nil)
}

// runTurn runs a turn that ask begins; if it is steerable it accepts messages while it runs. With a nil ask the agent
// has started it. If the agent has started a turn although ask is set, that one goes first, as part of this turn.
func (p *Process) runTurn(ctx context.Context, steerable bool, ask func()) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		r := &run{
			p: p, yield: yield, lines: make(chan []byte), done: make(chan struct{}), open: map[string]bool{},
			asks: newOpenAsks(), stop: stopper{p: p}, dec: stream.Decoder{Unasked: ask == nil, Command: ask != nil && !steerable},
		}
		p.session.fresh = false
		p.child.SetInputSent()
		p.meter.beginTurn()
		backlog, woken := p.out.attach(r)
		var rest [][]byte // of the backlog: the agent has started another turn since
		defer func() { p.out.detach(r, rest...) }()
		sendPrompt := func() {
			p.session.mode.restore(p.in, p.spec.Mode)
			ask()
			if steerable {
				r.steers.turnStarted()
			}
			failpoint.At("prompt: sent")
		}
		switch {
		case ask != nil && woken:
			r.sendPrompt = sendPrompt
		case ask != nil:
			sendPrompt()
		}
		rest = r.loop(ctx, backlog)
		for _, q := range r.asks.removeAll() { // of subagents in the background, which continue
			p.in.Refuse(q)
		}
	}
}

// timeouts are those of a process's turns.
type timeouts struct {
	turn        time.Duration
	silence     time.Duration // without output while no tool runs
	toolSilence time.Duration // without output while a tool runs
	grace       time.Duration // for each step of stopping a turn
}

func newTimeouts(c Config) timeouts {
	return timeouts{
		turn: c.TurnLimit.Duration, silence: c.Silence.Duration, toolSilence: c.ToolSilence.Duration,
		grace: cmp.Or(c.Grace, grace),
	}
}

// run is one turn of a process.
type run struct {
	p     *Process
	yield func(stream.Event, error) bool // only for emit
	left  bool                           // the caller has left its loop
	lines chan []byte
	done  chan struct{}
	dec   stream.Decoder
	open  map[string]bool // running tools
	asks  *openAsks
	plan  json.RawMessage // input of the agent's last call of [stream.PlanTool]
	stop  stopper

	steers     steers
	sendPrompt func()         // sends the prompt when the turn that the agent started by itself has ended; nil = it was sent
	held       *stream.Result // a result after which the agent continues: the sum so far; nil = none
	goes       bool           // it has continued since, or started the turn that the prompt waits for
}

// steerWait is how long the agent may take to continue after a result: messages rejected by the user's hooks are
// dropped silently.
const steerWait = 15 * time.Second

// loop runs until the turn or the process has ended. It returns the rest of the backlog.
func (r *run) loop(ctx context.Context, backlog [][]byte) (rest [][]byte) {
	bounds := newTurnTimers(r.p.timeouts.turn, r.p.timeouts.silence)
	defer bounds.stop()
	defer r.stop.stopTimers()
	for i, line := range backlog {
		if ended := r.handleLine(line); r.left {
			r.stopTurn(context.Canceled)
		} else if ended {
			return backlog[i+1:]
		}
	}
	bounds.restart(r.silenceLimit())
	for ended, deaf := ctx.Done(), r.p.in.Failed(); ; {
		if r.asks.anyOpen() {
			bounds.pause()
		}
		select {
		case line := <-r.lines:
			r.emitDecisions() // a decision comes before its effects
			result := r.handleLine(line)
			if r.left {
				r.stopTurn(context.Canceled)
			}
			if result {
				r.sweepStopped()
				return nil
			}
			bounds.restart(r.silenceLimit())
		case <-r.asks.signal:
			r.emitDecisions()
			bounds.restart(r.silenceLimit())
		case <-bounds.silence.C:
			switch {
			case r.sendPrompt != nil && !r.goes && r.stop.cause == nil: // there was nothing that it had to wait for
				r.sendHeldPrompt()
				bounds.restart(r.silenceLimit())
			case r.endAbandoned():
				return nil
			default:
				r.stopTurn(ErrSilent)
			}
		case <-bounds.turn.C:
			r.stopTurn(ErrTurnEnd)
		case <-ended:
			ended = nil
			r.stopTurn(context.Cause(ctx))
		case <-deaf:
			deaf = nil
			r.stopTurn(errInputClosed)
		case <-r.stop.nextStep():
			r.stop.escalate()
		case <-r.p.child.Exited():
			r.handleExit()
			return nil
		}
	}
}

// emit passes an event to the caller and reports whether it wants more. After it has left its loop, yield may not be
// called again.
func (r *run) emit(ev stream.Event, err error) bool {
	r.left = r.left || !r.yield(ev, err)
	return !r.left
}

// emitDecisions passes on how permission requests were answered.
func (r *run) emitDecisions() {
	for _, ev := range r.asks.takeEvents() {
		if !r.emit(ev, nil) {
			r.stopTurn(context.Canceled)
		}
	}
}

// sweepStopped ends the tools of a turn that was stopped, once its result is there. If work in the background goes on,
// its commands look the same, and the tools are left to the CLI.
func (r *run) sweepStopped() {
	if r.stop.cause == nil {
		return
	}
	if r.p.spoiled || !r.p.Unasked().IsBusy() {
		r.stop.sweep()
	}
	r.emit(nil, r.stop.cause)
}

// sendHeldPrompt sends the prompt that had to wait.
func (r *run) sendHeldPrompt() {
	r.sendPrompt()
	r.sendPrompt = nil
}

// endAbandoned ends the turn with its last result if the agent has not continued, for example with the messages that
// were passed to it.
func (r *run) endAbandoned() bool {
	if r.held == nil || r.goes {
		return false
	}
	if r.p.spoiled = r.steers.close(); r.p.spoiled {
		r.p.child.Signal(syscall.SIGTERM)
	}
	r.emit(*r.held, nil)
	return true
}

// handleExit ends the turn of a process that has ended.
func (r *run) handleExit() {
	r.stop.sweep()
	err := r.stop.cause
	if err == nil || errors.Is(err, errInputClosed) {
		err = r.p.exitError()
	}
	if r.held != nil && (!r.emit(*r.held, nil) || r.stop.cause == nil && !r.goes) {
		return // the answer is complete; unread messages are asked again
	}
	r.emit(nil, err)
}

// silenceLimit is the current silence timeout: a tool may run silently for long, but the model may not.
func (r *run) silenceLimit() time.Duration {
	switch {
	case len(r.open) > 0:
		return r.p.timeouts.toolSilence
	case (r.held != nil || r.sendPrompt != nil) && !r.goes:
		return min(steerWait, r.p.timeouts.silence)
	}
	return r.p.timeouts.silence
}

// handlePermission handles a line by which the agent asks for a permission, or withdraws a request. It returns false
// for any other line.
func (r *run) handlePermission(line []byte) bool {
	if id, ok := stream.ReadCancel(line); ok {
		if q, ok := r.asks.remove(id); ok {
			r.emit(stream.ToolAskEnd{ID: q.ID}, nil)
		}
		return true
	}
	q, ok := stream.ReadToolAsk(line)
	if !ok {
		return false
	}
	if r.stop.cause != nil {
		r.p.in.Refuse(q)
		return true
	}
	q.Mode = string(r.p.session.mode)
	if q.Name == stream.PlanTool {
		q.Input = stream.WithPlan(q.Input, r.plan)
	}
	r.asks.add(q)
	r.emit(q, nil)
	return true
}

// handleLine handles one line and reports whether it ended the turn.
func (r *run) handleLine(line []byte) (ended bool) {
	if r.handlePermission(line) {
		return false
	}
	r.p.session.mode.track(line)
	if r.sendPrompt != nil && stream.IsUnasked(line) {
		if r.stop.cause != nil {
			return true
		}
		if r.goes = !stream.IsEmptyResult(gjson.ParseBytes(line)); r.goes {
			r.sendHeldPrompt()
		}
		return false
	}
	if id, ok := stream.ReplayedID(line); ok && r.steers.markRead(id) {
		r.goes = true
		r.emit(stream.Steered{ID: id}, nil)
		return false
	}
	for _, ev := range r.dec.Decode(line) {
		switch e := ev.(type) {
		case stream.Started:
			r.goes = true
		case stream.ToolUse:
			r.open[e.ID] = true
			if e.Name == stream.PlanTool {
				r.plan = e.Input
			}
		case stream.ToolResult:
			delete(r.open, e.ID)
		case stream.Result:
			e = r.turnResult(e)
			if r.goesOn(e) {
				continue
			}
			ended, ev = true, e
			r.p.out.suggestions.turnEnded()
		}
		r.emit(ev, nil)
	}
	return ended
}

// Causes for which Magpie itself ends a turn.
var (
	ErrSilent  = errors.New("no output from the agent for too long")
	ErrTurnEnd = errors.New("the turn took too long")
)

// errInputClosed ends a process that does not accept input any more, usually because it has ended already.
var errInputClosed = errors.New("claude does not read its input")

// goesOn reports whether the agent continues after a result: with messages that were passed to the turn, even after a
// failure, unless the process cannot; or because the result is empty.
func (r *run) goesOn(e stream.Result) bool {
	if e.Failure == stream.FailSession || r.steers.turnEnded() && !(e.Unsaid && e.Failure == "" && r.dec.Unasked) {
		return false
	}
	r.held, r.goes = &e, false
	r.p.meter.beginTurn()
	return true
}

// ErrTurnOnly, as the cause of a stop, leaves what runs in the background.
var ErrTurnOnly = errors.New("only the turn is stopped")

// stopTurn stops the turn. A process with unread messages ends with it: after an interrupt it would start on them at
// once. So does a process with background work, which is stopped as well, except by [ErrTurnOnly].
func (r *run) stopTurn(cause error) {
	if r.stop.cause != nil { // only the first one counts
		return
	}
	end := r.steers.close() || r.p.Unasked().IsBusy() && !errors.Is(cause, ErrTurnOnly)
	if end {
		r.p.out.unasked.setEndReason(EndStopped)
	}
	r.stop.requestStop(cause, end)
}

// turnResult converts the process's running totals to values of this turn.
func (r *run) turnResult(e stream.Result) stream.Result {
	e.CostUSD = r.p.meter.endTurn(e)
	if r.held != nil {
		e.CostUSD, e.Usage = e.CostUSD+r.held.CostUSD, e.Usage.Plus(r.held.Usage)
		if e.Unsaid { // of a message that was passed to the turn, which a hook has refused: the answer stands
			e.Text, e.Failure, e.Errors = r.held.Text, r.held.Failure, r.held.Errors
		}
	}
	return e
}

// Default timeouts of the steps of stopping.
const (
	grace         = 2 * time.Second
	shutdownGrace = 700 * time.Millisecond // at shutdown: three steps in less than three seconds
)

// stopper ends a turn by force: it interrupts, then signals, then kills all descendants.
type stopper struct {
	p     *Process
	cause error // why; nil = the turn is not being stopped
	step  int
	timer *time.Timer
	left  []proctree.Descendant // descendants seen since the stop began
}

// requestStop asks the CLI to interrupt the turn, or to end with it.
func (s *stopper) requestStop(cause error, end bool) {
	s.cause = cause
	s.collectDescendants()
	s.timer = time.NewTimer(s.stepTimeout())
	if s.p.spoiled = end; end {
		s.p.child.Signal(syscall.SIGINT)
	} else {
		s.p.in.Interrupt()
	}
}

// stepTimeout is short during a shutdown: the service manager kills everything after its own timeout.
func (s *stopper) stepTimeout() time.Duration {
	if errors.Is(s.cause, context.Canceled) {
		return shutdownGrace
	}
	return s.p.timeouts.grace
}

func (s *stopper) collectDescendants() { s.left = append(s.left, s.p.child.Descendants()...) }

// nextStep fires when the next, harder step is due.
func (s *stopper) nextStep() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

// escalate takes the next step. It does not block: the loop must continue to read, or the process could not end.
func (s *stopper) escalate() {
	s.collectDescendants()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	if s.step < len(signals) {
		s.p.child.Signal(signals[s.step])
		s.step++
	} else {
		s.p.child.Kill()
	}
	s.timer.Reset(s.stepTimeout())
}

// sweep kills tools that have outlived the turn. The CLI runs each tool in a session of its own, where signals to its
// process group do not reach it; helpers in the CLI's own session, such as MCP servers, live on with it.
func (s *stopper) sweep() {
	s.collectDescendants()
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

func (s *stopper) stopTimers() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
