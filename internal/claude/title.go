package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// ErrNoProcess says that a session has no process that could be asked.
var ErrNoProcess = errors.New("the session has no process")

// ErrNoTitle says that the model was asked for a title, and that none came of it.
var ErrNoTitle = errors.New("the model has found no title")

// Title has the process of a session find a title for text. The CLI asks the model for it with nothing but the text. It
// writes nothing into the transcript, and the session does not know of it. A turn may run meanwhile; then the cost is
// part of what the process reports next. A reply with an error says what it has cost in spite of that.
func (pl *Pool) Title(ctx context.Context, session, text string) (Reply, error) {
	p := pl.ofSession(session)
	if p == nil {
		return Reply{}, ErrNoProcess
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pl.cfg.TaskLimit.Duration, ErrTaskTimeout)
	defer cancel()
	return p.title(ctx, text)
}

// ofSession finds the process of a session, whatever it is doing; nil = there is none.
func (pl *Pool) ofSession(session string) *Process {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for p := range pl.living {
		if p.spec.Session == session && p.alive() {
			return p
		}
	}
	return nil
}

func (p *Process) title(ctx context.Context, text string) (r Reply, err error) {
	turns := p.meter.turns()
	v, err := p.control(ctx, object{"subtype": "generate_session_title", "description": text, "persist": false})
	if err != nil {
		return r, fmt.Errorf("title of a session: %w", err)
	}
	if r.Text = strings.TrimSpace(v.Get("title").String()); r.Text == "" {
		err = ErrNoTitle
	}
	used, usedErr := p.control(ctx, object{"subtype": "get_usage"})
	if usedErr != nil {
		return r, errors.Join(err, fmt.Errorf("cost of a title: %w", usedErr))
	}
	model, _, total := models(used.Get("session.model_usage"))
	if cost, usage, ok := p.meter.readBetween(turns, used.Get("session.total_cost_usd").Float(), total); ok {
		r.Model, r.CostUSD, r.Usage = model, cost, usage
	}
	return r, err
}

// control asks the CLI itself something and waits for what it responds.
func (p *Process) control(ctx context.Context, request object) (gjson.Result, error) {
	id, to := uuid.NewString(), make(chan gjson.Result, 1)
	defer p.out.expect(id, to)()
	p.in.request(id, request)
	select {
	case v := <-to:
		if v.Get("subtype").String() != "success" {
			return gjson.Result{}, fmt.Errorf("the CLI refuses: %s", v.Get("error"))
		}
		return v.Get("response"), nil
	case <-p.child.Exited():
		return gjson.Result{}, p.exitError()
	case <-ctx.Done():
		return gjson.Result{}, context.Cause(ctx)
	}
}

// meter is what a process has reported so far; it counts from its own start.
type meter struct {
	mu    sync.Mutex
	cost  float64 // in USD
	usage Usage
	begun int  // turns
	runs  bool // one runs, and has not reported
	heard bool // it has reported something
}

// begin notes that a turn begins.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	m.runs = true
}

// turns is how many turns there were; -1 = one runs.
func (m *meter) turns() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs {
		return -1
	}
	return m.begun
}

// turn takes up what the process reports at the end of a turn, and tells what the turn has cost, in USD. The first
// report of a process may count what earlier ones of its session have cost.
func (m *meter) turn(e Result) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = false
	first := !m.heard
	cost, _ := m.take(e.CostUSD, e.total)
	if first && e.ofTurn != nil {
		return *e.ofTurn
	}
	return cost
}

// readBetween takes up what was asked after so many turns. When one ran meanwhile, the difference counts for that: it
// reports both together.
func (m *meter) readBetween(turns int, cost float64, usage Usage) (more float64, used Usage, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun != turns {
		return 0, Usage{}, false
	}
	more, used = m.take(cost, usage)
	return more, used, true
}

// take takes up a report, and tells what that is more than before. The caller holds mu.
func (m *meter) take(cost float64, usage Usage) (float64, Usage) {
	more, was := max(0, cost-m.cost), m.usage
	if usage == (Usage{}) { // it does not always tell
		usage = was
	}
	m.cost, m.usage, m.heard = cost, usage, true
	return more, Usage{
		Input: max(0, usage.Input-was.Input), Output: max(0, usage.Output-was.Output),
		CacheRead: max(0, usage.CacheRead-was.CacheRead), CacheNew: max(0, usage.CacheNew-was.CacheNew),
	}
}
